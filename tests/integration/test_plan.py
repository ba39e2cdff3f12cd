"""The test plan that any service with idempotency keys should pass, one test per case, in the order in which one would
read it. Other files go deeper into each; this one can be read in five minutes, and is run on every store."""

import pytest

from support import expect
from support.behaviours import Hold, answer, numbered_answer, reset
from support.client import Closed, Malformed
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
REUSED = "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST"
PAYMENT = {"order": "o1", "amount": 100}
OPERATIONS = [
    operation("/payments", key={"required": True}, in_progress=WAIT_NOT),
    operation("/patient", key={"required": True}, in_progress={"wait": "20s"}),
    operation("/short", ttl="1s", receipt_ttl="1h"),
    operation("/told", events=[{"on": "succeeded", "type": "payment.created"}]),
    operation("/cases", bulk={"items": "/items", "id": "/id", "request": "POST /cases/{/id}/approve"}),
]


@pytest.fixture(scope="module", params=["memory", "file", "postgres"])
def proxy(request, serve_module, upstream, empty_store):
    return serve_module(empty_store(request.param), OPERATIONS, to={"url": upstream.url, "timeout": "2s"},
                        outbox={"sink": f"{upstream.url}/hook", "poll": "100ms"})


def test_1_a_missing_key_is_refused_and_nothing_happens(proxy, upstream):
    before = len(upstream.requests)
    expect.problem(proxy.post("/payments", json=PAYMENT), 400, "MISSING_IDEMPOTENCY_KEY")
    assert len(upstream.requests) == before


@pytest.mark.parametrize("bad", ["", "a,b", '"open', "x" * 256, "tab\there", "ümlaut"])
def test_2_an_invalid_key_is_refused_and_nothing_happens(proxy, upstream, bad):
    before = len(upstream.requests)
    expect.problem(proxy.post("/payments", key=bad, json=PAYMENT), 400, "INVALID_IDEMPOTENCY_KEY")
    assert len(upstream.requests) == before


def test_3_the_first_request_executes_once(proxy, upstream, key):
    expect.first_answer(proxy.post("/payments", key=key, json=PAYMENT))
    assert upstream.effects(key) == 1


def test_4_a_retry_gets_the_same_answer_and_nothing_happens_again(proxy, upstream, key):
    first = expect.first_answer(proxy.post("/payments", key=key, json=PAYMENT))
    for _ in range(3):
        expect.replay_of(proxy.post("/payments", key=key, json=PAYMENT), first)
    assert upstream.effects(key) == 1


def test_5_a_key_used_for_another_request_is_refused_and_says_what_differs(proxy, upstream, key):
    first = proxy.post("/payments", key=key, json=PAYMENT)
    problem = expect.problem(proxy.post("/payments", key=key, json=PAYMENT | {"amount": 200}), 422, REUSED)
    assert problem["changed"] == ["/amount"]
    expect.replay_of(proxy.post("/payments", key=key, json=PAYMENT), first)
    assert upstream.effects(key) == 1


