"""kill -9 at random moments, again and again: every committed event arrives, never under a second id.

ONCEWARD_OUTBOX_KILLS says how often (`make chaos-outbox` kills 300 times); ONCEWARD_OUTBOX_SEED repeats a run."""

import collections
import os
import random
import threading
import time

import pytest

import redis_server
from support.onceward import Onceward
from support.upstream import Upstream
from support.waiting import eventually
from support.wire import Closed, Malformed
from support.zoo import operation

KILLS = int(os.environ.get("ONCEWARD_OUTBOX_KILLS", "8"))
SEED = int(os.environ.get("ONCEWARD_OUTBOX_SEED", str(random.randrange(1 << 32))))
KINDS = ["made", "noted"]
OUTBOX = {"backoff": "20ms", "max_backoff": "100ms", "timeout": "500ms", "poll": "20ms", "attempts": 10000}


class Callers:
    """Send requests as long as they are told to, each until it is answered; with what does not matter here."""

    def __init__(self, proxy):
        self.proxy, self.keys = proxy, []
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(3)]
        for thread in self._threads:
            thread.start()

    def _work(self, number):
        count = 0
        while not self._ended.is_set():
            key = f"k{number}-{count}"
            count += 1
            with self._lock:
                self.keys.append(key)
            while not self._ended.is_set() and not self._is_answered(key):
                time.sleep(0.005)  # nobody listens just now

    def _is_answered(self, key):
        try:
            return self.proxy.post(key=key, timeout=5.0)
        except (OSError, Closed, Malformed):
            return None

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(params=["file", "redis", "postgres"])
def store(request, tmp_path, empty_store):
    """Of its own: nobody else's events wait there."""
    if request.param != "redis":
        yield empty_store(request.param)
        return
    server = redis_server.start(tmp_path / "redis")
    yield server.url
    server.stop()


def wait_for_some(server, more, within=1.0):
    """So many requests further on, or a moment later: a slow machine gets somewhere too."""
    wanted, end = len(server.requests) + more, time.monotonic() + within
    while len(server.requests) < wanted and time.monotonic() < end:
        time.sleep(0.001)


def test_kills_at_random_moments_lose_no_event(tmp_path, store):
    print(f"seed {SEED}, {KILLS} kills")
    chance = random.Random(SEED)
    upstream, receiver = Upstream(), Upstream()
    rules = [operation("/orders", events=[{"type": kind} for kind in KINDS], lease="1s")]
    proxy = Onceward(tmp_path / "proxy", upstream, store, rules, outbox=OUTBOX | {"sink": f"{receiver.url}/hook"}, workers=1)
    proxy.start()
    callers = Callers(proxy)
    try:
        for _ in range(KILLS):
            wait_for_some(upstream, chance.randrange(8))
            if chance.random() < 0.3:  # where a relay has to wait for the claim of the one that died
                wait_for_some(receiver, 1 + chance.randrange(8), within=3.0)
            time.sleep(chance.uniform(0.0, 0.01))
            proxy.kill()
            proxy.restart()
        eventually(lambda: len(upstream.requests) > 0, what="an effect")
    finally:
        callers.end()

    committed = set()
    for key in callers.keys:
        response = proxy.post(key=key)
        if response.status == 201:
            committed.add((key, response.header("Onceward-Operation-Id")))
        else:
            assert response.status == 409, response  # killed between the effect and its outcome
    wanted = {f"{operation_id}:{kind}" for _, operation_id in committed for kind in KINDS}
    eventually(lambda: wanted <= {request.key for request in list(receiver.requests)}, every=0.2,
               what=lambda: f"{len(wanted)} events")
    # Its outcome may have been committed, and told, although the process died before it could say so; but an id
    # always belongs to an operation that the upstream was asked for.
    arrived = collections.Counter(request.key for request in receiver.requests)
    operations = {request.operation_id for request in upstream.requests}
    assert {one.split(":")[0] for one in arrived} <= operations
    assert set(arrived) <= wanted, "an event without its outcome"
    kinds_of = collections.defaultdict(list)
    for request in receiver.requests:
        operation_id, kind = request.key.split(":")
        kinds_of[operation_id].append(kind)
    assert all(kinds.index("made") < kinds.index("noted") for kinds in kinds_of.values()), kinds_of
    by_key = collections.Counter(key for key, _ in committed)
    assert set(by_key.values()) == {1}
    again = sum(arrived.values()) - len(arrived)
    print(f"{KILLS} kills, {len(callers.keys)} keys, {len(committed)} committed, {len(arrived)} events arrived, "
          f"{again} of them more than once")
    proxy.stop()
    for server in (upstream, receiver):
        server.stop()
