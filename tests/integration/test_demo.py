"""`onceward demo`: what it shows is what happened, and what it says to try works."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from support import onceward
from support.waiting import PATIENCE, eventually


def test_with_onceward_nobody_is_charged_twice_and_without_it_somebody_is():
    shown = onceward.run("demo", "--json", "--orders", 60, "--loss", "0.3")
    assert shown.returncode == 0, shown.stderr
    without, guarded = (json.loads(shown.stdout)[side] for side in ("without", "with"))
    assert without["wanted"] == guarded["wanted"] == 60
    assert without["more_than_once"] > 0 and without["created"] > 60
    assert guarded["more_than_once"] == 0 and guarded["created"] <= 60
    assert guarded["confirmed"] + guarded["held"] + guarded["gave_up"] == 60
    assert guarded["unheard"] > 0 and guarded["replays"] > 0


def test_a_service_that_loses_nothing_needs_no_retry():
    shown = onceward.run("demo", "--json", "--orders", 20, "--loss", "0")
    for side in json.loads(shown.stdout).values():
        assert (side["created"], side["more_than_once"], side["held"], side["gave_up"]) == (20, 0, 0, 0)


def test_a_service_that_loses_everything_makes_an_order_per_attempt_and_with_onceward_one():
    shown = json.loads(onceward.run("demo", "--json", "--orders", 20, "--loss", "1").stdout)
    without, guarded = shown["without"], shown["with"]
    assert (without["created"], without["more_than_once"], without["gave_up"]) == (without["requests"], 20, 20)
    assert (guarded["created"], guarded["more_than_once"], guarded["held"], guarded["gave_up"]) == (20, 0, 20, 0)


@pytest.mark.parametrize("loss", ["2", "-0.1", "much", ""])
def test_a_share_that_is_none_is_refused(loss):
    refused = onceward.run("demo", f"--loss={loss}")
    assert refused.returncode == 2
    assert "--loss" in refused.stderr


class Kept:
    """`demo --keep` with its fixed ports, in a network of its own where nobody else has them."""

    def __init__(self, folder):
        self.path = folder / "shown"
        self.network = ["unshare", "--net"] if os.getuid() == 0 else ["unshare", "--net", "--map-root-user"]
        script = f"ip link set lo up && exec {shlex.quote(onceward.binary())} demo --keep --orders 5 --store file:{folder}/data"
        with open(self.path, "wb") as shown:
            self.process = subprocess.Popen([*self.network, "sh", "-c", script], env=onceward.environment(), stdout=shown,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        eventually(lambda: "Ctrl-C ends" in self.text() or self.process.poll() is not None, what=self.text)

    def text(self):
        return self.path.read_text()

    def shell(self, command):
        """Runs a command where the demo's ports are."""
        into = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"]
        if os.getuid() != 0:
            into += [f"--user=/proc/{self.process.pid}/ns/user", "--preserve-credentials"]
        return subprocess.run([*into, "sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE).stdout

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def kept(tmp_path):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    if subprocess.run(["unshare", "--net", *([] if os.getuid() == 0 else ["--map-root-user"]), "ip", "link", "set", "lo", "up"],
                      capture_output=True).returncode != 0:
        pytest.skip("a network of one's own is not allowed here")
    demo = Kept(tmp_path)
    yield demo
    if demo.process.poll() is None:
        demo.process.kill()
        demo.process.wait()


def test_what_it_says_to_try_does_what_it_says(kept):
    order, another, lost = re.findall(r"^  (curl .*)$", kept.text(), re.MULTILINE)
    first = kept.shell(order)
    assert "HTTP/1.1 201" in first and '"amount":12.50' in first
    again = kept.shell(order)
    assert "Idempotent-Replayed: true" in again and again.splitlines()[-1] == first.splitlines()[-1]
    changed = kept.shell(another)
    assert "HTTP/1.1 422" in changed and "/amount" in changed
    assert "HTTP/1.1 502" in kept.shell(lost)
    held = kept.shell(lost)
    assert "HTTP/1.1 409" in held and "IDEMPOTENCY_OUTCOME_UNKNOWN" in held
    orders, metrics = re.search(r"Orders: (curl.*?)    Metrics: (curl.*?)    Ctrl-C", kept.text()).groups()
    assert kept.shell(orders).count('"customerId":"bob"') == 1
    assert "# TYPE onceward_claims_total counter" in kept.shell(metrics)
    assert kept.end() == 0, kept.text()
