"""Quotas per tenant and caller: 429 before any claim, and never for a key that exists."""

import itertools
import threading
import time

import pytest

from support import expect
from support.behaviours import Hold, answer
from support.onceward import metric_sum
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation

EXCEEDED = "IDEMPOTENCY_KEY_RATE_EXCEEDED"
OPERATIONS = [operation("/orders", in_progress=WAIT_NOT)]


@pytest.mark.parametrize("store", ["memory", "file", "postgres"])
def test_a_burst_of_new_keys_then_429_and_what_exists_still_works(serve, upstream, key, store, empty_store):
    proxy = serve(empty_store(store), OPERATIONS, quotas={"new_keys_per_second": 1, "burst": 3})
    who = {"tenant": "t", "authorization": "Bearer a"}
    answers, began = [], time.monotonic()
    while (refused := proxy.post(key=f"{key}-{len(answers)}", **who)).status == 201:
        answers.append(refused)
        assert len(answers) <= 3 + 1 + (time.monotonic() - began), "more than the burst and one for each second"
    assert len(answers) >= 3
    new = f"{key}-{len(answers)}"
    problem = expect.problem(refused, 429, EXCEEDED)
    assert problem["safeNewKey"] is True and int(refused.header("Retry-After")) == 1
    assert upstream.effects(new) == 0
    for number, first in enumerate(answers):
        expect.replay_of(proxy.post(key=f"{key}-{number}", **who), first)
    assert proxy.post(key=f"{key}-0", json={"other": 1}, **who).status == 422
    assert metric_sum(proxy.metrics(), "onceward_key_quota_rejected_total") >= 1
    later = eventually(lambda: accepted(proxy.post(key=new, **who)), every=0.05, what="the next second")
    expect.first_answer(later)


def accepted(response):
    return response if response.status != 429 else None


def test_every_tenant_and_caller_has_its_own(serve, key):
    proxy = serve("memory", OPERATIONS, quotas={"new_keys_per_second": 1, "burst": 1})
    for tenant in ("t1", "t2", None):
        for caller in ("Bearer a", "Bearer b", None):
            assert proxy.post(key=key, tenant=tenant, authorization=caller).status == 201
    is_refused_soon(proxy, key, tenant="t1")


def is_refused_soon(proxy, key, **who):
    """On a slow machine a token may come back in between; nobody can outrun one a second for long."""
    numbers = itertools.count()
    eventually(lambda: proxy.post(key=f"{key}-new-{next(numbers)}", **who).status == 429, what="the quota to be used up")


def test_a_retry_of_a_released_key_is_not_a_new_key(serve, upstream, key):
    proxy = serve("memory", OPERATIONS, quotas={"new_keys_per_second": 1, "burst": 1})
    script = upstream.script(answer(503), answer(201))
    assert proxy.post(key=key, script=script).status == 503
    assert proxy.post(key=key, script=script).status == 201
    assert upstream.effects(key) == 2


def test_executions_in_flight_are_limited_and_duplicates_do_not_count(serve, upstream, key):
    proxy = serve("memory", OPERATIONS, quotas={"in_flight": 1})
    hold = Hold()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    expect.problem(proxy.post(key=key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    expect.problem(proxy.post(key=key + "-2"), 429, EXCEEDED)
    assert proxy.post(key=key + "-2", authorization="Bearer other").status == 201
    hold.release()
    done = expect.first_answer(first.result())
    expect.replay_of(proxy.post(key=key), done)
    expect.first_answer(proxy.post(key=key + "-2"))


def test_live_keys_are_limited_until_they_end(serve, upstream, key):
    proxy = serve("memory", [operation("/orders", ttl="3s")], quotas={"live_keys": 2})
    assert [proxy.post(key=f"{key}-{number}").status for number in range(3)] == [201, 201, 429]
    assert eventually(lambda: accepted(proxy.post(key=f"{key}-3")), every=0.1, what="a key to end").status == 201


def test_without_a_key_or_in_observe_mode_nothing_is_limited(serve, key):
    proxy = serve("memory", [operation("/watched", mode="observe")], quotas={"new_keys_per_second": 1, "burst": 1})
    assert {proxy.post("/watched", key=f"{key}-{number}").status for number in range(5)} == {201}
    assert {proxy.post("/orders").status for _ in range(5)} == {201}


def test_quotas_follow_a_reload(serve, key):
    proxy = serve("memory", OPERATIONS, workers=1, quotas={"new_keys_per_second": 1, "burst": 1})
    is_refused_soon(proxy, key)
    proxy.config["quotas"] = {}
    proxy.write_config()
    proxy.reload()
    assert {proxy.post(key=f"{key}-again-{number}").status for number in range(5)} == {201}


def test_a_noisy_caller_does_not_slow_another(serve, key):
    proxy = serve("file", OPERATIONS, quotas={"new_keys_per_second": 100, "burst": 5, "in_flight": 20})
    statuses, ended = [], threading.Event()

    def flood(name):
        for number in range(300):
            if ended.is_set():
                return
            statuses.append(proxy.post(key=f"{key}-{name}-{number}", authorization="Bearer noisy").status)

    threads = [threading.Thread(target=flood, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    eventually(lambda: 429 in statuses, what="the noisy caller to be refused")
    took = []
    for number in range(20):
        began = time.monotonic()
        assert proxy.post(key=f"{key}-quiet-{number}", authorization="Bearer quiet").status == 201
        took.append(time.monotonic() - began)
        time.sleep(0.02)  # well below its own quota
    ended.set()
    for thread in threads:
        thread.join()
    assert sorted(took)[len(took) // 2] < 2.0, f"half of the quiet caller's requests took longer: {took}"
    assert statuses.count(429) > 0
