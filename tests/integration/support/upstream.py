"""A scriptable upstream: threads and raw sockets. It records every request it has read to the end (that is
the effect that must happen once) and answers as the script named by the request's `X-Script` header says.
Scripts are called by the connection's own thread; the recorded requests may be read from any thread."""

import hashlib
import itertools
import json
import os
import socket
import ssl
import threading

from ports import free_port

from . import behaviours
from .waiting import PATIENCE, eventually
from .wire import Closed, Malformed, Reader, body_length, hang_up, parse_headers, parse_request_line
from .wire import read_chunked

_BODY_KEPT = 2 << 20


class Request:
    def __init__(self, method, target, minor, headers, connection, index):
        self.method, self.target, self.minor, self.headers = method, target, minor, headers
        self.connection, self.index = connection, index  # which connection, which request on it
        self.body = b""
        self.length = 0
        self.sha256 = hashlib.sha256()
        self.number = 0  # of all requests of this upstream; in the default answer's body

    def take(self, piece):
        self.length += len(piece)
        self.sha256.update(piece)
        if len(self.body) < _BODY_KEPT:
            self.body += piece

    @property
    def key(self):
        values = self.headers.all("Idempotency-Key")
        return values[0].split(";")[0].strip('"') if values else None

    @property
    def operation_id(self):
        return self.headers.get("Onceward-Operation-Id")

    @property
    def epoch(self):
        return self.headers.get("Onceward-Epoch")

    def __repr__(self):
        return f"<{self.method} {self.target} {list(self.headers)} {self.body[:100]!r}>"


class Exchange:
    """What a behaviour gets: one request and the means to answer it."""

    def __init__(self, upstream, sock, reader, request):
        self.upstream, self.sock, self.reader, self.request = upstream, sock, reader, request

    def send(self, data):
        self.sock.sendall(data)


class Upstream:
    def __init__(self, port=None, tls=None, ledger=None):
        self.port = port or free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.requests = []
        self.malformed = []  # what a strict reader had to refuse: must stay empty
        self.default = behaviours.numbered_answer
        self.ended = threading.Event()
        self._by_key, self._by_script, self._by_operation = {}, {}, {}
        self._scripts = {}
        self._names = itertools.count()
        self._lock = threading.Lock()
        self._open = {}
        self.most_open = 0
        self._connections = itertools.count()
        self._tls, self._ledger = tls, ledger
        self._listener = None
        self.start()

    # -- life ---------------------------------------------------------------------------------------

    def start(self):
        self.ended.clear()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=512, reuse_port=False)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self

    def stop(self):
        """Refuses connections from now on and cuts the ones that are open."""
        self.refuse()
        self.close_connections()
        eventually(lambda: not self._open, what="the upstream's connections to end")

    def refuse(self):
        """Refuses connections from now on; the ones that are open go on."""
        self.ended.set()
        hang_up(self._listener)

    def close_connections(self):
        with self._lock:
            sockets = list(self._open.values())
        for sock in sockets:
            hang_up(sock)

    @property
    def open_connections(self):
        return len(self._open)

    # -- scripts and effects ------------------------------------------------------------------------

    def script(self, *steps):
        """Names a behaviour for use as `X-Script`; of several, the n-th request gets the n-th, then the last."""
        name = f"s{next(self._names)}"
        self._scripts[name] = behaviours.in_turn(*steps)
        return name

    def of_key(self, key):
        with self._lock:
            return list(self._by_key.get(key, ()))

    def of_script(self, name):
        with self._lock:
            return list(self._by_script.get(name, ()))

    def of_operation(self, operation_id):
        with self._lock:
            return list(self._by_operation.get(operation_id, ()))

    def effects(self, key):
        return len(self.of_key(key))

    def wait_for_key(self, key, count=1, within=PATIENCE):
        eventually(lambda: self.effects(key) >= count, within, what=f"{count} requests with key {key}")
        return self.of_key(key)

    def wait_for_script(self, name, count=1, within=PATIENCE):
        eventually(lambda: len(self.of_script(name)) >= count, within, what=f"{count} requests of {name}")
        return self.of_script(name)

    # -- connections --------------------------------------------------------------------------------

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            number = next(self._connections)
            with self._lock:
                self._open[number] = sock
                self.most_open = max(self.most_open, len(self._open))
            threading.Thread(target=self._serve, args=(number, sock), daemon=True).start()

    def _serve(self, number, sock):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open[number] = sock
            reader = Reader(sock)
            for index in itertools.count():
                request = self._read(reader, sock, number, index)
                exchange = Exchange(self, sock, reader, request)
                if not self._behaviour(request)(exchange):
                    return
        except (Closed, OSError, ssl.SSLError):
            pass
        except Malformed as error:
            # A peer that left in the middle had no effect, and its framing was not wrong.
            if "ended" not in str(error):
                with self._lock:
                    self.malformed.append(str(error))
        finally:
            with self._lock:
                self._open.pop(number, None)
            try:
                hang_up(sock)
            except OSError:
                pass

    def _read(self, reader, sock, number, index):
        method, target, minor = parse_request_line(reader.line())
        request = Request(method, target, minor, parse_headers(reader), number, index)
        framing = body_length(request.headers, codings_allowed=True)
        if minor == 1 and len(request.headers.all("Host")) != 1:
            raise Malformed(f"not exactly one Host: {request}")
        if "100-continue" in request.headers.tokens("Expect"):
            sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if framing == "chunked":
            read_chunked(reader, request.take)
        elif framing:
            reader.exactly(framing, request.take)
        self._record(request)
        return request

    def _record(self, request):
        with self._lock:
            self.requests.append(request)
            request.number = len(self.requests)
            self._by_key.setdefault(request.key, []).append(request)
            self._by_script.setdefault(_first(request, "X-Script"), []).append(request)
            self._by_operation.setdefault(_first(request, "Onceward-Operation-Id"), []).append(request)
            if self._ledger:
                self._write_to_ledger(request)

    def _write_to_ledger(self, request):
        entry = {"key": request.key, "operation": request.operation_id, "epoch": request.epoch}
        with open(self._ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _behaviour(self, request):
        name = _first(request, "X-Script") or request.target.partition("?script=")[2]
        return self._scripts.get(name, self.default)


def _first(request, name):
    values = request.headers.all(name)
    return values[0] if values else None
