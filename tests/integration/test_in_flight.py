"""Duplicates that come while the first request is still running."""

import base64
import threading
import time
import uuid

import pytest

from support import behaviours, expect
from support.behaviours import Hold
from support.client import Connection
from support.onceward import json_bytes, request_bytes
from support.waiting import eventually

CALLERS = 20


def all_at_once(count, action):
    """Runs `action` in that many threads that begin together; the answers come back as they arrive."""
    barrier, results, lock = threading.Barrier(count), [], threading.Lock()

    def run():
        barrier.wait()
        result = action()
        with lock:
            results.append(result)

    for _ in range(count):
        threading.Thread(target=run, daemon=True).start()
    return results


def test_of_many_callers_that_may_not_wait_one_executes_and_the_others_get_409(zoo, upstream, key):
    hold = Hold()
    script = upstream.script(hold)
    results = all_at_once(CALLERS, lambda: zoo.post("/reject", key=key, script=script))
    eventually(lambda: len(results) == CALLERS - 1, what="all but the first to be answered")
    hold.release()
    eventually(lambda: len(results) == CALLERS, what="the first to be answered")
    assert sorted(result.status for result in results) == [201] + [409] * (CALLERS - 1)
    for result in results:
        if result.status == 409:
            expect.problem(result, 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    assert upstream.effects(key) == 1


def test_of_many_callers_that_wait_all_get_the_same_answer(zoo, upstream, key):
    hold = Hold()
    script = upstream.script(hold)
    results = all_at_once(CALLERS, lambda: zoo.post("/wait", key=key, script=script))
    hold.wait_reached()
    hold.release()
    eventually(lambda: len(results) == CALLERS, what="everybody to be answered")
    firsts = [result for result in results if not result.replayed]
    assert len(firsts) == 1
    for result in results:
        if result.replayed:
            expect.replay_of(result, firsts[0])
    assert upstream.effects(key) == 1


# The operation would wait for 20 seconds by itself, and the other one not at all but never longer than 3.
@pytest.mark.parametrize("path,prefer,at_least,at_most", [("/wait", "wait=1", 0.9, 15), ("/wait", "wait=0", 0, 15),
                                                          ("/capped", "wait=60", 2.9, 30)])
def test_a_clients_preference_to_wait_is_honoured_and_capped(memory_zoo, upstream, key, path, prefer, at_least, at_most):
    hold = Hold()
    first = memory_zoo.post_in_background(path, key=key, script=upstream.script(hold))
    hold.wait_reached()
    began = time.monotonic()
    response = memory_zoo.post(path, key=key, headers=[("Prefer", prefer)])
    waited = time.monotonic() - began
    hold.release()
    expect.problem(response, 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    assert at_least <= waited <= at_most
    assert first.result().status == 201


def test_a_preferred_wait_ends_with_the_replay(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/reject", key=key, script=upstream.script(hold))
    hold.wait_reached()
    second = zoo.post_in_background("/reject", key=key, headers=[("Prefer", "respond-async, wait=30")])
    hold.release()
    expect.replay_of(second.result(), first.result())


def test_those_who_wait_for_a_released_key_execute_it_once(zoo, upstream, key):
    hold = Hold(then=behaviours.answer(429))
    script = upstream.script(hold, behaviours.numbered_answer)
    first = zoo.post_in_background("/wait", key=key, script=script)
    hold.wait_reached()
    results = all_at_once(5, lambda: zoo.post("/wait", key=key, script=script))
    hold.release()
    assert first.result().status == 429
    eventually(lambda: len(results) == 5, what="the waiters to be answered")
    assert [result.status for result in results] == [201] * 5
    assert upstream.effects(key) == 2


def test_those_who_wait_for_an_unknown_outcome_get_409(zoo, upstream, key):
    hold = Hold(then=behaviours.reset())
    script = upstream.script(hold)
    first = zoo.post_in_background("/wait", key=key, script=script)
    hold.wait_reached()
    results = all_at_once(3, lambda: zoo.post("/wait", key=key))
    hold.release()
    expect.problem(first.result(), 502, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    eventually(lambda: len(results) == 3, what="the waiters to be answered")
    for result in results:
        expect.problem(result, 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert upstream.effects(key) == 1


def test_a_rejected_duplicate_changes_nothing(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/reject", key=key, json={"a": 1}, script=upstream.script(hold))
    hold.wait_reached()
    for _ in range(3):
        expect.problem(zoo.post("/reject", key=key, json={"a": 1}), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
        assert zoo.post("/reject", key=key, json={"a": 2}).status == 422
    hold.release()
    expect.replay_of(zoo.post("/reject", key=key, json={"a": 1}, headers=[("Prefer", "wait=30")]), first.result())
    assert upstream.effects(key) == 1


def test_a_waiter_that_leaves_disturbs_nobody(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background("/wait", key=key, script=upstream.script(hold))
    hold.wait_reached()
    with zoo.connect() as connection:
        connection.send(request_bytes("POST", "/wait", key=key, json={"amount": 100}))
    hold.release()
    expect.replay_of(zoo.post("/wait", key=key), first.result())
    assert upstream.effects(key) == 1


def test_accept_answers_202_with_the_operations_location(zoo, upstream, key):
    hold = Hold()
    who = {"tenant": "t1", "authorization": "Bearer a"}
    first = zoo.post_in_background("/accept", key=key, script=upstream.script(hold), **who)
    hold.wait_reached()
    accepted = zoo.post("/accept", key=key, **who)
    assert accepted.status == 202, accepted
    location = expect.problem_path(accepted.header("Location"))
    operation_id = upstream.of_key(key)[0].operation_id
    assert location == f"/.well-known/onceward/operations/{operation_id}"
    running = zoo.get(location, **who)
    assert (running.status, running.json()["state"]) == (200, "processing"), running
    for stranger in ({"tenant": "t2", "authorization": "Bearer a"}, {"tenant": "t1", "authorization": "Bearer b"},
                     {"tenant": "t1"}, {}):
        assert zoo.get(location, **stranger).status == 404
    hold.release()
    answer = first.result()
    done = eventually(lambda: finished(zoo.get(location, **who)), what="the operation to be final")
    assert done["state"] == "succeeded"
    stored = done["response"]
    assert (stored["status"], base64.b64decode(stored["body"])) == (answer.status, answer.body)
    assert ["X-Number", answer.header("X-Number")] in stored["headers"]
    assert accepted.json()["operationId"] == operation_id and accepted.header("Retry-After")
    expect.replay_of(zoo.post("/accept", key=key, **who), answer)
    assert zoo.get(location, tenant="t2").status == 404
    assert upstream.effects(key) == 1


def finished(response):
    assert response.status == 200, response
    members = response.json()
    return members if members["state"] != "processing" else None


def test_a_thousand_keys_raced_by_eight_callers_each_are_a_thousand_effects(zoo, upstream):
    keys, callers, at_once = 1000, 8, 8
    run = uuid.uuid4().hex
    connections = [[Connection(zoo.port) for _ in range(callers)] for _ in range(at_once)]
    for batch in range(0, keys, at_once):
        names = [f"{run}-{batch + n}" for n in range(at_once)]
        for name, group in zip(names, connections):
            data = request_bytes("POST", "/wait", key=name, json={"key": name})
            for connection in group:
                connection.send(data)
        for name, group in zip(names, connections):
            answers = [connection.read("POST") for connection in group]
            assert {answer.status for answer in answers} == {201}
            assert len({answer.body for answer in answers}) == 1
            assert sum(not answer.replayed for answer in answers) == 1
    for group in connections:
        for connection in group:
            connection.close()
    assert [upstream.effects(f"{run}-{n}") for n in range(keys)] == [1] * keys


def test_two_requests_racing_for_one_key_one_executes_and_the_other_is_told_apart(zoo, upstream, key):
    bodies = [{"amount": number % 2} for number in range(CALLERS)]
    left, lock = list(bodies), threading.Lock()

    def post():
        with lock:
            body = left.pop()
        return body, zoo.post("/wait", key=key, json=body)

    results = all_at_once(CALLERS, post)
    eventually(lambda: len(results) == CALLERS, what="everybody to be answered")
    request, = upstream.of_key(key)
    for body, response in results:
        assert response.status == (201 if json_bytes(body) == request.body else 422), response
    assert sum(response.status == 201 and not response.replayed for _, response in results) == 1
