"""Hostile framing against the live proxy: refused and closed, or forwarded as exactly what the proxy understood.
After every vector a canary on a fresh connection must get its own answer."""

import gzip
import socket
import uuid

import pytest

from support import vectors
from support.behaviours import close, message
from support.client import build
from support.onceward import request_bytes
from support.upstream import Upstream
from support.wire import Closed, Malformed, chunked


@pytest.fixture(scope="module")
def fenced(serve_module):
    """A proxy with one worker and an upstream of its own, whose every request can be accounted for."""
    upstream = Upstream()
    proxy = serve_module(to=upstream, workers=1, limits={"header_timeout": "2s"})
    proxy.behind = upstream
    yield proxy
    upstream.stop()


class Watch:
    """Counts what came out of the proxy on the far side since it was made."""

    def __init__(self, proxy):
        self.proxy = proxy
        self.requests, self.malformed = len(proxy.behind.requests), len(proxy.behind.malformed)

    def seen(self):
        assert self.proxy.behind.malformed[self.malformed:] == []
        return self.proxy.behind.requests[self.requests:]


def assert_canary(proxy):
    name = f"/canary/{uuid.uuid4()}"
    response = proxy.get(name)
    assert response.status == 200 and response.json()["target"] == name, response


def exchange(proxy, data, half_close=False):
    """Sends the bytes and reads answers until the proxy closes: [responses], closed."""
    responses = []
    with proxy.connect() as connection:
        try:
            connection.send(data)
            if half_close:
                connection.finish_sending()
            while data.startswith(b"HEAD "):  # one that is refused may have a body or none: only its status counts
                responses.append(connection.read_head())
                connection.reader.to_end(lambda piece: None)
            while True:
                responses.append(connection.read("GET"))
        except (Closed, ConnectionResetError, BrokenPipeError):
            return responses, True
        except TimeoutError:
            return responses, False


DESYNC = vectors.desync_guardian()
REFUSED = [vector for vector in DESYNC if vector.tier in ("Severe", "Ambiguous")]
COMPLIANT = [vector for vector in DESYNC if vector.tier == "Compliant"]
EITHER = [vector for vector in DESYNC if vector.tier == "Acceptable"]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector.name)
def test_an_ambiguous_request_is_400_and_the_connection_is_closed(fenced, vector):
    watch = Watch(fenced)
    responses, closed = exchange(fenced, vector.head + vectors.SMUGGLED)
    assert [response.status for response in responses] == [400]
    assert closed
    assert watch.seen() == []
    assert_canary(fenced)


@pytest.mark.parametrize("vector", COMPLIANT, ids=lambda vector: vector.name)
def test_a_compliant_request_is_forwarded(fenced, vector):
    watch = Watch(fenced)
    with fenced.connect() as connection:
        response = connection.send(vector.head + vector.body()).read("GET")
    assert response.status in (200, 201), response
    request, = watch.seen()
    assert request.target.encode("latin-1") == vector.target_bytes()
    if not any(name.lower() == "transfer-encoding" for name, _ in vector.headers):
        assert request.length == len(vector.body())
    assert_canary(fenced)


@pytest.mark.parametrize("vector", EITHER, ids=lambda vector: vector.name)
def test_a_strange_request_is_refused_or_forwarded_as_one(fenced, vector):
    watch = Watch(fenced)
    with fenced.connect() as connection:
        response = connection.send(vector.head + vector.body()).read("HEAD" if b"HEAD " in vector.head else "GET")
        if response.status >= 400:
            assert watch.seen() == []
        else:
            assert len(watch.seen()) == 1
    assert_canary(fenced)


@pytest.mark.parametrize("data", [data for _, data in vectors.llhttp("request")],
                         ids=[name for name, _ in vectors.llhttp("request")])
def test_whatever_is_sent_the_upstream_sees_only_what_is_answered(fenced, data):
    watch = Watch(fenced)
    responses, _ = exchange(fenced, data, half_close=True)
    answered = [response for response in responses if response.headers.has("X-Number")]
    requests = watch.seen()
    assert len(requests) >= len(answered)
    assert len(requests) - len(answered) <= 1, "at most the last request may lose its answer to the half-closed client"
    assert len(requests) <= data.count(b"HTTP/1."), "more requests came out than went in"
    assert [str(request.number) for request in requests][: len(answered)] == [
        response.header("X-Number") for response in answered]
    assert_canary(fenced)


@pytest.mark.parametrize("data", [data for _, data in vectors.llhttp("response")],
                         ids=[name for name, _ in vectors.llhttp("response")])
def test_whatever_the_upstream_sends_the_next_client_gets_its_own_answer(fenced, data):
    script = fenced.behind.script(close(data))
    try:
        fenced.get("/strange-answer", script=script)
    except (Closed, Malformed, ConnectionResetError):
        pass
    assert_canary(fenced)


