"""HTTP/1.1 on the wire, read strictly. Both the client and the upstream parse with these functions, so a
message that either end would have to guess about is a test failure, not a shrug."""

import re
import socket

TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)\Z")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])\Z")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,16})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\Z")


class Malformed(Exception):
    """The peer sent something that RFC 9112 does not allow, or ended in the middle of a message."""


class Closed(Exception):
    """The peer closed the connection between messages."""


class Headers(list):
    """(name, value) pairs as sent: order, repetition and case kept."""

    def all(self, name):
        return [value for key, value in self if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        assert len(values) <= 1, f"{name} was sent {len(values)} times: {values}"
        return values[0] if values else default

    def has(self, name):
        return bool(self.all(name))

    def tokens(self, name):
        return [part.strip().lower() for value in self.all(name) for part in value.split(",") if part.strip()]

    def without(self, *names):
        dropped = {name.lower() for name in names}
        return Headers((key, value) for key, value in self if key.lower() not in dropped)


class Reader:
    """Buffered reading of one socket."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = bytearray()

    def fill(self):
        piece = self.sock.recv(65536)
        self.buffer += piece
        return bool(piece)

    def line(self, limit=1 << 20):
        searched = 0
        while True:
            end = self.buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self.buffer[: end + 1])
                del self.buffer[: end + 1]
                if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
                    raise Malformed(f"a line does not end with CRLF: {line!r}")
                return line[:-2]
            searched = len(self.buffer)
            if searched > limit:
                raise Malformed("a line is too long")
            if not self.fill():
                if not self.buffer:
                    raise Closed()
                raise Malformed(f"ended inside a line: {bytes(self.buffer)!r}")

    def exactly(self, count, sink):
        while count:
            if not self.buffer and not self.fill():
                raise Malformed(f"ended {count} bytes before the end of the body")
            piece = bytes(self.buffer[:count])
            del self.buffer[: len(piece)]
            count -= len(piece)
            sink(piece)

    def to_end(self, sink):
        while self.buffer or self.fill():
            sink(bytes(self.buffer))
            self.buffer.clear()


def parse_headers(reader):
    headers = Headers()
    while True:
        try:
            line = reader.line()
        except Closed:
            raise Malformed("ended inside the header section")
        if not line:
            return headers
        name, colon, value = line.partition(b":")
        if not colon or not TOKEN.match(name):
            raise Malformed(f"not a header line: {line!r}")
        value = value.strip(b" \t")
        if not _VALUE.match(value):
            raise Malformed(f"control characters in a header value: {line!r}")
        headers.append((name.decode("ascii"), value.decode("latin-1")))


def body_length(headers, codings_allowed=False):
    """'chunked', a number of bytes, or None when no framing header is there. Only a request may have codings before
    chunked, and only in the one way in which the proxy writes them."""
    lengths, codings = headers.all("Content-Length"), headers.all("Transfer-Encoding")
    if codings:
        if lengths:
            raise Malformed("both Content-Length and Transfer-Encoding")
        allowed = r"((gzip|deflate|compress), )*chunked" if codings_allowed else "chunked"
        if len(codings) != 1 or not re.fullmatch(allowed, codings[0]):
            raise Malformed(f"transfer codings {codings}")
        return "chunked"
    if not lengths:
        return None
    if len(lengths) != 1 or not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
        raise Malformed(f"content lengths {lengths}")
    return int(lengths[0])


def read_chunked(reader, sink):
    """Reads to the end of a chunked body and returns its trailers."""
    while True:
        try:
            size_line = reader.line()
            match = _CHUNK_SIZE.match(size_line)
            if not match:
                raise Malformed(f"not a chunk size: {size_line!r}")
            size = int(match.group(1), 16)
            if size == 0:
                return parse_headers(reader)
            reader.exactly(size, sink)
            if reader.line() != b"":
                raise Malformed("a chunk is longer than its size")
        except Closed:
            raise Malformed("ended inside a chunked body")


def parse_status_line(line):
    match = _STATUS_LINE.match(line)
    if not match:
        raise Malformed(f"not a status line: {line!r}")
    return int(match.group(1)), int(match.group(2)), match.group(3).decode("latin-1")


def parse_request_line(line):
    match = _REQUEST_LINE.match(line)
    if not match:
        raise Malformed(f"not a request line: {line!r}")
    return match.group(1).decode("ascii"), match.group(2).decode("latin-1"), int(match.group(3))


def reset(sock):
    """Closes with RST instead of FIN, also when another thread is inside recv() on this socket: until that one is
    woken, the kernel keeps the connection."""
    try:
        sock.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sock.close()


def hang_up(sock):
    """Closes with FIN, also when another thread is inside recv() on this socket."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()


def chunked(*pieces):
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return body + b"0\r\n\r\n"
