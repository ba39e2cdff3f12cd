"""Several proxies on one store: exactly one effect per key, whoever is asked, killed, paused or restarted."""

import os
import signal
import tempfile
import threading
import pathlib
import uuid

import pytest

from support import expect, shared_stores
from support.behaviours import Hold
from support.client import Connection
from support.onceward import has_sanitizer, request_bytes
from support.waiting import PATIENCE, eventually
from support.wire import Closed
from support.zoo import WAIT_LONG, WAIT_NOT, operation

OPERATIONS = [operation("/wait", in_progress=WAIT_LONG),
              operation("/reject", in_progress=WAIT_NOT),
              operation("/short-lease", lease="2s", in_progress=WAIT_NOT)]
# An instrumented build has the same code to run and several times the work for it.
KEYS = 200 if has_sanitizer() else 2000
RACERS = 6
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


@pytest.fixture(scope="module", params=["redis", "postgres"])
def shared(request):
    with tempfile.TemporaryDirectory(prefix="onceward-shared-") as folder:
        server = shared_stores.start(request.param, pathlib.Path(folder) / request.param)
        yield server
        server.stop()


@pytest.fixture
def proxies(serve, shared):
    """Makes proxies on the shared store."""
    def make(count, **options):
        return [serve(shared.url, OPERATIONS, **options) for _ in range(count)]
    return make


def race(group, upstream, keys, at_once=8):
    """Every key is sent by RACERS callers at once, spread over the proxies; every caller gets the one answer."""
    run = uuid.uuid4().hex
    connections = [[Connection(group[n % len(group)].port) for n in range(RACERS)] for _ in range(at_once)]
    for batch in range(0, keys, at_once):
        names = [f"{run}-{batch + n}" for n in range(at_once)]
        for name, callers in zip(names, connections):
            data = request_bytes("POST", "/wait", key=name, json={"key": name})
            for connection in callers:
                connection.send(data)
        for name, callers in zip(names, connections):
            answers = [connection.read("POST") for connection in callers]
            assert {answer.status for answer in answers} == {201}, answers
            assert len({answer.body for answer in answers}) == 1
            assert sum(not answer.replayed for answer in answers) == 1
    for callers in connections:
        for connection in callers:
            connection.close()
    assert [upstream.effects(f"{run}-{n}") for n in range(keys)] == [1] * keys


@pytest.mark.parametrize("count", [2, 3])
def test_keys_raced_over_several_proxies_have_one_effect_each(proxies, upstream, count):
    race(proxies(count), upstream, KEYS if count == 3 else KEYS // 4)


@pytest.mark.skipif(has_sanitizer(), reason="a sanitizer and a faked clock cannot both be loaded first")
@pytest.mark.skipif(not os.path.exists(FAKETIME), reason="libfaketime is not installed")
def test_clocks_that_differ_by_minutes_change_nothing(serve, shared, upstream, key):
    skewed = [serve(shared.url, OPERATIONS, env={"LD_PRELOAD": FAKETIME, "FAKETIME": offset,
                                                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
              for offset in ("-7m", "+0", "+9m")]
    race(skewed, upstream, 100)
    hold = Hold()
    first = skewed[0].post_in_background("/short-lease", key=key, script=upstream.script(hold))
    hold.wait_reached()
    # The lease of the first is renewed by the store's clock: the others never see it end, however late they think it is.
    for proxy in skewed[1:]:
        expect.problem(proxy.post("/short-lease", key=key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    hold.release()
    answer = expect.first_answer(first.result())
    for proxy in skewed:
        expect.replay_of(proxy.post("/short-lease", key=key), answer)
    assert upstream.effects(key) == 1


def test_a_duplicate_at_another_proxy_waits_for_the_first_and_is_woken(proxies, upstream, key):
    one, other = proxies(2)
    hold = Hold()
    first = one.post_in_background("/wait", key=key, script=upstream.script(hold))
    hold.wait_reached()
    second = other.post_in_background("/wait", key=key)
    third = other.post_in_background("/wait", key=key)
    hold.release()
    answer = expect.first_answer(first.result())
    expect.replay_of(second.result(), answer)
    expect.replay_of(third.result(), answer)
    assert upstream.effects(key) == 1


def test_a_different_request_is_told_apart_at_another_proxy(proxies, upstream, key):
    one, other = proxies(2)
    expect.first_answer(one.post("/wait", key=key, json={"amount": 1}))
    expect.problem(other.post("/wait", key=key, json={"amount": 2}), 422,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("by", ["kill", "pause"])
def test_when_the_owner_is_lost_another_sees_in_progress_and_then_unknown(proxies, upstream, key, by):
    owner, other = proxies(2)
    hold = Hold()
    first = owner.post_in_background("/short-lease", key=key, script=upstream.script(hold))
    hold.wait_reached()
    expect.problem(other.post("/short-lease", key=key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    owner.kill() if by == "kill" else owner.signal(signal.SIGSTOP)
    eventually(lambda: other.post("/short-lease", key=key).json()["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN",
               what="the lease to end")
    if by == "pause":
        # It comes back, finishes what it had sent, and its answer, of the same epoch, becomes the outcome.
        owner.signal(signal.SIGCONT)
        hold.release()
        answer = first.result()
        assert answer.status == 201, answer
        replay = eventually(lambda: replayed(other.post("/short-lease", key=key)), what="the late outcome")
        assert replay.body == answer.body
    assert upstream.effects(key) == 1


def replayed(response):
    return response if response.replayed else None


def test_a_rolling_restart_under_load_loses_nothing(proxies, upstream):
    group = proxies(2)
    run, stop, lock = uuid.uuid4().hex, threading.Event(), threading.Lock()
    sent, failures = [], []

    def caller(number):
        count = 0
        while not stop.is_set():
            name = f"{run}-{number}-{count}"
            count += 1
            with lock:
                sent.append(name)
            if (error := settle(group, name)) is not None:
                failures.append(error)

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
    for thread in callers:
        thread.start()
    for _ in range(2):
        for proxy in group:
            proxy.stop()
            proxy.start()
            before = len(sent)  # the next one goes only when both have work again
            eventually(lambda: len(sent) > before + 15, what="the load to go on")
    stop.set()
    for thread in callers:
        thread.join(2 * PATIENCE)
    assert not failures, failures[:3]
    assert len(sent) > 50
    assert [name for name in sent if upstream.effects(name) != 1] == []


def settle(group, name):
    """Retries over the proxies until the key is answered, as a caller would; what went wrong, or None."""
    for attempt in range(200):
        try:
            response = group[attempt % len(group)].post("/wait", key=name)
        except (OSError, Closed):  # a proxy that ends, or has ended
            continue
        if response.status == 201:
            return None
        if response.status not in (409, 502, 503):
            return response
    return f"{name} never answered"
