"""The helpers against each other: what they would not notice, no test here would."""

import json
import threading
import time

import pytest

from support import behaviours
from support.client import Connection, build
from support.gate import Gate
from support.onceward import parse_metrics, metric_sum, request_bytes
from support.upstream import Upstream
from support.waiting import PATIENCE
from support.wire import Closed, Headers, Malformed, chunked


@pytest.fixture
def direct():
    """An upstream and a function that sends requests straight to it."""
    upstream = Upstream()

    def send(method="POST", target="/x", **options):
        with Connection(upstream.port) as connection:
            return connection.send(request_bytes(method, target, **options)).read(method)

    send.upstream = upstream
    yield send
    upstream.stop()


def test_the_default_answer_is_different_for_every_execution(direct):
    assert direct(json={}).body != direct(json={}).body
    assert len(direct.upstream.requests) == 2


def test_effects_are_counted_by_key_whatever_its_form(direct):
    direct(key='"k1"')
    direct(key="k1")
    direct(key="k2")
    assert direct.upstream.effects("k1") == 2
    assert [request.index for request in direct.upstream.of_key("k1")] == [0, 0]


def test_scripts_run_in_turn_and_the_last_repeats(direct):
    script = direct.upstream.script(behaviours.answer(500), behaviours.answer(201, body=b"done"))
    assert [direct(script=script).status for _ in range(3)] == [500, 201, 201]


def test_keep_alive_and_pipelining_keep_the_order(direct):
    with Connection(direct.upstream.port) as connection:
        connection.send(b"".join(request_bytes("POST", f"/{n}", json={}) for n in range(5)))
        targets = [connection.read().json()["target"] for _ in range(5)]
    assert targets == ["/0", "/1", "/2", "/3", "/4"]


def test_chunked_requests_and_answers_are_read(direct):
    script = direct.upstream.script(behaviours.answer(200, as_chunks=[b"ab", b"c" * 70000]))
    with Connection(direct.upstream.port) as connection:
        head = build("POST", "/", [("Transfer-Encoding", "chunked"), ("X-Script", script)])
        response = connection.send(head + chunked(b"hello ", b"world")).read()
    assert response.body == b"ab" + b"c" * 70000
    assert direct.upstream.of_script(script)[0].body == b"hello world"


def test_head_and_204_have_no_body(direct):
    assert direct("HEAD").body == b""
    script = direct.upstream.script(behaviours.answer(204))
    assert direct(script=script).status == 204


def test_interim_answers_are_kept_apart(direct):
    script = direct.upstream.script(behaviours.preceded_by(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
                                                           behaviours.answer(200)))
    response = direct(script=script)
    assert [interim.status for interim in response.interim] == [103]


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
    b"garbage\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
])
def test_a_broken_answer_is_refused_by_the_client(direct, answer):
    script = direct.upstream.script(behaviours.raw(answer))
    with pytest.raises(Malformed):
        direct(script=script)


def test_close_and_reset_are_told_apart(direct):
    with pytest.raises(Closed):
        direct(script=direct.upstream.script(behaviours.close()))
    with pytest.raises(ConnectionResetError):
        direct(script=direct.upstream.script(behaviours.reset()))


def test_a_held_request_is_answered_when_released(direct):
    hold = behaviours.Hold()
    script = direct.upstream.script(hold)
    results = []
    thread = threading.Thread(target=lambda: results.append(direct(script=script, json={})))
    thread.start()
    hold.wait_reached()
    assert not results
    hold.release()
    thread.join(PATIENCE)
    assert results[0].status == 201


def test_a_malformed_request_is_recorded_and_has_no_effect(direct):
    with Connection(direct.upstream.port) as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.expect_close()
    assert direct.upstream.malformed and not direct.upstream.requests


def test_a_request_cut_in_its_body_is_no_effect(direct):
    with Connection(direct.upstream.port) as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        connection.finish_sending()
        connection.expect_close()
    assert not direct.upstream.requests and not direct.upstream.malformed


def test_the_upstream_can_stop_and_come_back(direct):
    direct.upstream.stop()
    with pytest.raises(OSError):
        direct()
    direct.upstream.start()
    assert direct(json={}).status == 201


def test_the_ledger_holds_one_line_per_effect(tmp_path):
    upstream = Upstream(ledger=tmp_path / "ledger")
    with Connection(upstream.port) as connection:
        connection.send(request_bytes("POST", "/", key="k", json={})).read()
    upstream.stop()
    assert [json.loads(line)["key"] for line in (tmp_path / "ledger").read_text().splitlines()] == ["k"]


def test_the_gate_passes_cuts_resets_and_swallows(direct):
    gate = Gate(direct.upstream.port)

    def through(timeout=PATIENCE):
        with Connection(gate.port, timeout=timeout) as connection:
            return connection.send(request_bytes("POST", "/x", json={})).read()

    assert through().status == 201
    gate.delay = 0.05
    began = time.monotonic()
    assert through().status == 201
    assert time.monotonic() - began >= 0.1
    gate.heal()
    gate.cut_down_after = 10
    with pytest.raises((Malformed, OSError)):
        through()
    gate.heal()
    gate.cut_up_after = 10
    before = len(direct.upstream.requests)
    with pytest.raises((Closed, OSError)):
        through()
    assert len(direct.upstream.requests) == before
    gate.heal()
    gate.black_hole = True
    with pytest.raises(TimeoutError):
        through(timeout=0.3)
    gate.close()


def test_the_tunnel_echoes(direct):
    script = direct.upstream.script(behaviours.echo_tunnel)
    with Connection(direct.upstream.port) as connection:
        response = connection.send(build("GET", "/", [("X-Script", script)])).read()
        assert response.status == 101
        connection.send(b"ping")
        assert connection.sock.recv(4) == b"ping"


def test_headers_keep_order_repetition_and_case():
    headers = Headers([("A", "1"), ("b", "2"), ("a", "3")])
    assert headers.all("A") == ["1", "3"]
    with pytest.raises(AssertionError):
        headers.get("a")
    assert headers.without("B") == [("A", "1"), ("a", "3")]


def test_metrics_are_summed_over_the_labels_that_were_not_asked_for():
    samples = parse_metrics('# HELP x y\nx{a="1",b="2"} 3\nx{a="1",b="4"} 5\nx{a="2"} 7\n')
    assert metric_sum(samples, "x", a="1") == 8
