"""Real servers that several proxies share, started once per test run on private loopback ports."""

import importlib
import pathlib
import sys
import urllib.parse

_SERVERS = pathlib.Path(__file__).resolve().parents[2] / "servers"


def start(name, folder):
    """A server of tests/servers: `.url`, `.stop()`, and what its module offers besides."""
    if str(_SERVERS) not in sys.path:
        sys.path.insert(0, str(_SERVERS))
    folder.mkdir(parents=True, exist_ok=True)
    for passable in (folder.parent, folder):
        passable.chmod(0o755)  # PostgreSQL runs as another user than root
    return importlib.import_module(f"{name}_server").start(folder)


def port_of(server):
    return urllib.parse.urlsplit(server.url).port


def restart(server):
    """An orderly end and a new beginning on the same port and folder."""
    if hasattr(server, "restart"):
        server.restart(mode="fast")
    else:
        server.main.stop()
        server.main.start()


def through(url, gate):
    """The same URL with the gate's port in it."""
    scheme, rest = url.split("://", 1)
    authority, slash, path = rest.partition("/")
    credentials, at, _ = authority.rpartition("@")
    return f"{scheme}://{credentials}{at}127.0.0.1:{gate.port}{slash}{path}"
