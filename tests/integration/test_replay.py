"""Replay fidelity: what was answered once is answered again, byte for byte."""

import email.utils
import gzip
import os
import time

import pytest

from support import behaviours, expect
from support.behaviours import answer, raw
from support.onceward import request_bytes

EVERY_BYTE = bytes(range(256)) * 17

ANSWERS = [
    ("empty 200", answer(200)),
    ("empty 201 with a location", answer(201, [("Location", "/orders/1")])),
    ("binary", answer(200, [("Content-Type", "application/octet-stream")], EVERY_BYTE)),
    ("one MiB", answer(200, [("ETag", '"x"')], os.urandom(1 << 20))),
    ("gzip", answer(200, [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")], gzip.compress(b"text" * 999))),
    ("chunked", answer(201, [("X-A", "1")], as_chunks=[b"one", b"two" * 5000, b"\x00"])),
    ("chunked and empty", answer(200, as_chunks=[])),
    ("204", answer(204, [("X-A", "1")])),
    ("303", answer(303, [("Location", "/elsewhere?a=b,c")], b"see")),
    ("400", answer(400, [("Content-Type", "application/problem+json")], b'{"code":"OWN"}')),
    ("404", answer(404, [], b"no")),
    ("409", answer(409, [], b"conflict")),
    ("500", answer(500, [], b"broken")),
    ("599", answer(599, [], b"strange")),
    ("own reason phrase", answer(200, [], b"x", reason="Fine Indeed")),
    ("empty values", answer(200, [("X-Empty", ""), ("X-Next", "1")])),
    ("repeated headers with commas", answer(200, [
        ("X-List", "a, b"), ("Link", '</a>; rel="next", </b>; rel="prev"'), ("X-Other", "1"), ("X-List", "c"),
        ("x-list", "a, b"), ("Link", "</c>"), ("WWW-Authenticate", 'Basic realm="a, b"')])),
    ("bytes above 127 in a value", answer(200, [("X-Latin", "caf\u00e9 \u00fc")])),
]


@pytest.mark.parametrize("behaviour", [behaviour for _, behaviour in ANSWERS], ids=[name for name, _ in ANSWERS])
def test_a_replay_is_the_same_answer(zoo, upstream, key, behaviour):
    script = upstream.script(behaviour)
    first = zoo.post(key=key, script=script)
    expect.first_answer(first, first.status)
    for _ in range(2):
        expect.replay_of(zoo.post(key=key, script=script), first)
    assert len(upstream.of_script(script)) == 1


def test_the_names_of_headers_keep_their_case(memory_zoo, upstream, key):
    script = upstream.script(answer(200, [("X-MiXeD-CaSe", "1"), ("etag", '"a"')]))
    for response in (memory_zoo.post(key=key, script=script), memory_zoo.post(key=key)):
        assert ("X-MiXeD-CaSe", "1") in response.headers and ("etag", '"a"') in response.headers


def test_the_first_answer_has_the_headers_of_the_upstream_in_order(memory_zoo, upstream, key):
    headers = [("B", "1"), ("A", "2, 3"), ("B", "4"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Path=/"), ("C", "")]
    response = memory_zoo.post(key=key, script=upstream.script(answer(200, headers)))
    names = {name.lower() for name, _ in headers}
    assert [pair for pair in response.headers if pair[0].lower() in names] == headers


def test_the_date_of_a_replay_is_new(zoo, upstream, key):
    script = upstream.script(answer(200, [("Date", "Thu, 01 Jan 1970 00:00:10 GMT"), ("X-A", "1")]))
    first = zoo.post(key=key, script=script)
    assert first.header("Date") == "Thu, 01 Jan 1970 00:00:10 GMT"
    replay = zoo.post(key=key)
    sent = email.utils.parsedate_to_datetime(replay.header("Date")).timestamp()
    assert abs(sent - time.time()) < 60
    assert replay.header("Date").endswith(" GMT")


def test_cookies_are_not_replayed(zoo, upstream, key):
    script = upstream.script(answer(200, [("Set-Cookie", "session=1"), ("X-A", "1"), ("Set-Cookie", "b=2")]))
    assert zoo.post(key=key, script=script).headers.all("Set-Cookie") == ["session=1", "b=2"]
    replay = zoo.post(key=key)
    assert replay.replayed and not replay.headers.has("Set-Cookie") and replay.header("X-A") == "1"


def test_cookies_are_replayed_when_the_operation_says_so(memory_zoo, upstream, key):
    script = upstream.script(answer(200, [("Set-Cookie", "session=1"), ("X-A", "1"), ("Set-Cookie", "b=2")]))
    memory_zoo.post("/cookies", key=key, script=script)
    assert memory_zoo.post("/cookies", key=key).headers.all("Set-Cookie") == ["session=1", "b=2"]


@pytest.mark.parametrize("status,replayed", [(201, 200), (200, 200), (400, 400), (303, 303), (500, 500)])
def test_the_status_of_a_replayed_creation_can_be_200(memory_zoo, upstream, key, status, replayed):
    script = upstream.script(answer(status, [("X-A", "1")], b"made"))
    assert memory_zoo.post("/replay-200", key=key, script=script).status == status
    response = memory_zoo.post("/replay-200", key=key)
    assert (response.status, response.header("X-A"), response.replayed) == (replayed, "1", True)
    assert response.body == b"made"


def test_the_marker_can_be_named(memory_zoo, key):
    first = memory_zoo.post("/marker", key=key)
    replay = memory_zoo.post("/marker", key=key)
    expect.replay_of(replay, first, marker="X-Was-Replayed")
    assert not replay.headers.has("Idempotent-Replayed")


def test_an_upstream_cannot_forge_the_operation_id(zoo, upstream, key):
    script = upstream.script(answer(200, [("Onceward-Operation-Id", "forged")]))
    first = zoo.post(key=key, script=script)
    assert expect.UUID.match(first.operation_id)
    assert zoo.post(key=key).operation_id == first.operation_id


def test_a_replay_has_one_marker_even_if_the_upstream_has_its_own(zoo, upstream, key):
    zoo.post(key=key, script=upstream.script(answer(200, [("Idempotent-Replayed", "false"), ("X-A", "1")])))
    assert zoo.post(key=key).header("Idempotent-Replayed") == "true"


def test_hop_by_hop_headers_are_neither_passed_on_nor_replayed(zoo, upstream, key):
    script = upstream.script(answer(200, [("Connection", "X-Private, keep-alive"), ("X-Private", "1"),
                                          ("Keep-Alive", "timeout=77"), ("Proxy-Connection", "keep-alive"),
                                          ("X-Kept", "1")], b"x"))
    for response in (zoo.post(key=key, script=script), zoo.post(key=key)):
        assert not response.headers.has("X-Private") and not response.headers.has("Proxy-Connection")
        assert "77" not in str(response.headers.all("Keep-Alive"))
        assert response.header("X-Kept") == "1"


@pytest.mark.parametrize("interim", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n",
                                     b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 2])
def test_interim_answers_are_not_the_outcome(zoo, upstream, key, interim):
    script = upstream.script(behaviours.preceded_by(interim, answer(201, [("X-A", "1")], b"final")))
    first = expect.first_answer(zoo.post(key=key, script=script))
    replay = expect.replay_of(zoo.post(key=key), first)
    assert first.body == b"final" and not replay.interim


def test_trailers_do_not_break_the_answer(zoo, upstream, key):
    data = (b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
            b"4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n")
    first = expect.first_answer(zoo.post(key=key, script=upstream.script(raw(data, keep=True))))
    replay = zoo.post(key=key)
    assert first.body == replay.body == b"body" and replay.replayed


def test_an_answer_ended_by_the_connection_is_never_executed_twice(zoo, upstream, key):
    """Whether it was whole cannot be known: its replay and 409 are both true, a second effect is not."""
    script = upstream.script(raw(b"HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nto the end"))
    first = zoo.post(key=key, script=script)
    again = zoo.post(key=key, script=script)
    if first.status == 200:
        assert first.body == b"to the end"
        expect.replay_of(again, first)
    else:
        expect.problem(first, 502, "IDEMPOTENCY_OUTCOME_UNKNOWN")
        expect.problem(again, 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert len(upstream.of_script(script)) == 1


def test_a_replay_is_framed_for_an_old_client_too(zoo, upstream, key):
    first = zoo.post(key=key, script=upstream.script(answer(200, as_chunks=[b"abc", b"def"])))
    with zoo.connect() as connection:
        connection.send(request_bytes("POST", "/orders", key=key, json={"amount": 100}, version="HTTP/1.0"))
        replay = connection.read("POST")
    assert replay.replayed and replay.body == first.body == b"abcdef"
    assert not replay.headers.has("Transfer-Encoding")


def test_replays_go_on_while_the_upstream_is_down(serve, own_upstream, key, other_key):
    proxy = serve(to=own_upstream)
    first = expect.first_answer(proxy.post(key=key))
    own_upstream.stop()
    for _ in range(3):
        expect.replay_of(proxy.post(key=key), first)
    expect.problem(proxy.post(key=other_key), 502, "UPSTREAM_UNREACHABLE")


def test_replays_that_were_asked_for_together_do_not_wait_for_anything(serve, key):
    proxy = serve(workers=1)
    order = request_bytes("POST", "/orders", key=key, json={})
    with proxy.connect() as connection:
        connection.send(order)
        assert connection.read("POST").status == 201
        began = time.monotonic()
        connection.send(order * 30)
        assert all(connection.read("POST").replayed for _ in range(30))
    # Answers that nothing wakes the loop for would wait for its timers, half a second each or more.
    assert time.monotonic() - began < 5
