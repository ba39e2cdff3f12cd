"""One `onceward consume` process: writes its config, starts it, ends it in every way there is."""

import json
import subprocess

from . import onceward
from .waiting import eventually


class Consume(onceward.Onceward):
    def __init__(self, folder, consumers, store="file", env=None, **config):
        super().__init__(folder, "http://127.0.0.1:9", store, env=env, consumers=list(consumers), **config)
        self._ready_lines = 0

    def spawn(self):
        self._ready_lines = self.ready_lines()
        with open(self.stdout_path, "ab") as out, open(self.stderr_path, "ab") as err:
            self.process = subprocess.Popen([onceward.binary(), "consume", "--config", str(self.path), "--json"],
                                            stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                            env=onceward.environment(self.env), cwd=self.folder)
        return self

    def accepts(self):
        code = self.process.poll()
        if code is not None:
            self.process = None
            raise onceward.RefusedToStart(f"consume ended with {code}:\n{self.logs()}")
        return self.ready_lines() > self._ready_lines

    def ready_lines(self):
        if not self.stdout_path.exists():
            return 0
        lines = self.stdout_path.read_text().splitlines()
        return sum(json.loads(line)["event"] == "ready" for line in lines)

    def start(self):
        self.write_config()
        self.spawn()
        eventually(self.accepts, what=self.logs)
        return self


def consumer(queue, upstream, group="workers", **more):
    return {"from": queue.url(group), "to": f"POST {upstream.url}/handle", "id": "message-id", "backoff": "20ms",
            "timeout": "30s"} | more
