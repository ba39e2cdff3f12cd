"""Ten thousand keep-alive connections that do nothing: they are held, and cost little."""

import resource
import socket

import pytest

from support.onceward import binary

CONNECTIONS = 10_000
KIB_EACH = 20
SPARE = 500  # descriptors for everything else


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CONNECTIONS + SPARE:
        pytest.skip(f"a process may have {hard} descriptors here, which is too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_sanitized():
    with open(binary(), "rb") as program:
        return b"__asan_init" in program.read()


def ask(connection):
    connection.sendall(b"GET /.well-known/onceward/policy HTTP/1.1\r\nHost: a\r\n\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(4096)
        assert piece, "closed"
        answer += piece
    assert b"Connection: close" not in answer
    return answer


def open_connections(port, count):
    """Each has had a request: what it needed then must not stay with it."""
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), 20)
        connections.append(connection)
        ask(connection)
    return connections


def test_ten_thousand_idle_connections_are_held_with_little_memory_each(serve, many_descriptors):
    proxy = serve(workers=2, limits={"idle_timeout": "10m"})  # opening them may take more than the usual minute
    warm = open_connections(proxy.port, 100)
    before = proxy.memory_kib()
    connections = open_connections(proxy.port, CONNECTIONS)
    try:
        each = (proxy.memory_kib() - before) / CONNECTIONS
        assert is_sanitized() or each <= KIB_EACH, f"{each:.1f} KiB each"
        for connection in connections[:: CONNECTIONS // 50]:
            ask(connection)
    finally:
        for connection in warm + connections:
            connection.close()
