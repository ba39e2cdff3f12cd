"""The example of docs/outbox.md is run as it stands there."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from ports import free_port

from support.onceward import ROOT, binary, environment

PAGE = pathlib.Path(ROOT) / "docs/outbox.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_example_tells_one_event(tmp_path):
    script, = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "onceward").symlink_to(binary())
    ports = {name: str(free_port()) for name in ("PORT", "SERVICE", "HOOK")}
    env = environment(ports | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)})
    done = subprocess.run(["bash", "-eu"], input=script, env=env, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == ['{"id": 7}', '{"id": 7}', "payment.created {'id': 7} genuine"], done
