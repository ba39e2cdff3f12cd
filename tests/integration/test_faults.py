"""DESIGN 5: what must be true after every fault between the proxy, its upstream and its clients."""

import signal
import socket
import time

import pytest
from ports import free_port

from support import behaviours, expect
from support.behaviours import Hold, answer, close, message, never, numbered_answer, preceded_by, raw, reset
from support.client import Closed, Malformed
from support.onceward import request_bytes
from support.waiting import eventually, holds_for
from support.wire import reset as reset_socket
from support.zoo import WAIT_NOT, operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
IN_PROGRESS = "IDEMPOTENCY_REQUEST_IN_PROGRESS"


@pytest.fixture(scope="module", params=["memory", "file"])
def impatient(request, serve_module, upstream):
    """Gives its upstream two seconds."""
    return serve_module(request.param, to={"url": upstream.url, "timeout": "2s"}, workers=1, operations=[
        operation("/short-hold", lease="2s", max_hold="3s", in_progress=WAIT_NOT),
        operation("/reject", in_progress=WAIT_NOT),
    ])


HALF_ANSWERS = [
    ("nothing, closed", close()),
    ("nothing, reset", reset()),
    ("half a status line", close(b"HTTP/1.1 201 Cre")),
    ("half a head", close(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\nX-A")),
    ("a head without its body", close(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\n")),
    ("a body that is too short", close(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf")),
    ("a short body, reset", reset(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf")),
    ("half a chunk", close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf")),
    ("no last chunk", close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n")),
    ("no end after the last chunk", close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")),
    ("a bad chunk size", close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nbody\r\n0\r\n\r\n")),
    ("a chunk longer than its size",
     close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n0\r\n\r\n")),
    ("both framings",
     close(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")),
    ("two lengths", close(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody")),
    ("a negative length", close(b"HTTP/1.1 201 Created\r\nContent-Length: -4\r\n\r\nbody")),
    ("an unknown coding", close(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n")),
    ("not HTTP", close(b"220 mail.example ESMTP\r\n\r\n")),
    ("a bad header line", close(b"HTTP/1.1 201 Created\r\nno colon here\r\nContent-Length: 0\r\n\r\n")),
    ("only an interim answer", close(b"HTTP/1.1 103 Early Hints\r\n\r\n")),
    ("an endless head", close(b"HTTP/1.1 200 OK\r\n" + b"X-Fill: %s\r\n" % (b"x" * 1000) * 2000)),
]


@pytest.mark.parametrize("behaviour", [b for _, b in HALF_ANSWERS], ids=[name for name, _ in HALF_ANSWERS])
def test_half_an_answer_is_an_unknown_outcome(zoo, upstream, key, behaviour):
    script = upstream.script(behaviour, numbered_answer)
    first = expect.problem(zoo.post(key=key, script=script), 502, UNKNOWN)
    again = expect.problem(zoo.post(key=key, script=script), 409, UNKNOWN)
    assert again["operationId"] == first["operationId"]
    assert len(upstream.of_script(script)) == 1


def test_bytes_after_the_answer_are_not_the_next_answer(impatient, upstream, key, other_key):
    script = upstream.script(raw(message(201, [], b"mine") + message(200, [], b"stray"), keep=True))
    first = impatient.post(key=key, script=script)
    assert (first.status, first.body) == (201, b"mine")
    second = impatient.post(key=other_key)
    assert second.status == 201 and second.body != b"stray"


@pytest.mark.parametrize("behaviour", [reset(), close()])
def test_a_request_lost_on_a_reused_connection_is_never_sent_again(serve, own_upstream, key, behaviour):
    proxy = serve(to=own_upstream, workers=1)
    assert proxy.post("/warm", key=key + "-warm").status == 201
    script = own_upstream.script(behaviour, numbered_answer)
    expect.problem(proxy.post(key=key, script=script), 502, UNKNOWN)
    request, = own_upstream.of_script(script)
    assert request.index > 0, "the connection of the first request was not used again"
    expect.problem(proxy.post(key=key, script=script), 409, UNKNOWN)


def test_an_idle_connection_that_the_upstream_closed_is_not_used(serve, own_upstream, key):
    proxy = serve(to=own_upstream, workers=1)
    for number in range(5):
        expect.first_answer(proxy.post(key=f"{key}-{number}"))
        own_upstream.close_connections()
        eventually(lambda: own_upstream.open_connections == 0)
        time.sleep(0.05)  # the FIN has been sent; this is the time it gets to arrive
    assert sum(own_upstream.effects(f"{key}-{number}") for number in range(5)) == 5


def test_a_replay_leaves_the_connection_that_it_did_not_need(serve, own_upstream, key):
    proxy = serve(to=own_upstream, workers=1)
    for number in range(5):
        expect.first_answer(proxy.post(key=f"{key}-{number}"))
        assert proxy.post(key=f"{key}-{number}").replayed
    assert [own_upstream.of_key(f"{key}-{number}")[0].index for number in range(5)] == [0, 1, 2, 3, 4]


def test_an_upstream_that_closes_after_every_answer_is_no_problem(zoo, upstream, key):
    script = upstream.script(raw(message(201, [("Connection", "close")], b"x")))
    for number in range(5):
        expect.first_answer(zoo.post(key=f"{key}-{number}", script=script))


@pytest.mark.parametrize("bytes_passed", [1, 40, 300])
@pytest.mark.parametrize("with_reset", [False, True])
def test_a_request_cut_on_its_way_is_an_unknown_outcome(serve, own_upstream, gate, key, bytes_passed, with_reset):
    proxy = serve(to=gate.url)
    gate.cut_up_after, gate.with_reset = bytes_passed, with_reset
    expect.problem(proxy.post(key=key, json={"text": "x" * 500}), 502, UNKNOWN)
    gate.heal()
    expect.problem(proxy.post(key=key, json={"text": "x" * 500}), 409, UNKNOWN)
    assert own_upstream.effects(key) == 0
    expect.first_answer(proxy.post(key=key + "-healed"))


@pytest.mark.parametrize("bytes_passed", [1, 20, 100])
def test_an_answer_cut_on_its_way_is_an_unknown_outcome(serve, own_upstream, gate, key, bytes_passed):
    proxy = serve(to=gate.url)
    gate.cut_down_after = bytes_passed
    expect.problem(proxy.post(key=key), 502, UNKNOWN)
    gate.heal()
    expect.problem(proxy.post(key=key), 409, UNKNOWN)
    assert own_upstream.effects(key) == 1


def test_no_answer_in_time_is_504_and_a_late_one_becomes_the_replay(impatient, upstream, key):
    hold = Hold(then=answer(201, [("X-Late", "yes")], b"late but true"))
    script = upstream.script(hold, numbered_answer)
    began = time.monotonic()
    first = expect.problem(impatient.post(key=key, script=script), 504, UNKNOWN)
    assert 1.9 <= time.monotonic() - began <= 20
    assert expect.problem(impatient.post(key=key, script=script), 409, UNKNOWN)["operationId"] == first["operationId"]
    hold.release()
    late = eventually(lambda: replay_or_none(impatient.post(key=key, script=script)), what="the late answer")
    assert (late.status, late.body, late.header("X-Late")) == (201, b"late but true", "yes")
    assert late.operation_id == first["operationId"]
    assert len(upstream.of_script(script)) == 1


def replay_or_none(response):
    if response.replayed:
        return response
    expect.problem(response, 409, UNKNOWN)
    return None


def test_a_late_answer_after_max_hold_is_too_late(impatient, upstream, key):
    hold = Hold(then=answer(201, [], b"too late"))
    script = upstream.script(hold, numbered_answer)
    expect.problem(impatient.post("/short-hold", key=key, script=script), 504, UNKNOWN)
    holds_for(lambda: replay_or_none(impatient.post("/short-hold", key=key)) is None, 1.5, every=0.1)  # with the time before it, longer than max_hold
    hold.release()
    holds_for(lambda: replay_or_none(impatient.post("/short-hold", key=key)) is None, 0.5, every=0.1)
    assert len(upstream.of_script(script)) == 1


def test_a_late_half_answer_leaves_the_outcome_unknown(impatient, upstream, key):
    hold = Hold(then=close(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf"))
    script = upstream.script(hold)
    expect.problem(impatient.post(key=key, script=script), 504, UNKNOWN)
    hold.release()
    holds_for(lambda: replay_or_none(impatient.post(key=key)) is None, 0.5, every=0.05)


def test_a_black_hole_is_504(serve, own_upstream, gate, key):
    proxy = serve(to={"url": gate.url, "timeout": "1s"})
    gate.black_hole = True
    expect.problem(proxy.post(key=key), 504, UNKNOWN)
    gate.heal()
    expect.problem(proxy.post(key=key), 409, UNKNOWN)
    assert own_upstream.effects(key) == 0


def test_an_interim_answer_does_not_stop_the_clock(impatient, upstream, key):
    script = upstream.script(preceded_by(b"HTTP/1.1 102 Processing\r\n\r\n", never()))
    expect.problem(impatient.post(key=key, script=script), 504, UNKNOWN)


def test_a_connection_that_is_not_accepted_in_time_is_unreachable(serve, key):
    full = socket.socket()
    full.bind(("127.0.0.1", free_port()))
    full.listen(0)
    waiting = []
    for _ in range(4):  # more than the backlog: from then on the kernel ignores who knocks
        knocking = socket.socket()
        knocking.setblocking(False)
        knocking.connect_ex(full.getsockname())
        waiting.append(knocking)
    proxy = serve(to={"url": f"http://127.0.0.1:{full.getsockname()[1]}", "connect_timeout": "500ms"})
    began = time.monotonic()
    expect.problem(proxy.post(key=key), 502, "UPSTREAM_UNREACHABLE")
    assert time.monotonic() - began < 10
    for sock in (*waiting, full):
        sock.close()


def test_a_name_that_does_not_resolve_is_unreachable(serve, key):
    proxy = serve(to={"url": "http://no-such-host.invalid:9", "connect_timeout": "2s"})
    expect.problem(proxy.post(key=key), 502, "UPSTREAM_UNREACHABLE")


def test_a_refused_connection_leaves_the_key_free_for_another_request(serve, own_upstream, key):
    proxy = serve("file", to=own_upstream)
    own_upstream.stop()
    expect.problem(proxy.post(key=key, json={"a": 1}), 502, "UPSTREAM_UNREACHABLE")
    own_upstream.start()
    expect.first_answer(proxy.post(key=key, json={"a": 2}))
    assert own_upstream.effects(key) == 1


def test_without_a_key_an_unreachable_upstream_is_502_too(serve, own_upstream):
    proxy = serve(to=own_upstream)
    own_upstream.stop()
    assert proxy.post("/orders").status == 502
    assert proxy.get("/orders").status == 502
    own_upstream.start()
    assert proxy.get("/orders").status == 200


def test_half_an_answer_that_is_passed_through_does_not_look_whole(memory_zoo, upstream):
    for half in (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"):
        try:
            response = memory_zoo.get("/page", script=upstream.script(close(half)))
        except (Malformed, Closed, ConnectionResetError):
            continue
        assert response.status == 502, response


@pytest.mark.parametrize("sent", [b"", b'{"amo'])
def test_a_client_that_leaves_in_its_body_has_no_effect(zoo, upstream, key, sent):
    head = request_bytes("POST", "/orders", key=key, headers=[("Content-Type", "application/json"),
                                                              ("Content-Length", "15")], body=b"")
    with zoo.connect() as connection:
        connection.send(head + sent)
    first = expect.first_answer(zoo.post(key=key, json={"amount": 100}))
    assert upstream.effects(key) == 1 and upstream.of_key(key)[0].epoch == "1"
    expect.replay_of(zoo.post(key=key, json={"amount": 100}), first)


def test_a_client_that_leaves_after_the_claim_changes_nothing(zoo, upstream, key):
    hold = Hold()
    with zoo.connect() as connection:
        connection.send(request_bytes("POST", "/wait", key=key, json={"amount": 100}, script=upstream.script(hold)))
        hold.wait_reached()
    hold.release()
    replay = zoo.post("/wait", key=key)
    assert replay.replayed and replay.status == 201
    assert upstream.effects(key) == 1


def test_a_client_that_resets_after_the_claim_changes_nothing(zoo, upstream, key):
    hold = Hold()
    connection = zoo.connect()
    connection.send(request_bytes("POST", "/wait", key=key, json={"amount": 100}, script=upstream.script(hold)))
    hold.wait_reached()
    reset_socket(connection.sock)
    hold.release()
    assert zoo.post("/wait", key=key).replayed
    assert upstream.effects(key) == 1


def test_an_execution_longer_than_its_lease_stays_in_progress(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/short-lease", key=key, script=upstream.script(hold))
    hold.wait_reached()
    holds_for(lambda: expect.problem(zoo.post("/short-lease", key=key), 409, IN_PROGRESS), 3.0, every=0.1)
    hold.release()
    answered = expect.first_answer(first.result())
    expect.replay_of(zoo.post("/short-lease", key=key), answered)
    assert upstream.effects(key) == 1


def test_an_execution_longer_than_max_hold_becomes_unknown(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/short-hold", key=key, script=upstream.script(hold))
    hold.wait_reached()
    eventually(lambda: zoo.post("/short-hold", key=key).json()["code"] == UNKNOWN, every=0.05,
               what="the record to be unknown")
    expect.problem(zoo.post("/short-hold", key=key), 409, UNKNOWN)
    hold.release()
    assert first.result().status in (201, 504)
    assert zoo.post("/short-hold", key=key).status in (201, 409)
    assert upstream.effects(key) == 1


def test_a_proxy_paused_past_its_lease_still_completes_what_it_sent(serve, upstream, key):
    proxy = serve("file", operations=[operation("/short-lease", lease="1s", in_progress=WAIT_NOT)])
    hold = Hold()
    first = proxy.post_in_background("/short-lease", key=key, script=upstream.script(hold))
    hold.wait_reached()
    proxy.signal(signal.SIGSTOP)
    hold.release()
    time.sleep(1.5)  # the pause itself, longer than the lease
    proxy.signal(signal.SIGCONT)
    answered = expect.first_answer(first.result())
    expect.replay_of(proxy.post("/short-lease", key=key), answered)
    assert upstream.effects(key) == 1


def test_a_slow_network_changes_nothing(serve, own_upstream, gate, key):
    proxy = serve(to=gate.url)
    gate.delay = 0.1
    first = expect.first_answer(proxy.post(key=key, json={"text": "y" * 100000}))
    gate.heal()
    expect.replay_of(proxy.post(key=key, json={"text": "y" * 100000}), first)
    assert own_upstream.effects(key) == 1


def test_nothing_reaches_the_upstream_before_the_body_is_whole(zoo, upstream, key):
    script = upstream.script(behaviours.numbered_answer)
    data = request_bytes("POST", "/orders", key=key, json={"text": "z" * 50000}, script=script)
    with zoo.connect() as connection:
        connection.send(data[:-1])
        holds_for(lambda: not upstream.of_script(script), 0.2)
        connection.send(data[-1:])
        expect.first_answer(connection.read("POST"))