def test_6_of_requests_at_the_same_time_one_executes_and_the_others_wait_or_are_told(proxy, upstream, key):
    hold = Hold()
    first = proxy.post_in_background("/patient", key=key, json=PAYMENT, script=upstream.script(hold))
    hold.wait_reached()
    waiting = [proxy.post_in_background("/patient", key=key, json=PAYMENT) for _ in range(4)]
    expect.problem(proxy.post("/patient", key=key, json=PAYMENT, headers=[("Prefer", "wait=0")]), 409,
                   "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    hold.release()
    for other in waiting:
        expect.replay_of(other.result(), first.result())
    assert upstream.effects(key) == 1


def test_7_a_time_out_is_an_unknown_outcome_and_a_retry_learns_what_became_of_it(proxy, upstream, key):
    hold = Hold()
    lost = expect.problem(proxy.post("/payments", key=key, json=PAYMENT, script=upstream.script(hold)), 504, UNKNOWN)
    again = expect.problem(proxy.post("/payments", key=key, json=PAYMENT), 409, UNKNOWN)
    assert again["operationId"] == lost["operationId"]
    hold.release()  # it was only slow
    late = eventually(lambda: final(proxy.post("/payments", key=key, json=PAYMENT)), what="the late answer")
    assert late.status == 201 and late.replayed and late.operation_id == lost["operationId"]
    assert upstream.effects(key) == 1


def final(response):
    return None if response.status == 409 else response


def test_8_after_a_failure_before_the_effect_a_retry_executes(proxy, upstream, key):
    script = upstream.script(answer(503), answer(201, [], b"done"))
    assert proxy.post("/payments", key=key, json=PAYMENT, script=script).status == 503
    again = expect.first_answer(proxy.post("/payments", key=key, json=PAYMENT, script=script))
    expect.replay_of(proxy.post("/payments", key=key, json=PAYMENT), again)
    assert [request.epoch for request in upstream.of_key(key)] == ["1", "2"]


def test_9_after_a_failure_between_the_effect_and_its_record_nothing_happens_again(proxy, upstream, key):
    script = upstream.script(reset(), answer(201))
    expect.problem(proxy.post("/payments", key=key, json=PAYMENT, script=script), 502, UNKNOWN)
    expect.problem(proxy.post("/payments", key=key, json=PAYMENT, script=script), 409, UNKNOWN)
    assert upstream.effects(key) == 1


def test_9_the_same_when_it_is_the_proxy_that_dies(serve, upstream, key):
    mortal = serve("file", OPERATIONS[:3])
    hold = Hold()
    first = mortal.post_in_background("/payments", key=key, json=PAYMENT, script=upstream.script(hold))
    hold.wait_reached()
    mortal.kill()
    with pytest.raises((OSError, Closed, Malformed)):
        first.result()
    mortal.restart()
    expect.problem(mortal.post("/payments", key=key, json=PAYMENT), 409, UNKNOWN)
    assert upstream.effects(key) == 1


def test_10_an_expired_key_is_not_executed_again_while_its_receipt_is_kept(proxy, upstream, key):
    expect.first_answer(proxy.post("/short", key=key, json=PAYMENT))
    gone = eventually(lambda: expired(proxy.post("/short", key=key, json=PAYMENT)), every=0.05, what="the end of ttl")
    expect.problem(gone, 410, "IDEMPOTENCY_RECORD_EXPIRED")
    assert upstream.effects(key) == 1


def expired(response):
    return response if response.status == 410 else None


CALLERS = [{"tenant": "t1", "authorization": "Bearer a"}, {"tenant": "t2", "authorization": "Bearer a"},
           {"tenant": "t1", "authorization": "Bearer b"}, {"tenant": "t1"}, {"authorization": "Bearer a"}, {}]


def test_11_one_key_of_several_tenants_and_callers_is_several_keys(proxy, upstream, key):
    answers = [expect.first_answer(proxy.post("/payments", key=key, json=PAYMENT, **who)) for who in CALLERS]
    assert upstream.effects(key) == len(CALLERS)
    assert len({response.operation_id for response in answers}) == len(CALLERS)
    for who, first in zip(CALLERS, answers):
        expect.replay_of(proxy.post("/payments", key=key, json=PAYMENT, **who), first)


def test_12_nobody_gets_another_callers_answer_not_even_that_there_is_one(proxy, upstream, key):
    secret = b"account 4711"
    owner, *strangers = CALLERS
    first = proxy.post("/payments", key=key, json=PAYMENT, script=upstream.script(answer(201, [], secret)), **owner)
    page = f"/.well-known/onceward/operations/{first.operation_id}"
    assert proxy.get(page, **owner).json()["state"] == "succeeded"
    for stranger in strangers:
        assert secret not in proxy.post("/payments", key=key, json=PAYMENT, **stranger).body
        differs = proxy.post("/payments", key=key, json={"guess": 1}, **stranger)
        assert differs.status == 422 and secret not in differs.body  # of its own key, just used
        absent = "00000000-0000-7000-8000-000000000000"
        hidden, missing = proxy.get(page, **stranger), proxy.get(page.replace(first.operation_id, absent), **stranger)
        assert (hidden.status, hidden.body) == (missing.status, missing.body) == (404, missing.body)


def test_13_an_event_is_told_under_one_identity_however_often_the_request_is_sent(proxy, upstream, key):
    first = expect.first_answer(proxy.post("/told", key=key, json=PAYMENT))
    event = f"{first.operation_id}:payment.created"
    upstream.wait_for_key(event)
    for _ in range(3):
        expect.replay_of(proxy.post("/told", key=key, json=PAYMENT), first)
    another = expect.first_answer(proxy.post("/told", key=f"{key}-2", json=PAYMENT))
    upstream.wait_for_key(f"{another.operation_id}:payment.created")  # sent after anything that a replay had told
    assert upstream.effects(event) == 1


def test_14_a_bulk_request_sent_again_repeats_only_what_did_not_happen(proxy, upstream, key):
    refusals = [answer(503)]

    def approve(exchange):
        refuses = exchange.request.target == "/cases/b/approve" and refusals
        return (refusals.pop() if refuses else numbered_answer)(exchange)

    script = upstream.script(approve)
    body = {"items": [{"id": "a"}, {"id": "b"}]}
    partly = proxy.post("/cases", key=key, json=body, script=script)
    assert partly.status == 207 and [item["retryable"] for item in partly.json()["items"]] == [False, True]
    whole = proxy.post("/cases", key=key, json=body, script=script)
    assert whole.status == 200 and {item["state"] for item in whole.json()["items"]} == {"succeeded"}
    expect.replay_of(proxy.post("/cases", key=key, json=body, script=script), whole)
    sent = [request.target for request in upstream.of_script(script)]
    assert sorted(sent) == ["/cases/a/approve", "/cases/b/approve", "/cases/b/approve"]
