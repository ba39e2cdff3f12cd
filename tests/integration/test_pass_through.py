"""What is not guarded is a stream: nothing is buffered, nothing is changed."""

import hashlib
import os
import socket
import threading

import pytest

from support import behaviours
from support.behaviours import Hold, answer, numbered_answer, preceded_by, streamed
from support.client import Closed, build
from support.onceward import request_bytes
from support.waiting import PATIENCE, eventually
from support.wire import chunked

MIB = 1 << 20
STREAMED = 1024 * MIB
ALLOWED_GROWTH_KIB = 32 * 1024
PIECE = os.urandom(MIB)
# AddressSanitizer keeps what was freed, up to 256 MiB, to catch late uses; that is not the proxy's memory.
FREED_IS_FREE = {"ASAN_OPTIONS": "quarantine_size_mb=4"}


def digest_of_pieces():
    digest = hashlib.sha256()
    for _ in range(STREAMED // MIB):
        digest.update(PIECE)
    return digest.hexdigest()


def test_a_large_upload_needs_no_memory(serve, upstream):
    proxy = serve(env=FREED_IS_FREE)
    script = upstream.script(numbered_answer)
    proxy.post("/warm")
    before = proxy.memory_kib("VmHWM")
    with proxy.connect(timeout=2 * PATIENCE) as connection:
        connection.send(build("POST", "/upload", [("Content-Length", STREAMED), ("X-Script", script)]))
        for _ in range(STREAMED // MIB):
            connection.send(PIECE)
        assert connection.read("POST").status == 201
    request, = upstream.of_script(script)
    assert (request.length, request.sha256.hexdigest()) == (STREAMED, digest_of_pieces())
    assert proxy.memory_kib("VmHWM") - before < ALLOWED_GROWTH_KIB


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_large_download_needs_no_memory_even_for_a_slow_reader(serve, upstream, framing):
    proxy = serve(env=FREED_IS_FREE)
    proxy.get("/warm")

    def send_by_length(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % STREAMED)
        for _ in range(STREAMED // MIB):
            exchange.send(PIECE)
        return True

    pieces = streamed(lambda: (PIECE for _ in range(STREAMED // MIB)), "application/octet-stream")
    script = upstream.script(send_by_length if framing == "length" else pieces)
    before = proxy.memory_kib("VmHWM")
    digest = hashlib.sha256()
    with proxy.connect(timeout=2 * PATIENCE) as connection:
        connection.send(request_bytes("GET", "/download", script=script))
        threading.Event().wait(0.5)  # a reader that pauses: the proxy must not read ahead into memory
        response = connection.read("GET", sink=digest.update)
    assert (response.status, response.length, digest.hexdigest()) == (200, STREAMED, digest_of_pieces())
    assert proxy.memory_kib("VmHWM") - before < ALLOWED_GROWTH_KIB


def test_pieces_of_a_stream_arrive_at_once(memory_zoo, upstream):
    steps = [threading.Event() for _ in range(3)]

    def pieces():
        for number, step in enumerate(steps):
            step.wait(PATIENCE)
            yield b"data: %d\n\n" % number

    script = upstream.script(streamed(pieces))
    with memory_zoo.connect() as connection:
        connection.send(request_bytes("GET", "/events", script=script))
        head = connection.read_head()
        assert head.status == 200 and head.header("Content-Type") == "text/event-stream"
        for number, step in enumerate(steps):
            step.set()
            eventually(lambda: b"data: %d\n\n" % number in receive(connection), what="the piece")


def receive(connection):
    connection.reader.fill()
    return bytes(connection.reader.buffer)


def test_pieces_of_an_upload_reach_the_upstream_at_once(serve, own_upstream, gate):
    proxy = serve(to=gate.url)
    script = own_upstream.script(numbered_answer)
    with proxy.connect() as connection:
        connection.send(build("POST", "/slow-upload", [("Transfer-Encoding", "chunked"), ("X-Script", script)]))
        connection.send(b"%x\r\n%s\r\n" % (100000, b"x" * 100000))
        eventually(lambda: gate.passed_up > 100000, what="the first piece to be passed on")
        connection.send(b"0\r\n\r\n")
        assert connection.read("POST").status == 201
    assert own_upstream.of_script(script)[0].length == 100000


@pytest.mark.parametrize("target,key", [("/orders", None), ("/orders", "expecting-{}")])
def test_a_client_that_expects_100_gets_it(memory_zoo, target, key):
    headers = [("Expect", "100-continue"), ("Content-Length", "5")]
    headers += [("Idempotency-Key", key.format(os.urandom(4).hex()))] if key else []
    with memory_zoo.connect() as connection:
        connection.send(build("POST", target, headers))
        assert connection.read_head().status == 100
        connection.send(b"hello")
        response = connection.read("POST")
    assert response.status == 201 and not response.interim


def test_a_refused_expectation_is_answered_without_the_body(memory_zoo):
    with memory_zoo.connect() as connection:
        connection.send(build("POST", "/required", [("Expect", "100-continue"), ("Content-Length", "5")]))
        response = connection.read("POST")
    assert response.status == 400 and not response.interim


def test_an_upgrade_becomes_a_tunnel(memory_zoo, upstream):
    script = upstream.script(behaviours.echo_tunnel)
    with memory_zoo.connect() as connection:
        connection.send(build("GET", "/socket", [("Connection", "Upgrade"), ("Upgrade", "echo"), ("X-Script", script)]))
        response = connection.read("GET")
        assert response.status == 101, response
        assert response.header("Upgrade") == "echo" and "upgrade" in response.headers.tokens("Connection")
        for size in (1, 5, 100000):
            data = os.urandom(size)
            connection.send(data)
            echoed = bytearray()
            connection.reader.exactly(size, echoed.extend)
            assert bytes(echoed) == data
        connection.finish_sending()
        connection.expect_close()
    request, = upstream.of_script(script)
    assert request.headers.get("Upgrade") == "echo" and "upgrade" in request.headers.tokens("Connection")


def test_an_upgrade_that_is_refused_is_a_plain_answer(memory_zoo, upstream):
    script = upstream.script(answer(426, [("Upgrade", "other")], b"no"))
    with memory_zoo.connect() as connection:
        connection.send(build("GET", "/socket", [("Connection", "Upgrade"), ("Upgrade", "echo"), ("X-Script", script)]))
        response = connection.read("GET")
    assert (response.status, response.body) == (426, b"no")


def test_pipelined_requests_are_answered_in_order(memory_zoo, upstream, key):
    hold = Hold()
    script = upstream.script(hold)
    requests = [request_bytes("GET", "/0", script=script), request_bytes("GET", "/1"),
                request_bytes("POST", "/2", key=key, json={}), request_bytes("POST", "/3", json={}),
                request_bytes("POST", "/2", key=key, json={}), request_bytes("GET", "/.well-known/onceward/policy"),
                request_bytes("GET", "/6")]
    with memory_zoo.connect() as connection:
        connection.send(b"".join(requests))
        hold.wait_reached()
        hold.release()
        answers = [connection.read("GET") for _ in requests]
    del requests[5], answers[5]  # the policy, answered in between by the proxy itself
    assert [response.json()["target"] for response in answers] == ["/0", "/1", "/2", "/3", "/2", "/6"]
    assert [response.replayed for response in answers] == [False] * 4 + [True, False]


def test_a_connection_is_kept_alive(memory_zoo):
    with memory_zoo.connect() as connection:
        for number in range(20):
            connection.send(request_bytes("GET", f"/{number}"))
            assert connection.read("GET").json()["target"] == f"/{number}"


def test_a_client_that_asks_to_close_is_closed(memory_zoo):
    with memory_zoo.connect() as connection:
        connection.send(request_bytes("GET", "/", headers=[("Connection", "close")]))
        response = connection.read("GET")
        assert "close" in response.headers.tokens("Connection")
        connection.expect_close()


def test_http_1_0_is_answered_and_closed(memory_zoo):
    with memory_zoo.connect() as connection:
        connection.send(request_bytes("GET", "/old", version="HTTP/1.0"))
        assert connection.read("GET").json()["target"] == "/old"
        connection.expect_close()


def test_http_1_0_never_gets_chunks(memory_zoo, upstream):
    script = upstream.script(answer(200, as_chunks=[b"one", b"two"]))
    with memory_zoo.connect() as connection:
        connection.send(request_bytes("GET", "/old", script=script, version="HTTP/1.0"))
        response = connection.read("GET")
    assert not response.headers.has("Transfer-Encoding") and response.body == b"onetwo"


def test_http_1_0_without_a_host_is_served(memory_zoo):
    with memory_zoo.connect() as connection:
        connection.send(b"GET /old HTTP/1.0\r\n\r\n")
        assert connection.read("GET").status == 200


def test_http_1_0_can_be_guarded(memory_zoo, upstream, key):
    answers = []
    for _ in range(2):
        with memory_zoo.connect() as connection:
            connection.send(request_bytes("POST", "/orders", key=key, json={}, version="HTTP/1.0"))
            answers.append(connection.read("POST"))
    assert answers[0].status == 201 and answers[1].replayed
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("status,headers", [(200, [("Content-Length", "1234")]), (404, [("Content-Length", "5")])])
def test_head_is_answered_without_a_body(memory_zoo, upstream, status, headers):
    data = f"HTTP/1.1 {status} X\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in headers) + b"\r\n"
    script = upstream.script(behaviours.raw(data, keep=True))
    with memory_zoo.connect() as connection:
        connection.send(request_bytes("HEAD", "/x", script=script) + request_bytes("GET", "/next"))
        response = connection.read("HEAD")
        assert (response.status, response.header("Content-Length")) == (status, headers[0][1])
        assert connection.read("GET").json()["target"] == "/next"


@pytest.mark.parametrize("behaviour,body", [
    (answer(200, [("X-A", "1"), ("x-a", "2")], b"x" * 100000), b"x" * 100000),
    (answer(200, as_chunks=[b"a", b"b" * 70000]), b"a" + b"b" * 70000),
    (answer(204), b""), (answer(304, [("ETag", '"a"')]), b""),
    (behaviours.raw(b"HTTP/1.1 200 OK\r\n\r\nuntil the end"), b"until the end"),
    (behaviours.raw(b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nold upstream"), b"old upstream"),
])
def test_every_framing_of_an_answer_is_passed_on(memory_zoo, upstream, behaviour, body):
    response = memory_zoo.get("/page", script=upstream.script(behaviour))
    assert response.body == body and response.operation_id is None
    assert not response.headers.has("Idempotent-Replayed")


def test_early_hints_are_passed_on_or_left_out_but_never_the_answer(memory_zoo, upstream):
    script = upstream.script(preceded_by(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", answer(200, [], b"page")))
    response = memory_zoo.get("/page", script=script)
    assert (response.status, response.body) == (200, b"page")


def test_an_upload_larger_than_any_limit_is_streamed(memory_zoo, upstream):
    script = upstream.script(numbered_answer)
    body = os.urandom(4 * MIB)
    with memory_zoo.connect() as connection:
        connection.send(build("PUT", "/blob", [("Transfer-Encoding", "chunked"), ("X-Script", script)]))
        connection.send(chunked(*(body[at:at + 30000] for at in range(0, len(body), 30000))))
        assert connection.read("PUT").status == 201
    assert upstream.of_script(script)[0].sha256.digest() == hashlib.sha256(body).digest()


def test_an_answer_before_the_end_of_the_upload_reaches_the_client(serve):
    """An upstream that refuses early and closes: the client must learn of the refusal, not of a broken pipe."""
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse():
        sock, _ = listener.accept()
        sock.recv(4096)
        sock.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
        sock.close()

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()
    proxy = serve(to=f"http://127.0.0.1:{listener.getsockname()[1]}")
    with proxy.connect() as connection:
        connection.send(build("POST", "/upload", [("Content-Length", 10 * MIB)]) + b"x" * 1000)
        response = connection.read("POST")
    assert (response.status, response.body) == (403, b"no")
    listener.close()


def test_a_client_that_leaves_a_stream_frees_the_upstream(serve, own_upstream):
    proxy = serve(to=own_upstream)
    script = own_upstream.script(streamed(lambda: (PIECE for _ in range(10000))))
    with proxy.connect() as connection:
        connection.send(request_bytes("GET", "/endless", script=script))
        assert connection.read_head().status == 200
    eventually(lambda: own_upstream.open_connections == 0, what="the upstream's connection to be closed")


def test_connections_that_end_are_given_back(serve, own_upstream):
    proxy = serve(to=own_upstream)
    proxy.get("/warm")
    before = descriptors(proxy)
    for number in range(200):
        with proxy.connect() as connection:
            connection.send(request_bytes("GET", f"/{number}"))
            if number % 2:
                connection.read("GET")
    eventually(lambda: descriptors(proxy) <= before + 20, what="descriptors to be given back")


def descriptors(proxy):
    return len(os.listdir(f"/proc/{proxy.process.pid}/fd"))


def test_a_closed_connection_in_mid_head_is_closed_quietly(memory_zoo):
    with memory_zoo.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHo")
        connection.finish_sending()
        try:
            assert connection.read("GET").status == 400
        except Closed:
            pass
    assert memory_zoo.get("/after").status == 200
