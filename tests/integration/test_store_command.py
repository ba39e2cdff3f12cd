"""onceward store inspect|verify|stats on the folder of a proxy, in use and damaged; and what /readyz says of it."""

import json
import os
import pty
import subprocess

import pytest

from support.onceward import Onceward, binary, environment, run


@pytest.fixture
def kept(tmp_path, upstream, key):
    """A proxy with three stored answers, and its folder."""
    proxy = Onceward(tmp_path / "proxy", upstream, "file").start()
    for number in range(3):
        assert proxy.post(key=f"{key}-{number}", json={"text": "x" * 200}).status == 201
    yield proxy, tmp_path / "proxy" / "data"
    proxy.stop()


def lines(*arguments):
    done = run(*arguments, "--json")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def contents(folder):
    """Without the spare segment, which the owner zeroes when it has the time."""
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir()
            if not path.name.startswith("spare")}


def test_a_store_in_use_can_be_looked_into_and_is_not_changed(kept):
    _, folder = kept
    before = contents(folder)
    code, segments = lines("store", "inspect", folder)
    assert code == 0 and len(segments) == 1 and not segments[0]["sealed"]
    code, segments = lines("store", "verify", folder)
    assert code == 0 and segments[0]["states"]["succeeded"] == 3 and segments[0]["damaged_at"] == []
    code, [stats] = lines("store", "stats", folder)
    assert code == 0 and stats["records"] == 3 and stats["unreadable"] == 0
    assert contents(folder) == before


def test_verify_names_the_place_of_damage_and_exits_1(kept):
    proxy, folder = kept
    proxy.stop()
    [log] = folder.glob("*.log")
    data = bytearray(log.read_bytes())
    at = 600
    data[at] ^= 1
    log.write_bytes(data)
    code, [segment] = lines("store", "verify", folder)
    assert code == 1 and len(segment["damaged_at"]) == 1 and segment["damaged_at"][0] <= at
    told = run("store", "verify", folder)
    assert told.returncode == 1 and f"UNREADABLE RECORD at byte {segment['damaged_at'][0]}" in told.stdout
    proxy.start()


def test_a_damaged_marker_is_reported_and_written_again(kept, key):
    proxy, folder = kept
    proxy.stop()
    marker = folder / "onceward.store"
    whole = marker.read_bytes()
    marker.write_bytes(bytes([whole[0] ^ 4]) + whole[1:])
    code, [told, segment] = lines("store", "verify", folder)
    assert code == 1 and told == {"marker_damaged": True} and segment["damaged_at"] == []
    assert "MARKER DAMAGED" in run("store", "verify", folder).stdout
    proxy.start()
    assert marker.read_bytes() == whole
    assert "onceward.store was damaged" in proxy.api("/readyz").json()["message"]
    assert proxy.post(key=f"{key}-1", json={"text": "x" * 200}).replayed
    assert run("store", "verify", folder).returncode == 0


def test_verify_shows_its_progress_on_a_terminal(kept):
    _, folder = kept
    ours, theirs = pty.openpty()
    done = subprocess.run([binary(), "store", "verify", str(folder)], stdout=subprocess.PIPE, stderr=theirs,
                          stdin=subprocess.DEVNULL, env=environment(), timeout=20)
    os.close(theirs)
    shown = os.read(ours, 1000)
    os.close(ours)
    assert done.returncode == 0 and b"100 %" in shown


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    for what in ("inspect", "verify", "stats"):
        done = run("store", what, tmp_path)
        assert done.returncode == 2 and "not a store of ours" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_readyz_tells_the_durability(serve, durability):
    proxy = serve("file", durability=durability)
    assert proxy.api("/readyz").json()["durability"] == durability
