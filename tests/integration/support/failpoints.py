"""The failpoints of a test build, and what a client sees of one key across faults."""

import functools
import json
import os

import pytest

from . import expect, onceward
from .upstream import Upstream
from .waiting import PATIENCE, eventually
from .wire import Closed, Malformed

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
IN_PROGRESS = "IDEMPOTENCY_REQUEST_IN_PROGRESS"
STORE_DOWN = "IDEMPOTENCY_STORE_UNAVAILABLE"
UNREACHABLE = "UPSTREAM_UNREACHABLE"


@functools.cache
def compiled_in():
    if not os.access(onceward.binary(), os.X_OK):
        return False
    return json.loads(onceward.run("version", "--json").stdout)["failpoints"]


needs_failpoints = pytest.mark.skipif(not compiled_in(), reason="this build has no failpoints")


def arm(plan):
    """The environment that arms these failpoints."""
    return {"ONCEWARD_FAILPOINT": plan}


def was_passed(proxy, point):
    return f'{{"failpoint":"{point}"}}' in proxy.logs()


class LedgerUpstream(Upstream):
    """An upstream that writes every request it has read whole to a synced file."""

    def __init__(self, path):
        self.path = path
        path.touch()
        super().__init__(ledger=path)

    def effects_in_ledger(self, key):
        return sum(json.loads(line)["key"] == key for line in self.path.read_text().splitlines())


class Story:
    """One key: every attempt, every success that was told, and what the upstream has seen of it. `refused` is how
    many of its requests the upstream answered without doing anything."""

    def __init__(self, proxy, upstream, key, script=None, target="/orders", refused=0):
        self.proxy, self.upstream, self.key, self.script = proxy, upstream, key, script
        self.target, self.refused = target, refused
        self.successes = []

    def ask(self):
        """One attempt: the answer, or None when the connection broke before there was a whole one."""
        try:
            response = self.proxy.post(self.target, key=self.key, script=self.script)
        except (OSError, Closed, Malformed):
            return None
        if response.status < 300:
            self.successes.append(response)
        return response

    def ask_until_definite(self, within=PATIENCE):
        """Retries as a client would: until there is an answer that does not say "try again"."""

        def definite():
            response = self.ask()
            if response is None:
                return None
            if response.status >= 400 and response.json().get("retryable"):
                return None
            return response

        return eventually(definite, within, every=0.02, what="a definite answer")

    @property
    def effects(self):
        """From the ledger, which survives whatever happens to a process."""
        return max(0, self.upstream.effects_in_ledger(self.key) - self.refused)

    def check(self):
        """What nothing may break: at most one effect, and every success told is the one that happened."""
        assert self.effects <= 1, f"{self.effects} effects"
        for success in self.successes:
            number = success.json()["number"]
            assert self.upstream.requests[number - 1].key == self.key, "a success that is another request's"
            assert success.body == self.successes[0].body, "two successes that differ"
            assert success.operation_id == self.successes[0].operation_id
        assert not self.successes or self.effects == 1, "a success without an effect"

    def check_next(self, kind, within=PATIENCE):
        """What a retry gets, in DESIGN's words: executes, unknown or replay."""
        told_before = list(self.successes)
        response = self.ask_until_definite(within)
        if kind == "unknown":
            expect.problem(response, 409, UNKNOWN)
        elif kind == "executes":
            expect.first_answer(response)
        else:
            assert kind == "replay"
            assert response.status == 201 and response.replayed, response
            if told_before:
                expect.replay_of(response, without_stored(told_before[0]))
        self.check()
        return response


def without_stored(response):
    """The answer without the line that says it could not be stored yet, which no replay has."""
    response.headers = response.headers.without("Onceward-Stored")
    return response


def check_service(proxy):
    """Another key works, and is replayed."""
    key = f"after-{os.urandom(8).hex()}"
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
