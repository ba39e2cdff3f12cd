"""Limits: what is too large, too slow or too much."""

import threading
import time

import pytest

from support import expect
from support.behaviours import Hold, answer, close, numbered_answer
from support.client import Closed, Malformed, build
from support.onceward import request_bytes
from support.waiting import eventually

KIB = 1024
NOT_STORED = "IDEMPOTENCY_RESPONSE_NOT_STORED"
UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"


@pytest.fixture(scope="module", params=["memory", "file"])
def small(request, serve_module):
    return serve_module(request.param, limits={"max_request": "64KiB", "max_response": "64KiB", "header_bytes": "8KiB",
                                               "header_timeout": "3s", "idle_timeout": "3s"})


@pytest.mark.parametrize("framing", ["length", "chunked", "exactly one more"])
def test_an_answer_too_large_to_store_is_given_once_and_never_executed_again(small, upstream, key, framing):
    size = 64 * KIB + 1 if framing == "exactly one more" else 300 * KIB
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    headers = [("Location", "/orders/42"), ("X-A", "1")]
    behaviour = answer(201, headers, as_chunks=[body[:1000], body[1000:]]) if framing == "chunked" else answer(
        201, headers, body)
    script = upstream.script(behaviour)
    first = expect.first_answer(small.post(key=key, script=script))
    assert first.body == body and first.header("Location") == "/orders/42"
    for _ in range(2):
        problem = expect.problem(small.post(key=key, script=script), 409, NOT_STORED)
        assert (problem["originalStatus"], problem["location"]) == (201, "/orders/42")
        assert problem["operationId"] == first.operation_id
    assert upstream.effects(key) == 1


def test_an_answer_as_large_as_allowed_is_stored(small, upstream, key):
    body = b"y" * (64 * KIB)
    first = expect.first_answer(small.post(key=key, script=upstream.script(answer(200, [], body))), 200)
    assert expect.replay_of(small.post(key=key), first).body == body


def test_an_answer_too_large_to_store_that_ends_early_is_cut_for_the_client_too(small, upstream, key):
    # Its outcome was known and stored before its first byte was passed on (I2): the status stands, only the
    # body is not kept, as for any answer of that size.
    script = upstream.script(close(b"HTTP/1.1 201 Created\r\nContent-Length: 500000\r\n\r\n" + b"x" * 300000))
    with pytest.raises((Closed, Malformed, OSError)):
        small.post(key=key, script=script)
    expect.problem(small.post(key=key), 409, "IDEMPOTENCY_RESPONSE_NOT_STORED")
    assert small.post(key=key).json()["originalStatus"] == 201
    assert upstream.effects(key) == 1


def test_a_large_answer_with_a_status_that_means_not_done_lets_the_key_run_again(small, upstream, key):
    script = upstream.script(answer(503, [], b"z" * 300 * KIB), numbered_answer)
    first = small.post(key=key, script=script)
    assert first.status == 503 and len(first.body) == 300 * KIB
    expect.first_answer(small.post(key=key, script=script))


@pytest.mark.parametrize("framing", ["length", "chunked", "expecting"])
def test_a_guarded_request_that_is_too_large_is_413(small, upstream, key, framing):
    size = 64 * KIB + 1
    headers = [("Idempotency-Key", key), ("Content-Type", "application/octet-stream")]
    if framing == "chunked":
        data = build("POST", "/orders", headers + [("Transfer-Encoding", "chunked")])
        data += b"%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n"
    else:
        data = build("POST", "/orders", headers + [("Content-Length", size)]
                     + ([("Expect", "100-continue")] if framing == "expecting" else []))
        data += b"" if framing == "expecting" else b"x" * size
    with small.connect() as connection:
        connection.send(data)
        response = connection.read("POST")
    expect.problem(response, 413, "REQUEST_TOO_LARGE")
    assert not response.interim
    assert upstream.effects(key) == 0


def test_a_guarded_request_as_large_as_allowed_is_forwarded(small, upstream, key):
    expect.first_answer(small.post(key=key, body=b"x" * 64 * KIB, headers=[("Content-Type", "text/plain")]))
    assert upstream.of_key(key)[0].length == 64 * KIB


def test_what_is_not_guarded_has_no_such_limit(small, upstream):
    script = upstream.script(answer(200, [], b"a" * 300 * KIB))
    response = small.request("POST", "/upload", body=b"x" * 300 * KIB, script=script)
    assert response.status == 200 and len(response.body) == 300 * KIB
    assert upstream.of_script(script)[0].length == 300 * KIB


@pytest.mark.parametrize("headers", [
    [("X-Long", "x" * 9000)],
    [(f"X-{number}", "y" * 50) for number in range(200)],
])
def test_a_head_that_is_too_large_is_431_and_the_connection_is_closed(small, upstream, headers):
    script = upstream.script(numbered_answer)
    with small.connect() as connection:
        connection.send(build("GET", "/", headers + [("X-Script", script)]))
        assert connection.read("GET").status == 431
        connection.expect_close()
    assert not upstream.of_script(script)


