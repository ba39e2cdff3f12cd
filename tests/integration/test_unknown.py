"""Outcomes that nobody can know: why they are unknown, what is kept as evidence, and what hold, probe and forward make
of them."""

import itertools

import pytest

from support import expect
from support.behaviours import Hold, answer, close, numbered_answer, reset
from support.client import Closed, Malformed
from support.failpoints import arm, needs_failpoints
from support.onceward import metric_sum
from support.waiting import eventually, holds_for
from support.zoo import operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
IN_PROGRESS = "IDEMPOTENCY_REQUEST_IN_PROGRESS"
DONE = b'{"state": "paid", "answer": {"id": 7, "sum": 19.90}}'


def state_of(proxy, operation_id, **who):
    response = proxy.get(f"/.well-known/onceward/operations/{operation_id}", **who)
    assert response.status == 200, response
    return response.json()


# -- causes and evidence ----------------------------------------------------------------------------------------------

@pytest.fixture(scope="module", params=["memory", "file", "postgres"])
def impatient(request, serve_module, upstream, empty_store):
    return serve_module(empty_store(request.param), [operation("/orders")], to={"url": upstream.url, "timeout": "2s"}, workers=1)


HALF = b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf"
CAUSES = [
    ("timeout", lambda: Hold(), 504, {}),
    ("reset", reset, 502, {}),
    ("reset", close, 502, {}),
    ("half_answer", lambda: close(HALF), 502, {"statusSeen": 201, "bytesSeen": len(HALF)}),
    ("half_answer", lambda: close(b"HTTP/1.1 20"), 502, {"bytesSeen": 11}),
    ("upstream_status", lambda: answer(502, [], b"bad gateway"), 502, {"statusSeen": 502, "bytesSeen": 11}),
    ("upstream_status", lambda: answer(504, [], b""), 504, {"statusSeen": 504}),
    ("declared", lambda: answer(200, [("Onceward-Outcome", "unknown")], b"?"), 200, {"statusSeen": 200, "bytesSeen": 1}),
]


@pytest.mark.parametrize("cause,behaviour,status,evidence", CAUSES, ids=[f"{c[0]}-{c[2]}" for c in CAUSES])
def test_every_unknown_outcome_has_a_cause_and_its_evidence(impatient, upstream, key, cause, behaviour, status, evidence):
    counted = metric_sum(impatient.metrics(), "onceward_unknown_total", operation="orders", cause=cause)
    first = impatient.post(key=key, script=upstream.script(behaviour()))
    assert first.status == status
    known = state_of(impatient, first.operation_id)
    assert (known["state"], known["cause"]) == ("unknown", cause)
    assert {name: known[name] for name in ("statusSeen", "bytesSeen") if name in known} == evidence
    assert known["createdAt"] <= known["updatedAt"]
    after = metric_sum(impatient.metrics(), "onceward_unknown_total", operation="orders", cause=cause)
    assert after == counted + 1
    expect.problem(impatient.post(key=key), 409, UNKNOWN)


def test_an_owner_that_died_is_the_cause_and_is_counted_once(serve, upstream, key):
    proxy = serve("file", [operation("/orders")])
    hold = Hold()
    proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    proxy.kill()
    proxy.restart()
    problem = expect.problem(proxy.post(key=key), 409, UNKNOWN)
    assert state_of(proxy, problem["operationId"])["cause"] == "owner_lost"
    for _ in range(2):
        metrics = proxy.metrics()
        assert metric_sum(metrics, "onceward_unknown_total", operation="orders", cause="owner_lost") == 1
        assert metric_sum(metrics, "onceward_unknown", operation="orders") == 1


@needs_failpoints
def test_an_outcome_that_could_not_be_stored_says_so(serve, upstream, key):
    proxy = serve("file", [operation("/orders", lease="1s", max_hold="1s")], env=arm("complete.before:error@1-100000"))
    first = proxy.post(key=key)
    assert (first.status, first.header("Onceward-Stored")) == (201, "false")
    eventually(lambda: state_of(proxy, first.operation_id).get("cause") == "store_failure", what="the owner's word")
    known = state_of(proxy, first.operation_id)
    assert (known["statusSeen"], known["bytesSeen"]) == (201, len(first.body))
    expect.problem(proxy.post(key=key), 409, UNKNOWN)
    metrics = proxy.metrics()
    assert metric_sum(metrics, "onceward_unknown_total", operation="orders", cause="store_failure") == 1
    assert metric_sum(metrics, "onceward_store_errors_total", verb="complete") >= 2


def test_an_operation_without_an_entry_becomes_unknown_as_the_default(serve, upstream, key):
    proxy = serve()
    proxy.post("/some/path", key=key, script=upstream.script(reset()))
    metrics = proxy.metrics()
    assert metric_sum(metrics, "onceward_unknown_total", operation="default", cause="reset") == 1
    assert "/some/path" not in proxy.api("/metrics").body.decode()


