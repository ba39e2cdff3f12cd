"""A raw-socket HTTP client: sends exactly the bytes it is given and reads answers strictly."""

import json as jsonlib
import socket

from .waiting import PATIENCE
from .wire import Closed, Headers, Malformed, Reader, body_length, hang_up, parse_headers
from .wire import parse_status_line, read_chunked


class Response:
    def __init__(self, version, status, reason, headers, interim):
        self.version, self.status, self.reason = version, status, reason
        self.headers = headers
        self.interim = interim  # the 1xx answers that came before
        self.body = b""
        self.length = 0  # of the body as received; `body` is empty when a sink took the bytes
        self.trailers = Headers()
        self.closed = False  # the message was delimited by the end of the connection

    def header(self, name, default=None):
        return self.headers.get(name, default)

    def json(self):
        return jsonlib.loads(self.body)

    @property
    def replayed(self):
        return self.header("Idempotent-Replayed") == "true"

    @property
    def operation_id(self):
        return self.header("Onceward-Operation-Id")

    def __repr__(self):
        return f"<{self.status} {list(self.headers)} {self.body[:400]!r}>"


class Connection:
    def __init__(self, port, host="127.0.0.1", timeout=PATIENCE, tls=None, server_name="localhost"):
        self.sock = socket.create_connection((host, port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname=server_name)
        self.reader = Reader(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)
        return self

    def close(self):
        hang_up(self.sock)

    def finish_sending(self):
        self.sock.shutdown(socket.SHUT_WR)

    def read_head(self):
        version, status, reason = parse_status_line(self.reader.line())
        return Response(version, status, reason, parse_headers(self.reader), [])

    def read(self, method="GET", sink=None):
        """One final answer with its body; the interim ones before it are kept in `.interim`."""
        interim = []
        while True:
            response = self.read_head()
            if response.status >= 200 or response.status == 101:
                break
            assert body_length(response.headers) is None, "an interim answer has a body"
            interim.append(response)
        response.interim = interim
        self._read_body(response, method, sink)
        return response

    def _read_body(self, response, method, sink):
        pieces = []

        def keep(piece):
            response.length += len(piece)
            (sink or pieces.append)(piece)

        framing = body_length(response.headers)
        if response.status in (204, 304) or response.status < 200:
            if response.status != 304 and framing is not None:
                raise Malformed(f"a {response.status} has framing headers: {response.headers}")
        elif method == "HEAD":
            pass
        elif framing == "chunked":
            response.trailers = read_chunked(self.reader, keep)
        elif framing is not None:
            self.reader.exactly(framing, keep)
        else:
            self.reader.to_end(keep)
            response.closed = True
        response.body = b"".join(pieces)

    def expect_close(self):
        """The peer closes without another byte. A reset counts: bytes of ours may have been unread."""
        try:
            leftover = bytes(self.reader.buffer) + self.sock.recv(65536)
        except ConnectionResetError:
            return
        assert leftover == b"", f"more bytes instead of the end: {leftover!r}"

    def is_open(self):
        self.sock.setblocking(False)
        try:
            return self.sock.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.sock.setblocking(True)
            self.sock.settimeout(20.0)


def build(method, target, headers=(), body=None, host="api.test", version="HTTP/1.1"):
    """The bytes of one request. Names and values go out as given (latin-1)."""
    lines = [f"{method} {target} {version}".encode("latin-1")]
    given = {name.lower() for name, _ in headers}
    if host is not None and "host" not in given:
        lines.append(b"Host: " + host.encode())
    for name, value in headers:
        lines.append(_latin(name) + b": " + _latin(value))
    if body is not None and not given & {"content-length", "transfer-encoding"}:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def _latin(text):
    return text if isinstance(text, bytes) else str(text).encode("latin-1")


__all__ = ["Closed", "Connection", "Malformed", "Response", "build"]
