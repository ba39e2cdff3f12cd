"""One of the example services, as a process."""

import pathlib
import re
import subprocess

from . import client
from .onceward import SANITIZER, RefusedToStart, binary, environment, request_bytes
from .waiting import PATIENCE, eventually


def program(name):
    return pathlib.Path(binary()).parent / "examples" / name


class Example:
    def __init__(self, name, folder, *arguments, env=None):
        self.name = name
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.arguments, self.env = list(map(str, arguments)), env
        self.process = self.port = None

    def start(self):
        self.out, self.err = self.folder / f"{self.name}.out", self.folder / f"{self.name}.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([str(program(self.name)), "--port", "0", *self.arguments], stdout=out,
                                            stderr=err, stdin=subprocess.DEVNULL, cwd=self.folder,
                                            env=environment(self.env))
        eventually(self._listens, what=lambda: self.err.read_text())
        return self

    def _listens(self):
        said = re.search(r"http://127\.0\.0\.1:(\d+)", self.out.read_text())
        if said:
            self.port = int(said[1])
            return True
        if self.process.poll() is not None:
            raise RefusedToStart(self.err.read_text())
        return False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process = None
        errors = self.err.read_text()
        assert code == 0 and not SANITIZER.search(errors), f"{self.name} ended with {code}: {errors}"

    def request(self, method, target, key=None, json=None, headers=(), tenant=None, timeout=PATIENCE):
        data = request_bytes(method, target, key, json, None, headers, None, tenant, None)
        with client.Connection(self.port, timeout=timeout) as connection:
            return connection.send(data).read(method)

    def post(self, target, key=None, json=None, **options):
        return self.request("POST", target, key=key, json={"item": "book"} if json is None else json, **options)

    def get(self, target):
        return self.request("GET", target)

    def orders(self):
        return self.get("/orders").json()