# -- probe ------------------------------------------------------------------------------------------------------------

def probing(target, lease="2s", **settings):
    probe = {"request": f"GET {target}", "applied": [200], "not_applied": [404], "every": "200ms", "give_up": "1h"}
    return operation("/payments", on_unknown="probe", probe=probe | settings, lease=lease,
                     in_progress={"wait": "0s", "max_wait": "30s"})


def crash(proxy, upstream, key, **request):
    """The effect has happened, and the proxy dies before it can store the outcome."""
    hold = Hold()
    first = proxy.post_in_background("/payments", key=key, script=upstream.script(hold, numbered_answer), **request)
    hold.wait_reached()
    proxy.kill()
    with pytest.raises((OSError, Closed, Malformed)):
        first.result()
    proxy.restart()


def lose(proxy, upstream, key, **request):
    """The same without a crash: the answer never arrives."""
    script = upstream.script(reset(), numbered_answer)
    expect.problem(proxy.post("/payments", key=key, script=script, **request), 502, UNKNOWN)


def ask_until_told(proxy, key, **request):
    """The store may know a moment before those who ask it on behalf of others have heard of it."""
    def told():
        response = proxy.post("/payments", key=key, **request)
        return response if response.status != 409 else None
    return eventually(told, what="the probe's word to be passed on")


LOSSES = [("file", crash), ("memory", lose), ("postgres", crash)]


@pytest.mark.parametrize("store,lost", LOSSES, ids=["crash", "reset", "crash-postgres"])
def test_a_probe_that_says_applied_gives_the_retry_its_answer(serve, upstream, key, store, lost, empty_store):
    found = upstream.script(answer(200, [("Content-Type", "application/json"), ("X-Paid", "yes")], DONE))
    proxy = serve(empty_store(store), [probing(f"/payments/{{operation_id}}?script={found}")])
    lost(proxy, upstream, key)
    first, = upstream.of_key(key)
    assert eventually(lambda: state_of(proxy, first.operation_id)["state"] == "succeeded", what="the probe's word")
    retry = ask_until_told(proxy, key)
    assert (retry.status, retry.body, retry.header("X-Paid")) == (200, DONE, "yes")
    assert retry.replayed and retry.operation_id == first.operation_id
    asked = upstream.of_script(None)
    question = next(r for r in asked if r.target.startswith(f"/payments/{first.operation_id}"))
    assert question.method == "GET" and question.operation_id == first.operation_id and question.epoch == "1"
    assert not question.headers.has("Authorization") and not question.headers.has("Idempotency-Key")
    assert upstream.effects(key) == 1
    assert metric_sum(proxy.metrics(), "onceward_probes_total", operation="payments", answer="applied") == 1


@pytest.mark.parametrize("store,lost", LOSSES, ids=["crash", "reset", "crash-postgres"])
def test_a_probe_that_says_not_applied_lets_the_retry_execute(serve, upstream, key, store, lost, empty_store):
    proxy = serve(empty_store(store), [probing(f"/payments/{{operation_id}}?script={upstream.script(answer(404))}")])
    lost(proxy, upstream, key)
    first, = upstream.of_key(key)
    eventually(lambda: state_of(proxy, first.operation_id)["state"] == "released", what="the probe's word")
    again = expect.first_answer(ask_until_told(proxy, key))
    _, second = upstream.of_key(key)
    assert (second.operation_id, second.epoch) == (first.operation_id, "2")
    expect.replay_of(proxy.post("/payments", key=key), again)


@pytest.mark.parametrize("store,lost", LOSSES, ids=["crash", "reset", "crash-postgres"])
def test_a_probe_that_cannot_tell_leaves_the_key_held_until_it_can(serve, upstream, key, store, lost, empty_store):
    steps = [answer(500), reset(), answer(202), close(HALF), answer(200, [], b"now I know")]
    proxy = serve(empty_store(store), [probing(f"/payments/{{operation_id}}?script={upstream.script(*steps)}", every="100ms")])
    lost(proxy, upstream, key)
    seen = []

    def resolved():
        seen.append(proxy.post("/payments", key=key))
        return seen[-1].replayed

    eventually(resolved, every=0.1, what="the probe to know")
    assert seen[-1].body == b"now I know"
    # Where nobody knows that the owner is dead, its lease has to end first.
    in_doubt = list(itertools.dropwhile(lambda before: before.json()["code"] == IN_PROGRESS, seen[:-1]))
    for before in in_doubt:
        expect.problem(before, 409, UNKNOWN)
    assert in_doubt and upstream.effects(key) == 1


