"""A Redis server that speaks TLS only; see redis_server.py."""
from redis_server import start_tls as start  # noqa: F401
