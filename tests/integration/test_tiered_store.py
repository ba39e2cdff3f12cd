"""PostgreSQL decides, Redis answers replays: whatever becomes of Redis changes speed and nothing else."""

import pytest

import postgres_server
import redis_server
from support import expect
from support.behaviours import Hold
from support.onceward import RefusedToStart
from support.waiting import eventually


@pytest.fixture(scope="module")
def authority():
    # Not below pytest's folder, which every other run closes to PostgreSQL's user again.
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def cache(tmp_path):
    server = redis_server.start(tmp_path / "redis", settings=("--save", "", "--maxmemory", "50mb", "--maxmemory-policy",
                                                              "allkeys-lru"))
    yield server
    server.stop()


def copies(cache):
    return cache.main.cli("KEYS", "onceward:copy:*").split()


def test_a_replay_needs_no_authority(serve, authority, cache, upstream, key):
    proxy = serve(authority.url, cache=cache.url)
    first = expect.first_answer(proxy.post(key=key))
    eventually(lambda: copies(cache), what="the copy")
    authority.stop()
    try:
        for _ in range(3):
            expect.replay_of(proxy.post(key=key), first)
        expect.problem(proxy.post(key=f"{key}-new"), 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
        assert upstream.effects(f"{key}-new") == 0
    finally:
        authority.start()
    eventually(lambda: proxy.post(key=f"{key}-new").status == 201, what="the authority to be back")


def test_flush_loss_and_return_of_the_cache_change_no_answer(serve, authority, cache, upstream, key):
    proxy = serve(authority.url, cache=cache.url)
    first = expect.first_answer(proxy.post(key=key))
    assert cache.main.cli("FLUSHALL") == "OK"
    expect.replay_of(proxy.post(key=key), first)
    cache.main.kill()
    expect.replay_of(proxy.post(key=key), first)
    expect.first_answer(proxy.post(key=f"{key}-new"))
    eventually(lambda: proxy.api("/readyz").status == 200, what="readiness in spite of it")
    eventually(lambda: "cache" in proxy.api("/readyz").json().get("message", ""), what="the loss to be told")
    cache.main.start()
    eventually(lambda: "message" not in proxy.api("/readyz").json(), what="the cache to be back")
    for name in (key, f"{key}-new"):
        proxy.post(key=name)
        assert upstream.effects(name) == 1
    eventually(lambda: len(copies(cache)) == 2, what="copies to be made anew")


def test_damaged_and_foreign_copies_are_misses(serve, authority, cache, upstream, key):
    proxy = serve(authority.url, cache=cache.url)
    answers = [expect.first_answer(proxy.post(key=f"{key}-{number}")) for number in range(2)]
    eventually(lambda: len(copies(cache)) == 2, what="the copies")
    one, other = copies(cache)
    assert cache.main.cli("COPY", one, other, "REPLACE") == "1"
    assert cache.main.cli("SETRANGE", one, 60, "xxxx")
    for number, first in enumerate(answers):
        expect.replay_of(proxy.post(key=f"{key}-{number}"), first)
        assert upstream.effects(f"{key}-{number}") == 1


def test_a_paused_cache_costs_time_and_no_answer(serve, authority, cache, upstream, key):
    proxy = serve(authority.url, cache=cache.url)
    first = expect.first_answer(proxy.post(key=key))
    cache.main.pause()
    expect.replay_of(proxy.post(key=key), first)
    expect.first_answer(proxy.post(key=f"{key}-new"))
    cache.main.resume()
    expect.replay_of(proxy.post(key=key), first)
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-new") == 1


def test_a_waiter_on_another_proxy_gets_the_answer(serve, authority, cache, upstream, key):
    leading, waiting = serve(authority.url, cache=cache.url), serve(authority.url, cache=cache.url)
    hold = Hold()
    first = leading.post_in_background(key=key, script=upstream.script(hold), headers=[("Prefer", "wait=20")])
    hold.wait_reached()
    second = waiting.post_in_background(key=key, headers=[("Prefer", "wait=20")])
    eventually(lambda: cache.main.cli("PUBSUB", "CHANNELS") != "", what="the waiter to subscribe")
    hold.release()
    expect.replay_of(second.result(), first.result())
    assert upstream.effects(key) == 1


def test_a_cache_that_cannot_be_understood_stops_serve(serve, authority):
    with pytest.raises(RefusedToStart, match="(?s)ended with 2.*evict"):
        serve(authority.url, cache="redis://127.0.0.1?evict=yes")


def test_a_purge_removes_the_copies_before_the_records(serve, authority, cache, upstream, key):
    proxy = serve(authority.url, cache=cache.url)
    expect.first_answer(proxy.post(key=key, tenant="leaving"))
    staying = expect.first_answer(proxy.post(key=f"{key}-other", tenant="staying"))
    eventually(lambda: len(copies(cache)) == 2, what="the copies")
    before = set(copies(cache))
    purged = proxy.api("/v1/purge", method="POST", json={"tenant": "leaving"})
    assert purged.status == 200 and purged.json()["removed"] == 1, purged
    assert len(before - set(copies(cache))) == 1
    # Purged, the key is new again; it is not answered from what the cache had.
    expect.first_answer(proxy.post(key=key, tenant="leaving"))
    expect.replay_of(proxy.post(key=f"{key}-other", tenant="staying"), staying)
    assert upstream.effects(key) == 2 and upstream.effects(f"{key}-other") == 1
