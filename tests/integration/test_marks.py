"""`unique` and `suspect` (CONTRACT 4, 5): one business fact is one effect whatever the key, and what looks like a
duplicate is told, refused or replayed as the operation says. Effects are counted by key."""

import threading
import uuid

import pytest

from support import expect
from support.behaviours import Hold, answer, reset
from support.onceward import metric_sum
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation

DUPLICATE = "DUPLICATE_BUSINESS_OPERATION"
SUSPECTED = "SUSPECTED_DUPLICATE"
FLAG = "Onceward-Suspected-Duplicate"
FIELDS = ["/customer", "/amount"]


def unique(path, **rule):
    return operation(path, in_progress=WAIT_NOT, unique={"name": path.strip("/"), "fields": ["/order"]} | rule)


def suspect(path, action, within="1h"):
    return operation(path, in_progress=WAIT_NOT, suspect={"fields": FIELDS, "within": within, "action": action})


OPERATIONS = [
    unique("/pay"), unique("/pay-replay", on_conflict="replay"), unique("/pay-short", keep="2500ms"),
    unique("/pay-brief") | {"ttl": "300ms"},
    unique("/left", name="shared"), unique("/right", name="shared"),
    suspect("/flag", "flag"), suspect("/reject", "reject"), suspect("/likely", "replay"),
    suspect("/moment", "reject", within="2500ms"),
]


@pytest.fixture(scope="module")
def marked(each_store, serve_module):
    """A proxy with every rule; the tests that use it run once per store."""
    return serve_module(each_store, OPERATIONS)


@pytest.fixture
def order():
    return {"order": str(uuid.uuid4()), "amount": 100}


def duplicate_of(response, first):
    members = expect.problem(response, 409, DUPLICATE)
    assert members["operationId"] == first.operation_id == response.operation_id
    return members


def test_a_second_key_for_the_same_fact_is_refused_with_the_first_operation(marked, upstream, key, order):
    first = expect.first_answer(marked.post("/pay", key=key, json=order))
    duplicate_of(marked.post("/pay", key=key + "-2", json=order), first)
    duplicate_of(marked.post("/pay", key=key + "-3", json=order | {"amount": 7}), first)
    expect.replay_of(marked.post("/pay", key=key, json=order), first)
    expect.first_answer(marked.post("/pay", key=key + "-4", json=order | {"order": key}))
    assert upstream.effects(key) == 1 and upstream.effects(key + "-2") == 0 and upstream.effects(key + "-3") == 0


