"""Ports of 127.0.0.1 that nobody else takes, not even while their server is being restarted: below the kernel's ephemeral
range, so that no outgoing connection gets one, and from a block that this process has locked, so that no other test run
does. They are handed out in turn: one comes back only long after its test has ended."""
import fcntl
import os
import pathlib
import socket
import threading

_LOW, _BLOCK, _BLOCKS = 12000, 250, 40  # up to 22000: a node of a Redis cluster also listens on its port + 10000
_lock, _mine = threading.Lock(), None


def free_port():
    global _mine
    with _lock:
        _mine = _mine or _ports_in_turn()
        return next(_mine)


def _ports_in_turn():
    block_file, first = _lock_a_block()
    with block_file:  # locked as long as this process lives
        while found := [port for port in range(first, first + _BLOCK) if _is_free(port)]:
            yield from filter(_is_free, found)
    raise RuntimeError("every port of the block is in use")


def _lock_a_block():
    folder = pathlib.Path(f"/tmp/onceward-ports-{os.getuid()}")  # not in TMPDIR: one for all test runs
    folder.mkdir(exist_ok=True)
    for number in range(_BLOCKS):
        block_file = open(folder / str(number), "w")
        try:
            fcntl.flock(block_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return block_file, _LOW + number * _BLOCK
        except BlockingIOError:
            block_file.close()
    raise RuntimeError("too many test runs at once: every block of ports is taken")


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False
