"""`onceward call` as a shell would run it, with a folder of intents of the test's own."""

import json
import subprocess

from .onceward import binary, environment
from .waiting import PATIENCE


class Caller:
    def __init__(self, folder):
        self.folder = folder
        self.env = environment({"ONCEWARD_INTENTS": str(folder), "HOME": "/nonexistent"})

    def command(self, url, *arguments):
        return [binary(), "call", *map(str, arguments), url]

    def run(self, url, *arguments, within=PATIENCE, stdin=None):
        return subprocess.run(self.command(url, *arguments), env=self.env, timeout=within, capture_output=True,
                              input=stdin)

    def json(self, url, *arguments, **options):
        """The exit code and the object that was printed."""
        result = self.run(url, "--json", *arguments, **options)
        lines = result.stdout.decode().splitlines()
        assert len(lines) == 1, result
        return result.returncode, json.loads(lines[0])

    def start(self, url, *arguments):
        return subprocess.Popen(self.command(url, *arguments), env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def files(self):
        return sorted(path.name for path in self.folder.glob("*")) if self.folder.exists() else []
