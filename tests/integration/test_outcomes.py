"""What an upstream's status says about the effect, and how the upstream can overrule it."""

import pytest

from support import expect
from support.behaviours import answer, numbered_answer

RETRY = [401, 403, 407, 408, 413, 421, 425, 426, 429, 431, 503]
UNKNOWN = [502, 504]
REPLAY = [200, 201, 202, 204, 301, 303, 400, 402, 404, 405, 409, 410, 411, 412, 415, 418, 422, 423, 428, 451, 500, 501,
          505, 507]


def executes_again(proxy, upstream, key, status, path="/orders", headers=()):
    script = upstream.script(answer(status, [("X-A", "1"), *headers], b"first"), numbered_answer)
    first = proxy.post(path, key=key, script=script)
    assert (first.status, first.body, first.header("X-A")) == (status, b"first", "1"), first
    second = expect.first_answer(proxy.post(path, key=key, script=script))
    one, two = upstream.of_script(script)
    assert one.operation_id == two.operation_id == second.operation_id
    assert int(two.epoch) > int(one.epoch)
    expect.replay_of(proxy.post(path, key=key, script=script), second)
    return first


def is_replayed(proxy, upstream, key, status, path="/orders", headers=()):
    script = upstream.script(answer(status, headers, b"" if status == 204 else b"first"), numbered_answer)
    first = expect.first_answer(proxy.post(path, key=key, script=script), status)
    expect.replay_of(proxy.post(path, key=key, script=script), first)
    assert len(upstream.of_script(script)) == 1
    return first


def is_unknown(proxy, upstream, key, status, path="/orders", headers=()):
    script = upstream.script(answer(status, headers, b"first"), numbered_answer)
    first = proxy.post(path, key=key, script=script)
    assert first.status == status, first
    expect.problem(proxy.post(path, key=key, script=script), 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert len(upstream.of_script(script)) == 1
    return first


@pytest.mark.parametrize("status", RETRY)
def test_a_status_that_means_not_done_lets_the_key_run_again(zoo, upstream, key, status):
    executes_again(zoo, upstream, key, status)


@pytest.mark.parametrize("status", UNKNOWN)
def test_a_gateways_failure_is_an_unknown_outcome(zoo, upstream, key, status):
    is_unknown(zoo, upstream, key, status)


@pytest.mark.parametrize("status", REPLAY)
def test_every_other_final_status_is_the_outcome(memory_zoo, upstream, key, status):
    is_replayed(memory_zoo, upstream, key, status)


@pytest.mark.parametrize("check,status", [
    (is_replayed, 429), (executes_again, 404), (executes_again, 418), (is_unknown, 500),
    (executes_again, 503), (is_unknown, 502), (is_replayed, 201), (is_replayed, 400),
])
def test_an_operation_can_say_what_a_status_means(memory_zoo, upstream, key, check, status):
    check(memory_zoo, upstream, key, status, path="/outcomes")


@pytest.mark.parametrize("status", [500, 501, 503, 507])
def test_a_class_of_statuses_can_be_named(memory_zoo, upstream, key, status):
    executes_again(memory_zoo, upstream, key, status, path="/outcome-classes")


@pytest.mark.parametrize("check,status,word", [
    (executes_again, 200, "retry"), (executes_again, 500, "retry"),
    (is_replayed, 503, "replay"), (is_replayed, 502, "replay"), (is_replayed, 429, "replay"),
    (is_unknown, 200, "unknown"), (is_unknown, 503, "unknown"),
])
def test_the_upstream_may_overrule_and_the_client_does_not_see_it(zoo, upstream, key, check, status, word):
    first = check(zoo, upstream, key, status, headers=[("Onceward-Outcome", word), ("Onceward-Ttl", "600")])
    assert not first.headers.has("Onceward-Outcome") and not first.headers.has("Onceward-Ttl")


def test_the_upstreams_instructions_are_not_replayed(zoo, upstream, key):
    zoo.post(key=key, script=upstream.script(answer(200, [("Onceward-Outcome", "replay"), ("Onceward-Ttl", "600")])))
    replay = zoo.post(key=key)
    assert replay.replayed
    assert not replay.headers.has("Onceward-Outcome") and not replay.headers.has("Onceward-Ttl")


@pytest.mark.parametrize("name,value", [("Onceward-Outcome", "nonsense"), ("Onceward-Ttl", "soon"),
                                        ("Onceward-Ttl", "-5")])
def test_an_instruction_that_is_not_understood_changes_nothing(memory_zoo, upstream, key, name, value):
    is_replayed(memory_zoo, upstream, key, 201, headers=[(name, value)])


def test_after_a_release_the_key_still_stands_for_its_request(zoo, upstream, key):
    """Contract silent: a released key "may run again"; here it does, with the request it was made for."""
    script = upstream.script(answer(503, [], b""), numbered_answer)
    zoo.post(key=key, json={"a": 1}, script=script)
    expect.first_answer(zoo.post(key=key, json={"a": 1}, script=script))


def test_a_retry_after_of_the_upstream_reaches_the_client(memory_zoo, upstream, key):
    script = upstream.script(answer(429, [("Retry-After", "17")], b"slow down"))
    response = memory_zoo.post(key=key, script=script)
    assert (response.status, response.header("Retry-After")) == (429, "17")