ONE_BY_ONE = [
    ("a bare LF in the head", b"GET / HTTP/1.1\nHost: a\n\n"),
    ("a bare CR before the end", b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"),
    ("a folded header", b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"),
    ("no host", b"GET / HTTP/1.1\r\n\r\n"),
    ("two hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    ("a host with a path", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ("a space before the colon", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    ("a plus in the length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx"),
    ("a hexadecimal length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx"),
    ("an empty length", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n"),
    ("gzip after chunked", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    ("identity", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n"),
    ("an empty coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\nContent-Length: 1\r\n\r\nx"),
    ("chunked in HTTP/1.0", b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("HTTP/2.0 in a request line", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    ("HTTP/1.10", b"GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
    ("a tab between method and target", b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("two spaces", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("a NUL in a value", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
    ("no colon", b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"),
    ("TLS on a plain port", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n"),
]


@pytest.mark.parametrize("data", [data for _, data in ONE_BY_ONE], ids=[name for name, _ in ONE_BY_ONE])
def test_an_invalid_request_is_refused_and_closed(fenced, data):
    watch = Watch(fenced)
    responses, closed = exchange(fenced, data + vectors.SMUGGLED)
    assert len(responses) == 1 and responses[0].status in (400, 501, 505), responses
    assert closed and watch.seen() == []
    assert_canary(fenced)


BAD_CHUNKS = [
    b"5\r\nhelloX0\r\n\r\n", b"5\nhello\n0\n\n", b"-1\r\n\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"\r\n0\r\n\r\n",
    b" 5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff1\r\nhello\r\n0\r\n\r\n", b"5;\x00\r\nhello\r\n0\r\n\r\n",
    b"zz\r\nhello\r\n0\r\n\r\n", b"5\r\r\nhello\r\n0\r\n\r\n", b"0\r\nbad trailer\r\n\r\n",
]


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.parametrize("chunks", BAD_CHUNKS)
def test_bad_chunks_are_refused_and_have_no_effect(fenced, chunks, with_key):
    watch = Watch(fenced)
    headers = [("Transfer-Encoding", "chunked")] + ([("Idempotency-Key", uuid.uuid4().hex)] if with_key else [])
    responses, closed = exchange(fenced, build("POST", "/chunks", headers) + chunks + vectors.SMUGGLED)
    assert closed
    assert [response.status for response in responses] in ([400], [])
    assert with_key is False or len(responses) == 1
    assert watch.seen() == []
    assert_canary(fenced)


@pytest.mark.parametrize("with_key", [True, False])
def test_content_keeps_its_transfer_codings(fenced, with_key):
    watch = Watch(fenced)
    content = gzip.compress(b'{"amount": 1}', mtime=0)
    key = [("Idempotency-Key", uuid.uuid4().hex)] if with_key else []
    data = build("POST", "/coded", [("Transfer-Encoding", "GZip;q=1"), ("Transfer-Encoding", "chunked"), *key])
    data += chunked(content[:5], content[5:])
    with fenced.connect() as connection:
        assert connection.send(data).read("POST").status == 201
        again = connection.send(data).read("POST")
    assert again.header("Idempotent-Replayed") == ("true" if with_key else None)
    requests = watch.seen()
    assert len(requests) == (1 if with_key else 2)
    assert requests[0].headers.all("Transfer-Encoding") == ["gzip, chunked"]
    assert requests[0].body == content
    assert_canary(fenced)


def test_a_request_byte_by_byte_is_understood(fenced):
    watch = Watch(fenced)
    data = request_bytes("POST", "/bytes", key=uuid.uuid4().hex, json={"a": 1})
    with fenced.connect() as connection:
        for at in range(len(data)):
            connection.send(data[at:at + 1])
        assert connection.read("POST").status == 201
    assert [request.target for request in watch.seen()] == ["/bytes"]


def test_empty_lines_before_a_request_are_no_request(fenced):
    responses, _ = exchange(fenced, b"\r\n" + request_bytes("GET", "/after-empty-line"), half_close=True)
    assert len(responses) == 1
    if responses[0].status == 200:
        assert responses[0].json()["target"] == "/after-empty-line"
    assert_canary(fenced)


def test_connect_is_not_a_way_out(fenced):
    watch = Watch(fenced)
    with fenced.connect() as connection:
        response = connection.send(b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n").read("GET")
    assert response.status in (400, 403, 405, 501), response
    assert watch.seen() == []


def test_a_pipelined_request_behind_a_refused_one_is_not_served(fenced):
    watch = Watch(fenced)
    bad = b"POST /bad HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
    responses, closed = exchange(fenced, request_bytes("GET", "/good") + bad + request_bytes("GET", "/never"))
    assert [response.status for response in responses] == [200, 400] and closed
    assert [request.target for request in watch.seen()] == ["/good"]


def test_two_answers_to_one_request_do_not_reach_two_clients(fenced):
    twice = message(200, [], b"first") + message(200, [], b"second")
    script = fenced.behind.script(lambda exchange: exchange.send(twice) or True)
    assert fenced.get("/x", script=script).body == b"first"
    for _ in range(3):
        assert_canary(fenced)


def test_a_client_that_never_reads_does_not_block_others(fenced):
    stuck = fenced.connect()
    stuck.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.send(b"".join(request_bytes("GET", f"/stuck/{number}") for number in range(200)))
    for _ in range(5):
        assert_canary(fenced)
    stuck.close()
