"""`observe` only looks, `off` does not even look."""

import pytest

from support import behaviours, expect
from support.onceward import metric_sum
from support.zoo import operation


def test_observe_never_replays(zoo, upstream, key):
    answers = [zoo.post("/observe", key=key) for _ in range(3)]
    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.body for answer in answers}) == 3
    assert not any(answer.headers.has("Idempotent-Replayed") for answer in answers)
    assert upstream.effects(key) == 3


@pytest.mark.parametrize("value", [None, "", '"broken', "a,b", "k" * 300])
def test_observe_never_refuses_a_key(memory_zoo, value):
    assert memory_zoo.post("/observe", key=value).status == 201


def test_observe_never_refuses_another_request(memory_zoo, upstream, key):
    assert [memory_zoo.post("/observe", key=key, json={"n": n}).status for n in range(3)] == [201] * 3
    assert upstream.effects(key) == 3


def test_observe_never_holds_an_unknown_outcome(memory_zoo, upstream, key):
    memory_zoo.post("/observe", key=key, script=upstream.script(behaviours.answer(502)))
    assert memory_zoo.post("/observe", key=key).status == 201


def test_observe_never_makes_anyone_wait(memory_zoo, upstream, key):
    hold = behaviours.Hold()
    first = memory_zoo.post_in_background("/observe", key=key, script=upstream.script(hold))
    hold.wait_reached()
    assert memory_zoo.post("/observe", key=key).status == 201
    hold.release()
    assert first.result().status == 201


def test_observe_counts_what_it_would_have_done(serve, key):
    proxy = serve(operations=[operation("/watched", mode="observe")])
    proxy.post("/watched", key=key)
    proxy.post("/watched", key=key)
    proxy.post("/watched", key=key, json={"other": 1})
    metrics = proxy.metrics()
    assert metric_sum(metrics, "onceward_claims_total", operation="watched") >= 1
    assert metric_sum(metrics, "onceward_fingerprint_mismatch_total", operation="watched") == 1
    would = [value for (name, labels), value in metrics.items()
             if value == 1 and dict(labels).get("operation") == "watched" and "replay" in name + str(labels)]
    assert would, metrics


def test_observe_streams_what_is_too_large_to_look_at(serve, upstream, key):
    proxy = serve(operations=[operation("/watched", mode="observe")],
                  limits={"max_request": "4KiB", "max_response": "4KiB"})
    script = upstream.script(behaviours.answer(200, [], b"y" * 50000))
    for _ in range(2):
        response = proxy.post("/watched", key=key, body=b"x" * 50000, script=script)
        assert response.status == 200 and len(response.body) == 50000
    assert [request.length for request in upstream.of_script(script)] == [50000] * 2


def test_observe_passes_on_the_failures_of_the_upstream(memory_zoo, upstream, key):
    for status in (400, 409, 503):
        response = memory_zoo.post("/observe", key=f"{key}-{status}",
                                   script=upstream.script(behaviours.answer(status, [], b"own")))
        assert (response.status, response.body) == (status, b"own")


@pytest.mark.parametrize("value", [None, "k", '"broken', "a,b"])
def test_off_is_pure_pass_through(memory_zoo, upstream, value):
    script = upstream.script(behaviours.numbered_answer)
    for _ in range(2):
        response = memory_zoo.post("/off", key=value, script=script)
        assert response.status == 201 and response.operation_id is None and not response.replayed
    one, two = upstream.of_script(script)
    assert not one.headers.has("Onceward-Operation-Id") and not one.headers.has("Onceward-Epoch")
    assert one.headers.all("Idempotency-Key") == ([value] if value is not None else [])


def test_off_can_be_the_default_and_enforce_the_exception(serve, upstream, key):
    proxy = serve(operations=[operation("/guarded", mode="enforce")], defaults={"mode": "off"})
    assert proxy.post("/free", key=key).operation_id is None
    first = expect.first_answer(proxy.post("/guarded", key=key))
    expect.replay_of(proxy.post("/guarded", key=key), first)


@pytest.mark.parametrize("policy", ["closed", "open"])
def test_a_working_store_is_used_whatever_its_failure_would_mean(serve, upstream, key, policy):
    proxy = serve(operations=[operation("/orders", on_store_failure=policy)])
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    assert not first.headers.has("Onceward-Stored")


@pytest.mark.parametrize("policy,status,effects", [("closed", 503, 0), ("open", 201, 1)])
def test_a_store_that_cannot_be_reached_is_closed_or_open_as_configured(
        serve_if_able, upstream, key, policy, status, effects):
    """Nothing listens at this address: the proxy runs, is not ready, and keeps trying."""
    proxy = serve_if_able("redis://127.0.0.1:1/0", operations=[operation("/orders", on_store_failure=policy)])
    response = proxy.post(key=key)
    if policy == "closed":
        expect.problem(response, 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
    assert response.status == status and upstream.effects(key) == effects
    assert proxy.api("/readyz").status == 503 and proxy.api("/healthz").status == 200
    assert proxy.get("/page").status == 200
