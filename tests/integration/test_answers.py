"""CONTRACT 4, the first table: what a client gets, row by row."""

import pytest

from support import behaviours, expect
from support.behaviours import Hold


def test_the_first_answer_is_the_upstreams_plus_the_operation_id(zoo, upstream, key):
    script = upstream.script(behaviours.answer(201, [("Server", "own/1.0"), ("X-A", "1"), ("Location", "/orders/7")],
                                               b"made"))
    response = expect.first_answer(zoo.post(key=key, script=script))
    assert response.body == b"made"
    assert response.headers.without("Onceward-Operation-Id", "Content-Length", "Connection", "Keep-Alive", "Date") == [
        ("Server", "own/1.0"), ("X-A", "1"), ("Location", "/orders/7")]


def test_a_duplicate_of_a_stored_outcome_is_replayed_and_has_no_effect(zoo, upstream, key):
    first = expect.first_answer(zoo.post(key=key))
    for _ in range(3):
        expect.replay_of(zoo.post(key=key), first)
    assert upstream.effects(key) == 1


def test_a_different_request_with_the_same_key_is_422(zoo, upstream, key):
    first = expect.first_answer(zoo.post(key=key, json={"amount": 1}))
    expect.problem(zoo.post(key=key, json={"amount": 2}), 422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    expect.replay_of(zoo.post(key=key, json={"amount": 1}), first)
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("status", [400, 409])
def test_the_status_of_a_mismatch_can_be_chosen(memory_zoo, key, status):
    memory_zoo.post(f"/mismatch-{status}", key=key, json={"amount": 1})
    expect.problem(memory_zoo.post(f"/mismatch-{status}", key=key, json={"amount": 2}), status,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")


def test_a_different_request_is_422_also_while_the_first_is_running(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/wait", key=key, json={"amount": 1}, script=upstream.script(hold))
    hold.wait_reached()
    expect.problem(zoo.post("/wait", key=key, json={"amount": 2}), 422,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    hold.release()
    expect.replay_of(zoo.post("/wait", key=key, json={"amount": 1}), first.result())
    assert upstream.effects(key) == 1


def test_a_duplicate_waits_for_the_first_and_replays_it(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/wait", key=key, script=upstream.script(hold))
    hold.wait_reached()
    second = zoo.post_in_background("/wait", key=key)
    hold.release()
    expect.replay_of(second.result(), first.result())
    assert upstream.effects(key) == 1


def test_a_duplicate_that_may_not_wait_gets_409_with_retry_after(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/reject", key=key, script=upstream.script(hold))
    hold.wait_reached()
    problem = expect.problem(zoo.post("/reject", key=key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    hold.release()
    assert problem["operationId"] == first.result().operation_id
    assert upstream.effects(key) == 1


def test_an_unreachable_upstream_is_502_and_leaves_no_record(serve, own_upstream, key):
    proxy = serve(to=own_upstream)
    own_upstream.stop()
    expect.problem(proxy.post(key=key, json={"amount": 1}), 502, "UPSTREAM_UNREACHABLE")
    expect.problem(proxy.post(key=key, json={"amount": 1}), 502, "UPSTREAM_UNREACHABLE")
    expect.problem(proxy.post(key=key, json={"amount": 2}), 502, "UPSTREAM_UNREACHABLE")
    own_upstream.start()
    first = expect.first_answer(proxy.post(key=key, json={"amount": 3}))
    expect.replay_of(proxy.post(key=key, json={"amount": 3}), first)
    assert own_upstream.effects(key) == 1


def test_an_unknown_outcome_is_502_first_and_409_for_every_retry(zoo, upstream, key):
    script = upstream.script(behaviours.reset())
    problem = expect.problem(zoo.post(key=key, script=script), 502, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    for _ in range(2):
        again = expect.problem(zoo.post(key=key), 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
        assert again["operationId"] == problem["operationId"]
    assert upstream.effects(key) == 1
    assert upstream.of_key(key)[0].operation_id == problem["operationId"]


def test_an_unknown_outcome_still_knows_a_different_request(zoo, upstream, key):
    zoo.post(key=key, json={"amount": 1}, script=upstream.script(behaviours.reset()))
    expect.problem(zoo.post(key=key, json={"amount": 2}), 422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")


def test_under_forward_an_unknown_outcome_is_sent_again_with_a_higher_epoch(zoo, upstream, key):
    script = upstream.script(behaviours.reset(), behaviours.numbered_answer)
    expect.problem(zoo.post("/forward", key=key, script=script), 502, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    second = zoo.post("/forward", key=key, script=script)
    assert second.status == 201
    one, two = upstream.of_key(key)
    assert one.operation_id == two.operation_id
    assert int(two.epoch) > int(one.epoch)
    expect.replay_of(zoo.post("/forward", key=key), second)


def test_a_second_key_for_the_same_business_fact_is_409(serve_if_able, upstream, key, other_key):
    proxy = serve_if_able(operations=[{
        "name": "payments", "match": "POST /payments",
        "unique": {"name": "payment-per-order", "fields": ["/order_id"], "keep": "1h", "on_conflict": "reject"}}])
    order = {"order_id": key}
    first = expect.first_answer(proxy.post("/payments", key=key, json=order))
    problem = expect.problem(proxy.post("/payments", key=other_key, json=order), 409, "DUPLICATE_BUSINESS_OPERATION")
    assert problem["operationId"] == first.operation_id
    assert upstream.effects(other_key) == 0


def test_a_suspected_duplicate_under_another_key_is_409_unless_confirmed(serve_if_able, upstream, key, other_key):
    proxy = serve_if_able(operations=[{
        "name": "payments", "match": "POST /payments",
        "suspect": {"fields": ["/customer", "/amount"], "within": "30s", "action": "reject"}}])
    payment = {"customer": "c1", "amount": 5}
    expect.first_answer(proxy.post("/payments", key=key, json=payment))
    expect.problem(proxy.post("/payments", key=other_key, json=payment), 409, "SUSPECTED_DUPLICATE")
    meant = proxy.post("/payments", key=other_key, json=payment, headers=[("Onceward-Confirm", "distinct")])
    expect.first_answer(meant)
    assert (upstream.effects(key), upstream.effects(other_key)) == (1, 1)
