"""`with redis_cluster -- …`: six nodes, three of them primaries."""
from redis_server import start_cluster as start  # noqa: F401