def test_after_give_up_the_key_stays_held_and_someone_is_told(serve, upstream, key):
    probe = upstream.script(answer(503))
    proxy = serve("memory", [probing(f"/payments/{{operation_id}}?script={probe}", every="100ms", give_up="2s")])
    lose(proxy, upstream, key)
    first, = upstream.of_key(key)
    eventually(lambda: "gave up probing" in proxy.logs(), what="the log to say so")

    def questions():
        return sum(r.method == "GET" and first.operation_id in r.target for r in list(upstream.requests))

    asked = questions()
    assert asked >= 1
    expect.problem(proxy.post("/payments", key=key), 409, UNKNOWN)
    holds_for(lambda: questions() == asked, 0.5, what="no more questions")
    assert metric_sum(proxy.metrics(), "onceward_probes_total", operation="payments", answer="gave_up") == 1
    assert state_of(proxy, first.operation_id)["state"] == "unknown"
    assert proxy.logs().count("gave up probing") == 1


def test_a_retry_waits_for_a_due_probe_within_its_own_limit(serve, upstream, key):
    hold = Hold(then=answer(200, [], b"found out"))
    probe = upstream.script(hold)
    proxy = serve("memory", [probing(f"/payments/{{operation_id}}?script={probe}")])
    lose(proxy, upstream, key)
    hold.wait_reached()  # somebody asks
    expect.problem(proxy.post("/payments", key=key), 409, UNKNOWN)  # has no time
    patient = proxy.post_in_background("/payments", key=key, headers=[("Prefer", "wait=30")])
    expect.problem(proxy.post("/payments", key=key, json={"other": 1}), 422,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert not patient.done
    hold.release()
    assert patient.result().body == b"found out" and patient.result().replayed
    assert upstream.effects(key) == 1


def test_a_probe_may_ask_by_key_tenant_and_what_the_body_says_also_after_a_crash(serve, upstream, key):
    found = upstream.script(answer(200, [], b"by key"))
    proxy = serve("file", [probing(f"/payments/by-key/{{key}}/{{tenant}}/{{/order/id}}?script={found}")])
    who = {"tenant": "acme & sons", "authorization": "Bearer a"}
    crash(proxy, upstream, key, json={"order": {"id": "o/1"}}, **who)
    eventually(lambda: state_of(proxy, upstream.of_key(key)[0].operation_id, **who)["state"] == "succeeded",
               what="the probe's word")
    target = f"/payments/by-key/{key}/acme%20%26%20sons/o%2F1?script={found}"
    assert any(request.target == target for request in upstream.requests)
    retry = ask_until_told(proxy, key, json={"order": {"id": "o/1"}}, **who)
    assert retry.body == b"by key", retry
    proxy.stop()
    assert key not in proxy.logs() and "acme" not in proxy.logs()


def test_a_part_of_the_answer_can_be_what_is_replayed(serve, upstream, key):
    found = upstream.script(answer(200, [("X-Internal", "1")], DONE))
    proxy = serve("memory", [probing(f"/payments/{{operation_id}}?script={found}", response="/answer", status=201)])
    lose(proxy, upstream, key)
    retry = eventually(lambda: replay(proxy, key), what="a replay")
    assert (retry.status, retry.body) == (201, b'{"id": 7, "sum": 19.90}')
    assert retry.header("Content-Type") == "application/json" and not retry.headers.has("X-Internal")


def replay(proxy, key):
    response = proxy.post("/payments", key=key)
    return response if response.replayed else None


def test_a_late_answer_after_the_probe_changes_nothing(serve, upstream, key):
    proxy = serve("memory", [probing(f"/payments/{{operation_id}}?script={upstream.script(answer(200, [], b'probe'))}",
                                      lease="30s")], to={"url": upstream.url, "timeout": "2s"})
    hold = Hold(then=answer(201, [], b"late"))
    expect.problem(proxy.post("/payments", key=key, script=upstream.script(hold)), 504, UNKNOWN)
    eventually(lambda: replay(proxy, key), what="the probe's word")
    hold.release()
    holds_for(lambda: proxy.post("/payments", key=key).body == b"probe", 0.3)
    assert upstream.effects(key) == 1


def test_probes_begin_and_end_with_a_reload(serve, upstream, key):
    proxy = serve("memory", [operation("/payments", in_progress={"wait": "0s"})])
    lose(proxy, upstream, key)
    expect.problem(proxy.post("/payments", key=key), 409, UNKNOWN)
    proxy.config["operations"] = [probing(f"/payments/{{operation_id}}?script={upstream.script(answer(200, [], b'x'))}")]
    proxy.write_config()
    proxy.reload()
    assert eventually(lambda: replay(proxy, key), what="the probe's word").body == b"x"
