"""Free ports below the kernel's ephemeral range, so that no outgoing connection can take one in between."""

import os
import random
import socket
import threading

_LOW, _HIGH = 12000, 32000
_random = random.Random(os.getpid() ^ int.from_bytes(os.urandom(4), "big"))
_given = set()
_lock = threading.Lock()


def free_port():
    with _lock:
        for _ in range(1000):
            port = _random.randrange(_LOW, _HIGH)
            if port in _given:
                continue
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
            _given.add(port)
            return port
    raise RuntimeError("no free port found")
