"""A TCP gate between two ends: passes bytes on, and can delay, cut after n bytes, reset or swallow them.
SIGSTOP of a process is not a partition; this is."""

import socket
import threading
import time

from ports import free_port

from .wire import hang_up, reset


class Gate:
    def __init__(self, target_port):
        self.port, self._target = free_port(), target_port
        self.delay = 0.0            # seconds before each piece is passed on
        self.cut_up_after = None    # bytes towards the target, then both sides are cut
        self.cut_down_after = None  # bytes from the target, then both sides are cut
        self.with_reset = False     # cut by RST instead of FIN
        self.black_hole = False     # accept, read, pass nothing on
        self.swallow_down = False   # pass nothing on from the target, which hears everything
        self.swallowed = 0          # bytes that the target said and nobody heard
        self.passed_up = 0
        self.cuts = 0               # by cut_up_after and cut_down_after
        self._budget = {}           # direction -> bytes that may still pass over all connections, then all are cut
        self._pairs, self._lock = [], threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def lead_to(self, target_port):
        """Another target from now on, as when a name or an address has moved."""
        self._target = target_port
        self.cut()

    def close(self):
        hang_up(self._listener)
        self.cut()

    def heal(self):
        self.delay, self.cut_up_after, self.cut_down_after = 0.0, None, None
        self.with_reset, self.black_hole, self.swallow_down = False, False, False
        self._budget = {}

    def cut_from_now(self, direction, after):
        """Cuts every connection once so many more bytes have passed in this direction."""
        self._budget = {direction: after}

    def cut(self):
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for near, far in pairs:
            self._end(near, far)

    def _end(self, near, far):
        for sock in (near, far):
            try:
                reset(sock) if self.with_reset else hang_up(sock)
            except OSError:
                pass

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                hang_up(near)  # as the target itself would: nobody is there
                continue
            with self._lock:
                self._pairs.append((near, far))
            threading.Thread(target=self._pass, args=(near, far, "up"), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, "down"), daemon=True).start()

    def _pass(self, source, sink, direction):
        passed = 0
        try:
            while True:
                piece = source.recv(65536)
                if not piece:
                    break
                if self.black_hole:
                    continue
                if self.swallow_down and direction == "down":
                    self.swallowed += len(piece)
                    continue
                left = self._budget.get(direction)
                if left is not None:
                    self._budget[direction] = left - len(piece)
                    if left <= len(piece):
                        self._budget = {}
                        sink.sendall(piece[:left])
                        self.cut()
                        return
                if self.delay:
                    time.sleep(self.delay)
                limit = self.cut_up_after if direction == "up" else self.cut_down_after
                if limit is not None and passed + len(piece) >= limit:
                    sink.sendall(piece[: limit - passed])
                    self._cut_pair(source, sink)
                    self.cuts += 1
                    return
                sink.sendall(piece)
                passed += len(piece)
                if direction == "up":
                    self.passed_up += len(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            self._cut_pair(source, sink)

    def _cut_pair(self, one, other):
        with self._lock:
            self._pairs = [pair for pair in self._pairs if one not in pair]
        self._end(one, other)