def test_many_keys_at_once_for_one_fact_are_one_effect(marked, upstream, key, order):
    start, answers = threading.Barrier(12), []

    def pay(number):
        start.wait()
        answers.append(marked.post("/pay", key=f"{key}-{number}", json=order))

    threads = [threading.Thread(target=pay, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(response.status for response in answers) == [201] + [409] * 11
    assert sum(upstream.effects(f"{key}-{number}") for number in range(12)) == 1
    first, = [response for response in answers if response.status == 201]
    for response in answers:
        if response.status == 409:
            duplicate_of(response, first)


def test_a_fact_belongs_to_its_tenant(marked, key, order):
    for tenant in ("t1", "t2", None):
        expect.first_answer(marked.post("/pay", key=key, json=order, tenant=tenant))
    expect.problem(marked.post("/pay", key=key + "-2", json=order, tenant="t2"), 409, DUPLICATE)


def test_operations_that_share_a_rule_share_the_fact(marked, upstream, key, order):
    first = expect.first_answer(marked.post("/left", key=key, json=order))
    duplicate_of(marked.post("/right", key=key, json=order), first)
    assert upstream.effects(key) == 1


def test_a_request_without_the_field_states_no_fact(marked, key):
    for number, body in enumerate([{"amount": 1}, {"order": None}, ["order"], "order"] * 2):
        expect.first_answer(marked.post("/pay", key=f"{key}-{number}", json=body))


def test_the_fact_is_held_while_the_first_is_running(marked, upstream, key, order):
    hold = Hold()
    first = marked.post_in_background("/pay", key=key, json=order, script=upstream.script(hold))
    hold.wait_reached()
    refused = marked.post("/pay", key=key + "-2", json=order)
    hold.release()
    duplicate_of(refused, expect.first_answer(first.result()))


@pytest.mark.parametrize("status", [503, 422, 500])
def test_a_release_or_a_definite_failure_frees_the_fact(marked, upstream, key, order, status):
    assert marked.post("/pay", key=key, json=order, script=upstream.script(answer(status))).status == status
    first = expect.first_answer(marked.post("/pay", key=key + "-2", json=order))
    duplicate_of(marked.post("/pay", key=key + "-3", json=order), first)


def test_a_released_key_meets_the_fact_of_another(marked, upstream, key, order):
    script = upstream.script(answer(503), answer(201))
    assert marked.post("/pay", key=key, json=order, script=script).status == 503
    first = expect.first_answer(marked.post("/pay", key=key + "-2", json=order))
    duplicate_of(marked.post("/pay", key=key, json=order, script=script), first)


def test_an_unknown_outcome_holds_the_fact_until_an_operator_knows(marked, upstream, key, order):
    lost = marked.post("/pay", key=key, json=order, script=upstream.script(reset()))
    expect.problem(lost, 502, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    duplicate_of(marked.post("/pay", key=key + "-2", json=order), lost)
    resolved = marked.api(f"/v1/records/{lost.operation_id}/resolve", "POST",
                          json={"as": "released", "epoch": 1, "reason": "not charged"})
    assert resolved.status == 200, resolved
    expect.first_answer(marked.post("/pay", key=key + "-2", json=order))


def test_an_operator_who_says_that_it_happened_keeps_the_fact(marked, upstream, key, order):
    lost = marked.post("/pay", key=key, json=order, script=upstream.script(reset()))
    resolved = marked.api(f"/v1/records/{lost.operation_id}/resolve", "POST",
                          json={"as": "succeeded", "epoch": 1, "reason": "charged"})
    assert resolved.status == 200, resolved
    duplicate_of(marked.post("/pay", key=key + "-2", json=order), lost)


def test_the_fact_outlives_the_record(marked, upstream, key, order):
    first = expect.first_answer(marked.post("/pay-brief", key=key, json=order))
    gone = f"/v1/records/{first.operation_id}"
    eventually(lambda: marked.api(gone).status == 404, every=0.05, what="the record to end")
    duplicate_of(marked.post("/pay-brief", key=key, json=order), first)
    duplicate_of(marked.post("/pay-brief", key=key + "-2", json=order), first)
    assert upstream.effects(key) == 1 and upstream.effects(key + "-2") == 0


def test_after_its_time_the_fact_may_come_true_again(marked, key, order):
    first = expect.first_answer(marked.post("/pay-short", key=key, json=order))
    duplicate_of(marked.post("/pay-short", key=key + "-2", json=order), first)
    again = eventually(lambda: executed(marked.post("/pay-short", key=key + "-2", json=order)), every=0.05,
                       what="the fact to be forgotten")
    expect.first_answer(again)


def executed(response):
    return response if response.status == 201 else None


def test_the_first_answer_is_given_again_only_to_its_own_caller(marked, upstream, key, order):
    who = {"tenant": "t", "authorization": "Bearer a"}
    first = expect.first_answer(marked.post("/pay-replay", key=key, json=order, **who))
    expect.replay_of(marked.post("/pay-replay", key=key + "-2", json=order, **who), first)
    other = marked.post("/pay-replay", key=key + "-3", json=order, tenant="t", authorization="Bearer b")
    duplicate_of(other, first)
    assert first.body not in other.body
    assert sum(upstream.effects(key + end) for end in ("", "-2", "-3")) == 1


@pytest.fixture
def purchase():
    return {"customer": str(uuid.uuid4()), "amount": 5, "note": "x"}


def test_what_looks_like_a_duplicate_runs_and_is_told(marked, upstream, key, purchase):
    before = metric_sum(marked.metrics(), "onceward_suspected_duplicates_total")
    first = expect.first_answer(marked.post("/flag", key=key, json=purchase))
    assert not first.headers.has(FLAG)
    second = expect.first_answer(marked.post("/flag", key=key + "-2", json=purchase | {"note": "y"}))
    assert second.header(FLAG) == first.operation_id
    third = marked.post("/flag", key=key + "-3", json=purchase, headers=[("Onceward-Confirm", "distinct")])
    assert not expect.first_answer(third).headers.has(FLAG)
    retried = expect.replay_of(marked.post("/flag", key=key, json=purchase), first)
    assert not retried.headers.has(FLAG)
    assert sum(upstream.effects(key + end) for end in ("", "-2", "-3")) == 3
    assert metric_sum(marked.metrics(), "onceward_suspected_duplicates_total") == before + 1


def test_another_caller_operation_or_value_is_no_suspicion(marked, key, purchase):
    expect.first_answer(marked.post("/flag", key=key, json=purchase))
    for number, options in enumerate(({"authorization": "Bearer other"}, {"tenant": "t"},
                                      {"json": purchase | {"amount": 6}}, {"json": {"note": "x"}})):
        response = marked.post("/flag", key=f"{key}-{number}", **({"json": purchase} | options))
        assert not expect.first_answer(response).headers.has(FLAG)
    assert not expect.first_answer(marked.post("/moment", key=key, json=purchase)).headers.has(FLAG)


def test_a_refused_suspicion_runs_once_it_is_confirmed(marked, upstream, key, purchase):
    first = expect.first_answer(marked.post("/reject", key=key, json=purchase))
    refused = marked.post("/reject", key=key + "-2", json=purchase)
    assert expect.problem(refused, 409, SUSPECTED)["operationId"] == first.operation_id
    assert upstream.effects(key + "-2") == 0
    meant = marked.post("/reject", key=key + "-2", json=purchase, headers=[("Onceward-Confirm", "distinct")])
    expect.replay_of(marked.post("/reject", key=key + "-2", json=purchase), expect.first_answer(meant))
    assert upstream.effects(key + "-2") == 1


def test_a_moment_later_nothing_is_suspicious(marked, key, purchase):
    expect.first_answer(marked.post("/moment", key=key, json=purchase))
    expect.problem(marked.post("/moment", key=key + "-2", json=purchase), 409, SUSPECTED)
    later = eventually(lambda: executed(marked.post("/moment", key=key + "-2", json=purchase)), every=0.05,
                       what="the moment to pass")
    expect.first_answer(later)


def test_after_a_failure_the_next_try_is_no_duplicate(marked, upstream, key, purchase):
    assert marked.post("/reject", key=key, json=purchase, script=upstream.script(answer(402))).status == 402
    expect.first_answer(marked.post("/reject", key=key + "-2", json=purchase))


def test_the_like_of_it_can_get_the_first_answer(marked, upstream, key, purchase):
    first = expect.first_answer(marked.post("/likely", key=key, json=purchase))
    expect.replay_of(marked.post("/likely", key=key + "-2", json=purchase), first)
    assert upstream.effects(key + "-2") == 0


def test_facts_survive_a_crash(serve, upstream, key, order):
    proxy = serve("file", [unique("/pay")])
    first = expect.first_answer(proxy.post("/pay", key=key, json=order))
    lost = proxy.post("/pay", key=key + "-lost", json=order | {"order": key}, script=upstream.script(reset()))
    proxy.kill()
    proxy.start()
    duplicate_of(proxy.post("/pay", key=key + "-2", json=order), first)
    duplicate_of(proxy.post("/pay", key=key + "-3", json=order | {"order": key}), lost)


def test_watching_never_refuses(serve, upstream, key, order):
    proxy = serve("memory", [unique("/watched") | {"mode": "observe"}])
    for number in range(2):
        assert proxy.post("/watched", key=f"{key}-{number}", json=order).status == 201
    assert metric_sum(proxy.metrics(), "onceward_claims_total", outcome="duplicate") == 1