def test_a_target_that_is_too_large_is_refused(small):
    with small.connect() as connection:
        connection.send(build("GET", "/" + "x" * 9000))
        assert connection.read("GET").status in (414, 431)


def test_a_head_as_large_as_allowed_is_forwarded(small):
    assert small.get("/", headers=[("X-Long", "x" * 7000)]).status == 200


@pytest.mark.parametrize("drip", [False, True])
def test_a_head_that_takes_too_long_is_408_and_the_connection_is_closed(small, drip):
    began = time.monotonic()
    with small.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        if drip:
            dripping = threading.Thread(target=drip_headers, args=(connection,), daemon=True)
            dripping.start()
        response = connection.read("GET")
        assert response.status == 408, response
        assert 2.9 <= time.monotonic() - began <= 9.5, "ten seconds by default"
        if not drip:
            connection.expect_close()


def drip_headers(connection):
    try:
        for number in range(60):
            connection.send(f"X-{number}: drip\r\n".encode())
            time.sleep(0.1)
    except OSError:
        pass


def test_an_idle_connection_is_closed_after_a_while(small):
    with small.connect() as connection:
        connection.send(request_bytes("GET", "/"))
        assert connection.read("GET").status == 200
        began = time.monotonic()
        try:
            assert connection.read_head().status == 408
        except (Closed, ConnectionResetError):
            pass
        assert 2.8 <= time.monotonic() - began <= 30, "a minute by default"


def test_a_connection_that_says_nothing_is_closed(small):
    with small.connect() as connection:
        try:
            assert connection.read_head().status == 408
        except (Closed, ConnectionResetError):
            pass


def test_a_body_that_never_comes_does_not_hold_the_key(small, upstream, key):
    """Contract silent on the limit of a body's time: the client is gone or answered, and nothing was claimed."""
    head = build("POST", "/orders", [("Idempotency-Key", key), ("Content-Length", "10")])
    with small.connect() as connection:
        connection.send(head + b"12345")
        expect.first_answer(small.post(key=key))
    assert upstream.effects(key) == 1


def test_the_connections_to_an_upstream_are_limited(serve, own_upstream, key):
    def slow(exchange):
        time.sleep(0.05)
        return numbered_answer(exchange)

    proxy = serve(to={"url": own_upstream.url, "max_connections": 2, "connect_timeout": "30s"}, workers=1)
    own_upstream.default = slow
    requests = [proxy.post_in_background(key=f"{key}-{number}") for number in range(12)]
    assert [request.result().status for request in requests] == [201] * 12
    assert own_upstream.most_open <= 2


def test_many_connections_at_once_are_served(memory_zoo):
    connections = [memory_zoo.connect() for _ in range(300)]
    for number, connection in enumerate(connections):
        connection.send(request_bytes("GET", f"/{number}"))
    for number, connection in enumerate(connections):
        assert connection.read("GET").json()["target"] == f"/{number}"
        connection.close()


def test_a_caller_that_makes_too_many_keys_is_429(serve_if_able, key):
    proxy = serve_if_able(quotas={"new_keys_per_second": 1, "burst": 3})
    answers = [proxy.post(key=f"{key}-{number}", authorization="Bearer a") for number in range(12)]
    refused = [response for response in answers if response.status != 201]
    assert refused and len(answers) - len(refused) >= 3
    for response in refused:
        expect.problem(response, 429, "IDEMPOTENCY_KEY_RATE_EXCEEDED")
    assert proxy.post(key=f"{key}-0", authorization="Bearer a").replayed, "a replay is not a new key"
    assert proxy.post(key=f"{key}-0", authorization="Bearer b").status == 201, "another caller has its own quota"
    eventually(lambda: proxy.post(key=f"{key}-11", authorization="Bearer a").status == 201, every=0.2,
               what="the quota to refill")


def test_a_replay_needs_no_connection_to_the_upstream(serve, own_upstream, key):
    proxy = serve(to={"url": own_upstream.url, "max_connections": 1}, workers=1)
    stored = expect.first_answer(proxy.post(key=f"{key}-stored"))
    hold = Hold()
    held = proxy.post_in_background(key=f"{key}-held", script=own_upstream.script(hold))
    hold.wait_reached()
    queued = proxy.post_in_background(key=f"{key}-queued")
    expect.replay_of(proxy.post(key=f"{key}-stored"), stored)
    assert proxy.post(key=f"{key}-stored", json={"other": 1}).status == 422
    assert own_upstream.effects(f"{key}-queued") == 0
    hold.release()
    expect.first_answer(held.result())
    expect.first_answer(queued.result())
