"""How long outcomes and receipts are kept."""

import time

from support import expect
from support.behaviours import answer, numbered_answer, reset
from support.waiting import eventually, holds_for


def lasts(proxy, upstream, key, path, script, at_least=0.9):
    """Polls until the answer is not the replay any more; fails if that was too early. The answer that came instead."""
    began = time.monotonic()
    first = expect.first_answer(proxy.post(path, key=key, script=script))

    def instead():
        response = proxy.post(path, key=key, script=script)
        if response.replayed:
            expect.replay_of(response, first)
            return None
        return response

    changed = eventually(instead, every=0.05, what="the record to expire")
    assert time.monotonic() - began >= at_least, "expired too early"
    return first, changed


def test_after_its_ttl_a_key_executes_anew(zoo, upstream, key):
    first, second = lasts(zoo, upstream, key, "/ttl", upstream.script(numbered_answer))
    expect.first_answer(second)
    assert second.operation_id != first.operation_id or int(upstream.of_key(key)[1].epoch) > 1
    assert upstream.effects(key) == 2


def test_the_upstream_may_shorten_the_ttl(zoo, upstream, key):
    script = upstream.script(answer(201, [("Onceward-Ttl", "1")], b"brief"))
    first, second = lasts(zoo, upstream, key, "/orders", script)
    assert not first.headers.has("Onceward-Ttl")
    assert upstream.effects(key) == 2 and second.status == 201


def test_with_a_receipt_an_expired_key_is_410_and_never_executes(zoo, upstream, key):
    first, second = lasts(zoo, upstream, key, "/receipt", upstream.script(numbered_answer))
    for response in (second, zoo.post("/receipt", key=key)):
        problem = expect.problem(response, 410, "IDEMPOTENCY_RECORD_EXPIRED")
        assert problem["operationId"] == first.operation_id
    assert upstream.effects(key) == 1


def test_a_receipt_ends_too(zoo, upstream, key):
    script = upstream.script(numbered_answer)
    began = time.monotonic()
    _, second = lasts(zoo, upstream, key, "/short-receipt", script)
    expect.problem(second, 410, "IDEMPOTENCY_RECORD_EXPIRED")
    eventually(lambda: zoo.post("/short-receipt", key=key, script=script).status == 201, every=0.05,
               what="the receipt to end")
    assert time.monotonic() - began >= 2.8, "ttl and receipt together last three seconds"
    assert upstream.effects(key) == 2


def test_a_record_that_is_not_final_outlives_any_ttl(zoo, upstream, key):
    zoo.post("/ttl", key=key, script=upstream.script(reset()))
    holds_for(lambda: expect.problem(zoo.post("/ttl", key=key), 409, "IDEMPOTENCY_OUTCOME_UNKNOWN"), 2.5, every=0.1)
    assert upstream.effects(key) == 1
