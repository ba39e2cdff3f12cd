"""A full disk under the embedded store: 503 and nothing forwarded, every answer that was given stays true, and
service is back when there is space again. The disk is a small tmpfs, which only root can mount."""

import os
import subprocess
import uuid

import pytest

from support import expect
from support.behaviours import answer
from support.onceward import Onceward
from support.waiting import eventually

MIB = 1 << 20
DISK = 400 * MIB
LEFT = 8 * MIB
MOST_REQUESTS = 350  # of one MiB each: more than the disk can hold


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("this needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder):
    """Leaves a little space only; returns the file to be removed. The store may be taking space meanwhile."""
    filler = folder / "filler"
    with open(filler, "wb") as file:
        size = 0
        while (left := free_bytes(folder)) > LEFT:
            size += min(left - LEFT // 2, 4 * MIB)
            os.posix_fallocate(file.fileno(), 0, size)
    return filler


def free_bytes(folder):
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


def test_a_full_disk_loses_nothing_and_forwards_nothing(tmp_path, small_disk, upstream):
    proxy = Onceward(tmp_path / "proxy", upstream, f"file:{small_disk / 'data'}").start()
    try:
        filler = fill(small_disk)
        script = upstream.script(answer(201, [], os.urandom(MIB)))
        run = uuid.uuid4().hex
        given, refused = {}, []
        for number in range(MOST_REQUESTS):
            key = f"{run}-{number}"
            response = proxy.post(key=key, script=script)
            if response.status == 201:
                given[key] = response
            else:
                expect.problem(response, 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
                refused.append(key)
            if len(refused) == 3:
                break
        assert refused, "the disk was never full"
        assert [upstream.effects(key) for key in refused] == [0] * len(refused)
        assert proxy.get("/page").status == 200
        filler.unlink()
        eventually(lambda: proxy.post(key=refused[0], script=script).status == 201, what="service to be back")
        for key, first in given.items():
            again = proxy.post(key=key, script=script)
            if first.header("Onceward-Stored") != "false":
                expect.replay_of(again, first)
            assert upstream.effects(key) == 1
    finally:
        proxy.stop()
