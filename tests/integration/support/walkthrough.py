"""The examples of the docs, run as they stand there: only ports and places are others."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from ports import free_port

from .onceward import ROOT, SANITIZER, binary, environment
from .waiting import PATIENCE, eventually

# What a reader does without thinking of it: not to go on before the programs that were started listen, and to end them.
_BEFORE = """listening() {
  for port in "$@"; do until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2> /dev/null; do sleep 0.02; done; done
}
exec 9<&0 < /dev/null
trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT
"""
_AFTER = """
touch "$TMPDIR/walked"
read -r _ <&9 || true
"""


def shell_blocks(page):
    return re.findall(r"^```sh\n(.*?)^```", (pathlib.Path(ROOT) / page).read_text(), re.MULTILINE | re.DOTALL)


class Walkthrough:
    """One block of shell commands. `ports` are those of the page that its programs listen on: each becomes a free one, in
    the commands and in a copy of examples/. `places` are other texts to replace."""

    def __init__(self, folder, page, ports=(), places=None, env=None, block=0):
        self.folder = pathlib.Path(folder)
        self.ports = {str(port): str(free_port()) for port in ports}
        self.places = {"build/release/": f"{pathlib.Path(binary()).parent}/"} | (places or {})
        self._copy_examples()
        self.script = self._told(shell_blocks(page)[block])
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "onceward").symlink_to(binary())
        (programs / "python3").symlink_to(sys.executable)
        path = f"{programs}:{os.environ['PATH']}"
        # Its own: another walk may be under way beside this one.
        own_api = {"ONCEWARD_API": f"127.0.0.1:{free_port()}"}
        self.env = environment({"PATH": path, "TMPDIR": str(self.folder)} | own_api | (env or {}))
        self.out, self.err = self.folder / "out", self.folder / "err"
        self.process = None

    def __enter__(self):
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(["bash", "-eu", "-c", _BEFORE + self._waiting() + _AFTER], cwd=self.folder,
                                            env=self.env, stdin=subprocess.PIPE, stdout=out, stderr=err)
        try:
            eventually(lambda: self._is_walked() or self.process.poll() is not None, PATIENCE, what="the end of the example")
            assert self._is_walked()
        except AssertionError as error:
            self.process.terminate()
            self.__exit__()
            raise AssertionError(f"{error}\n{self.text()}\n{self._errors()}")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        assert not SANITIZER.search(self._errors()), self._errors()

    def _is_walked(self):
        return (self.folder / "walked").exists()

    def text(self):
        """What the commands have printed; not what the programs log."""
        return self.out.read_text(errors="replace")

    def _errors(self):
        return self.err.read_text(errors="replace")

    def lines(self):
        return self.text().splitlines()

    def _told(self, text):
        for old, new in (self.ports | self.places).items():
            text = text.replace(old, new)
        return text

    def _copy_examples(self):
        for source in (pathlib.Path(ROOT) / "examples").rglob("*"):
            if source.suffix not in (".py", ".yaml"):
                continue
            copy = self.folder / source.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(self._told(source.read_text()))
            shutil.copymode(source, copy)

    def _waiting(self):
        """The commands, with a wait behind the last one that leaves a program running."""
        lines = self.script.splitlines(keepends=True)
        starts = [number for number, line in enumerate(lines) if re.search(r"[^&]&\s*(#.*)?$", line)]
        if starts and self.ports:
            lines.insert(starts[-1] + 1, f"listening {' '.join(self.ports.values())}\n")
        return "".join(lines)
