"""A store that fails at chosen moments (CONTRACT 5.6, I5, I6, I10), and the failpoints themselves."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import expect, onceward
from support.behaviours import Hold, answer
from support.failpoints import (IN_PROGRESS, STORE_DOWN, UNKNOWN, arm, check_service, compiled_in, needs_failpoints,
                                was_passed)
from support.waiting import eventually
from support.wire import Closed, Malformed
from support.zoo import WAIT_NOT, operation

OPEN = operation("/open", on_store_failure="open")
SHORT = {"lease": "2s", "max_hold": "3s", "in_progress": WAIT_NOT}
STORES = pytest.mark.parametrize("store", ["memory", "file"])


# -- the failpoints themselves -------------------------------------------------------------------------


def test_the_version_says_whether_failpoints_are_in():
    assert compiled_in() in (True, False)
    assert ("failpoints" in onceward.run("version").stdout) == compiled_in()


@pytest.mark.skipif(compiled_in(), reason="this build has failpoints")
def test_a_build_without_failpoints_refuses_them(serve):
    with pytest.raises(onceward.RefusedToStart, match=r"ended with 2:(.|\n)*ONCEWARD_FAILPOINT.*no failpoints"):
        serve(env=arm("claim.before:kill"))


@needs_failpoints
@pytest.mark.parametrize("plan, complaint", [
    ("claim.before", "'claim.before': not name:action"),
    ("clam.before:kill", "'clam.before:kill': no such point"),
    ("claim.before:explode", "'claim.before:explode': the action is one of"),
    ("send.after:stop,claim.before:kill@0", "'claim.before:kill@0': after @ comes n or n-m"),
])
def test_a_plan_that_makes_no_sense_stops_the_start(serve, plan, complaint):
    with pytest.raises(onceward.RefusedToStart) as refusal:
        serve("file", env=arm(plan))
    assert "ended with 2:" in str(refusal.value) and complaint in str(refusal.value)


# -- a worker that is busy --------------------------------------------------------------------------------


@needs_failpoints
def test_the_upstream_has_its_time_however_long_the_worker_was_busy_before(serve, upstream, key):
    proxy = serve("memory", to={"url": upstream.url, "timeout": "2s"}, env=arm("claim.after:sleep=2500"))
    expect.first_answer(proxy.post(key=key))


@needs_failpoints
@STORES
def test_a_connection_that_the_upstream_closes_while_the_store_thinks_is_not_used(serve, own_upstream, key, store):
    # There is no other place for the connection that replaces it.
    proxy = serve(store, to={"url": own_upstream.url, "max_connections": 1}, workers=1,
                  env=arm("claim.before:sleep=1500@2"))
    expect.first_answer(proxy.post(key=key + "-warm"))
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(proxy.post, key=key)
        eventually(lambda: was_passed(proxy, "claim.before"))
        own_upstream.close_connections()
        expect.first_answer(second.result())
    assert own_upstream.effects(key) == 1


@needs_failpoints
def test_a_new_connection_that_the_upstream_closes_while_the_store_thinks_is_not_used(serve, own_upstream, key):
    proxy = serve(to=own_upstream, workers=1, env=arm("claim.before:sleep=1500"))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(proxy.post, key=key)
        eventually(lambda: was_passed(proxy, "claim.before"))
        eventually(lambda: own_upstream.open_connections == 1)
        own_upstream.close_connections()
        expect.first_answer(first.result())
    assert own_upstream.effects(key) == 1


@needs_failpoints
def test_nothing_is_sent_on_a_replaced_connection_once_the_lease_has_ended(serve, own_upstream, key):
    """Connecting anew takes longer than the lease: others may think that nothing will be sent any more."""
    proxy = serve(operations=[operation("/orders", **SHORT)], to=own_upstream, workers=1,
                  env=arm("claim.before:sleep=1000@2,connect.before:sleep=3000@2"))
    expect.first_answer(proxy.post(key=key + "-warm"))
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(proxy.post, key=key)
        eventually(lambda: was_passed(proxy, "claim.before"))
        own_upstream.close_connections()
        expect.problem(second.result(), 503, STORE_DOWN)
    assert own_upstream.effects(key) == 0


# -- before the claim ----------------------------------------------------------------------------------


@needs_failpoints
@STORES
@pytest.mark.parametrize("point", ["lookup.before", "lookup.after", "claim.before"])
def test_a_store_that_is_down_means_503_and_nothing_forwarded(serve, upstream, key, store, point):
    proxy = serve(store, env=arm(f"{point}:error"))
    for _ in range(3):
        expect.problem(proxy.post(key=key), 503, STORE_DOWN)
    assert upstream.effects(key) == 0
    assert was_passed(proxy, point)
    assert proxy.post("/no-key").status == 201, "what is not guarded needs no store"
    assert proxy.get("/orders/1").status == 200


@needs_failpoints
@STORES
@pytest.mark.parametrize("point", ["lookup.before", "claim.before", "claim.after"])
def test_an_operation_that_fails_open_is_forwarded_without_protection(serve, upstream, key, store, point):
    proxy = serve(store, [OPEN], env=arm(f"{point}:error"))
    first = proxy.post("/open", key=key)
    assert first.status == 201 and not first.replayed
    assert upstream.effects(key) == 1
    assert upstream.of_key(key)[0].epoch is None, "an epoch that no store has given"
    # The connection that the first request left behind spares the next one the lookup, so only a claim that
    # fails is sure to be met by an operation that fails closed.
    if point != "lookup.before":
        expect.problem(proxy.post("/orders", key=key), 503, STORE_DOWN)


@needs_failpoints
def test_observing_goes_on_without_a_store(serve, upstream, key):
    proxy = serve(operations=[operation("/observe", mode="observe")], env=arm("lookup.before:error"))
    assert [proxy.post("/observe", key=key).status for _ in range(2)] == [201, 201]
    assert upstream.effects(key) == 2


# -- the claim's reply is lost (I10) -------------------------------------------------------------------


@needs_failpoints
@STORES
def test_a_claim_whose_reply_was_lost_is_found_by_its_owner(serve, upstream, key, store):
    proxy = serve(store, env=arm("claim.after:error@1"))
    first = expect.first_answer(proxy.post(key=key))
    assert was_passed(proxy, "claim.after")
    assert [request.epoch for request in upstream.of_key(key)] == ["1"]
    expect.replay_of(proxy.post(key=key), first)
    assert upstream.effects(key) == 1


@needs_failpoints
@STORES
def test_a_claim_whose_fate_was_not_learned_is_freed_for_any_request(serve, upstream, key, store):
    proxy = serve(store, env=arm("claim.after:error@1-2,lookup.before:error@2-3"))
    expect.problem(proxy.post(key=key), 503, STORE_DOWN)
    answered = eventually(lambda: success(proxy.post(key=key, json={"another": "request"})), what="the key to be freed")
    assert not answered.replayed
    assert upstream.effects(key) == 1


def success(response):
    if response.status == 201:
        return response
    assert response.json()["code"] in (STORE_DOWN, IN_PROGRESS, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST"), response
    return None


# -- the outcome cannot be stored (5.6) ----------------------------------------------------------------


@needs_failpoints
@STORES
@pytest.mark.parametrize("target", ["/orders", "/open"])
def test_an_outcome_that_cannot_be_stored_yet_is_told_and_replayed_later(serve, upstream, key, store, target):
    proxy = serve(store, [OPEN], env=arm("complete.before:error@1-5"))
    first = expect.first_answer(proxy.post(target, key=key))
    assert first.header("Onceward-Stored") == "false"
    assert first.json()["number"] == upstream.of_key(key)[0].number, "not the true answer"
    later = eventually(lambda: success(proxy.post(target, key=key)), what="the outcome to be stored")
    assert later.replayed and later.body == first.body and later.operation_id == first.operation_id
    assert not later.headers.has("Onceward-Stored")
    assert upstream.effects(key) == 1
    check_service(proxy)


@needs_failpoints
@STORES
def test_while_the_outcome_is_being_stored_a_duplicate_waits_for_it(serve, upstream, key, store):
    proxy = serve(store, [operation("/wait", in_progress={"wait": "20s"})], env=arm("complete.before:error@1-5"))
    first = expect.first_answer(proxy.post("/wait", key=key))
    assert first.header("Onceward-Stored") == "false"
    second = proxy.post("/wait", key=key)
    assert second.replayed and second.body == first.body
    assert upstream.effects(key) == 1


@needs_failpoints
@STORES
@pytest.mark.parametrize("renewals", ["fail too", "go on"])
def test_an_outcome_that_is_never_stored_is_unknown(serve, upstream, key, store, renewals):
    plan = "complete.before:error" + (",renew.before:error" if renewals == "fail too" else "")
    proxy = serve(store, [operation("/short", **SHORT)], env=arm(plan))
    first = expect.first_answer(proxy.post("/short", key=key))
    assert first.header("Onceward-Stored") == "false"
    expect.problem(proxy.post("/short", key=key), 409, IN_PROGRESS)
    unknown = eventually(lambda: unknown_or_none(proxy.post("/short", key=key)), what="the lease to end")
    assert unknown["operationId"] == first.operation_id
    expect.problem(proxy.post("/short", key=key), 409, UNKNOWN)
    assert upstream.effects(key) == 1


def unknown_or_none(response):
    if response.json()["code"] == IN_PROGRESS:
        return None
    return expect.problem(response, 409, UNKNOWN)


@needs_failpoints
def test_a_kill_before_the_outcome_was_stored_leaves_it_unknown(serve, upstream, key):
    proxy = serve("file", env=arm("complete.before:error"))
    first = expect.first_answer(proxy.post(key=key))
    assert first.header("Onceward-Stored") == "false"
    proxy.kill()
    proxy.env = None
    proxy.restart()
    assert expect.problem(proxy.post(key=key), 409, UNKNOWN)["operationId"] == first.operation_id
    assert upstream.effects(key) == 1
    check_service(proxy)


@needs_failpoints
@STORES
def test_a_drain_ends_although_an_outcome_cannot_be_stored(serve, upstream, key, store):
    proxy = serve(store, [operation("/short", **SHORT)], env=arm("complete.before:error"))
    first = expect.first_answer(proxy.post("/short", key=key))
    assert first.header("Onceward-Stored") == "false"
    began = time.monotonic()
    proxy.stop()
    assert time.monotonic() - began < 30
    if store == "file":
        proxy.env = None
        proxy.restart()
        expect.problem(proxy.post("/short", key=key), 409, UNKNOWN)
    assert upstream.effects(key) == 1


@needs_failpoints
@STORES
def test_an_outcome_whose_reply_was_lost_counts_as_stored(serve, upstream, key, store):
    proxy = serve(store, env=arm("complete.after:error@1"))
    first = expect.first_answer(proxy.post(key=key))
    assert was_passed(proxy, "complete.after")
    assert not first.headers.has("Onceward-Stored")
    expect.replay_of(proxy.post(key=key), first)
    assert upstream.effects(key) == 1


@needs_failpoints
@STORES
def test_a_refusal_that_cannot_be_stored_is_told_and_the_retry_executes_later(serve, upstream, key, store):
    proxy = serve(store, env=arm("release.before:error@1-5"))
    script = upstream.script(answer(503, body=b"busy"), answer(201, body=b"done"))
    first = expect.first_answer(proxy.post(key=key, script=script), 503)
    assert (first.body, first.header("Onceward-Stored")) == (b"busy", "false")
    later = eventually(lambda: success(proxy.post(key=key, script=script)), what="the key to be free")
    assert later.body == b"done" and not later.replayed
    assert [request.epoch for request in upstream.of_key(key)] == ["1", "2"]


# -- around the request --------------------------------------------------------------------------------


@needs_failpoints
@STORES
def test_a_client_that_was_cut_off_finds_its_answer(serve, upstream, key, store):
    proxy = serve(store, env=arm("answer.before:error@1-3"))
    for _ in range(3):
        with pytest.raises((OSError, Closed, Malformed)):
            proxy.post(key=key)
    found = proxy.post(key=key)
    assert found.status == 201 and found.replayed
    assert upstream.effects(key) == 1


@needs_failpoints
@STORES
def test_a_slow_store_holds_the_answer_back(serve, upstream, key, store):
    """I2: not a byte before the outcome is durable."""
    proxy = serve(store, env=arm("complete.before:sleep=400"))
    began = time.monotonic()
    first = expect.first_answer(proxy.post(key=key))
    assert time.monotonic() - began >= 0.4
    assert not first.headers.has("Onceward-Stored")
    expect.replay_of(proxy.post(key=key), first)


@needs_failpoints
@STORES
def test_a_slow_store_holds_the_request_back(serve, upstream, key, store):
    """I1: not a byte before the claim is durable."""
    proxy = serve(store, env=arm("claim.before:sleep=400"))
    began = time.monotonic()
    hold = Hold()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    assert time.monotonic() - began >= 0.4
    hold.release()
    expect.first_answer(first.result())


@needs_failpoints
@STORES
def test_a_purge_that_fails_is_tried_again(serve, upstream, key, store):
    proxy = serve(store, [operation("/ttl", ttl="500ms")], env=arm("purge.before:error@1,purge.after:error@1"))
    expect.first_answer(proxy.post("/ttl", key=key))
    eventually(lambda: failed_purges(proxy) == 2, what="both purges to fail")
    eventually(lambda: not proxy.post("/ttl", key=key).replayed, what="the record to expire")
    assert upstream.effects(key) == 2
    check_service(proxy)


def failed_purges(proxy):
    written = proxy.stderr_path.read_text().rpartition("\n")[0]  # without a line that is being written
    lines = [json.loads(line) for line in written.splitlines()]
    return sum("purge failed" in line.values() for line in lines)
