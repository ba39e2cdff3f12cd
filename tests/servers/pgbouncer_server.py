"""PgBouncer with a PostgreSQL of its own behind it; see postgres_server.py."""
import pathlib

import postgres_server


class Pooled:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.server = postgres_server.start(folder)
        pooler = folder / "pooler"
        pooler.mkdir()
        self.pooler = postgres_server.Pooler(pooler, self.server)
        self.url = self.pooler.url

    def stop(self):
        self.pooler.stop()
        self.server.stop()


def start(folder):
    return Pooled(folder)
