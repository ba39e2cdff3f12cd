"""What an upstream can be told to do with a request. A behaviour takes an Exchange and returns whether the
connection stays open for the next request."""

import json
import threading

from .waiting import PATIENCE
from .wire import chunked, hang_up, reset as reset_socket

REASONS = {200: "OK", 201: "Created", 204: "No Content", 303: "See Other", 409: "Conflict"}


def message(status, headers=(), body=b"", as_chunks=None, reason=None, length=None):
    """The bytes of one answer. `as_chunks` is a list of pieces; `length` lies about the body's length."""
    lines = [f"HTTP/1.1 {status} {reason if reason is not None else REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if as_chunks is not None:
        lines.append("Transfer-Encoding: chunked")
        body = chunked(*as_chunks)
    elif status not in (204, 304):
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def answer(status=201, headers=(), body=b"", **framing):
    data = message(status, headers, body, **framing)
    head_only = data[: data.index(b"\r\n\r\n") + 4]

    def behave(exchange):
        exchange.send(head_only if exchange.request.method == "HEAD" else data)
        return True

    return behave


def numbered_answer(exchange):
    """The default: 201 with a body that no other execution has."""
    request = exchange.request
    body = json.dumps({"number": request.number, "method": request.method, "target": request.target}).encode()
    headers = [("Content-Type", "application/json"), ("X-Number", request.number)]
    exchange.send(message(200 if request.method in ("GET", "HEAD") else 201, headers,
                          body if request.method != "HEAD" else b"",
                          length=len(body)))
    return True


def raw(data, keep=False):
    """Exactly these bytes, then the end of the connection (or not)."""

    def behave(exchange):
        exchange.send(data)
        return keep

    return behave


def close(after=b""):
    return raw(after, keep=False)


def reset(after=b""):
    def behave(exchange):
        if after:
            exchange.send(after)
        reset_socket(exchange.sock)
        return False

    return behave


def never():
    """Reads the request and says nothing until the upstream ends or the peer leaves."""

    def behave(exchange):
        exchange.sock.settimeout(0.2)
        while not exchange.upstream.ended.is_set():
            try:
                if not exchange.sock.recv(1):
                    return False
            except TimeoutError:
                continue
        return False

    return behave


def in_turn(*steps):
    """The n-th request gets the n-th behaviour, later ones the last."""
    lock, left = threading.Lock(), list(steps)

    def behave(exchange):
        with lock:
            step = left.pop(0) if len(left) > 1 else left[0]
        return step(exchange)

    return behave


class Hold:
    """A behaviour that waits for `release()`; `reached` is set when a request has come. A test that fails leaves
    its holds behind: the fixture that ends it calls `release_all`, so that no proxy has to wait for them."""

    _all = []

    def __init__(self, then=numbered_answer, within=10 * PATIENCE):
        self.reached, self._released = threading.Event(), threading.Event()
        self._then, self._within = then, within
        Hold._all.append(self)

    @staticmethod
    def release_all():
        while Hold._all:
            Hold._all.pop().release()

    def __call__(self, exchange):
        self.reached.set()
        self._released.wait(self._within)
        return self._then(exchange)

    def wait_reached(self, within=PATIENCE):
        assert self.reached.wait(within), "no request reached the upstream"

    def release(self):
        self._released.set()


def preceded_by(interim, then):
    def behave(exchange):
        exchange.send(interim)
        return then(exchange)

    return behave


def streamed(pieces, content_type="text/event-stream"):
    """Chunked, one piece at a time; `pieces` is called for every request and may block between pieces."""

    def behave(exchange):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
        exchange.send(head.encode())
        for piece in pieces():
            exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        exchange.send(b"0\r\n\r\n")
        return True

    return behave


def echo_tunnel(exchange):
    """101 and then every byte back, until the peer ends."""
    exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    while exchange.reader.buffer or exchange.reader.fill():
        data = bytes(exchange.reader.buffer)
        exchange.reader.buffer.clear()
        exchange.send(data)
    hang_up(exchange.sock)
    return False
