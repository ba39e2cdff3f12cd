"""Bulk requests: one key, many items, each with an identity, a record and an effect of its own."""

import collections
import json
import random
import signal
import threading
import time

import pytest

from support import behaviours, expect
from support.behaviours import answer, numbered_answer
from support.onceward import RefusedToStart, metric_sum, request_bytes
from support.waiting import PATIENCE, eventually, holds_for
from support.wire import Closed, Malformed

PARALLEL = 4


def bulk_operation(path="/cases:approve", **rules):
    bulk = {"items": "/items", "id": "/id", "request": "POST /cases/{/case}/approve", "parallel": PARALLEL}
    return {"name": path.strip("/").replace(":", "."), "match": f"POST {path}", "bulk": bulk} | rules


OPERATIONS = [
    bulk_operation(),
    bulk_operation("/cases:patient", in_progress={"wait": "20s", "max_wait": "30s"}),
    bulk_operation("/cases:accept", in_progress={"wait": "0s", "max_wait": "30s", "then": "accept"}),
    bulk_operation("/cases:short", lease="2s", in_progress={"wait": "0s", "max_wait": "5s"}),
    bulk_operation("/cases:forward", on_unknown="forward"),
    bulk_operation("/cases:brief", ttl="4s"),
    bulk_operation("/cases:few", bulk={"items": "/items", "id": "/id", "request": "POST /x/{/case}", "max_items": 3}),
]


class Service:
    """Approves cases: counts what it was asked for, and answers case by case as it is told."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.of_case = collections.defaultdict(lambda: numbered_answer)
        self.at_work = self.most_at_work = 0
        self._lock = threading.Lock()
        self.script = upstream.script(self)

    def __call__(self, exchange):
        with self._lock:
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            return self.of_case[self.case_of(exchange.request)](exchange)
        finally:
            with self._lock:
                self.at_work -= 1

    @staticmethod
    def case_of(request):
        return request.target.split("?")[0].split("/")[2]

    @property
    def requests(self):
        return self.upstream.of_script(self.script)

    def effects(self):
        return collections.Counter(self.case_of(request) for request in self.requests)


@pytest.fixture
def service(upstream):
    return Service(upstream)


def items(*cases):
    return {"items": [{"id": f"i{case}", "case": case} for case in cases]}


def post(proxy, service, key, body, path="/cases:approve", **options):
    return proxy.post(path, key=key, json=body, script=service.script, **options)


def states(response):
    return {item["id"]: item["state"] for item in response.json()["items"]}


def records(proxy, operation):
    response = proxy.api(f"/v1/records?operation={operation}&limit=1000")
    assert response.status == 200, response
    return response.json()["records"]


def test_each_item_is_one_request_with_a_key_of_its_own(proxy, service, key):
    response = post(proxy, service, key, items(1, 2, 3), tenant="t1", authorization="Bearer b")
    expect.first_answer(response, 200)
    assert response.header("Content-Type") == "application/json"
    told = response.json()
    assert [item["id"] for item in told["items"]] == ["i1", "i2", "i3"]
    assert told["summary"] == {"total": 3, "succeeded": 3, "failed": 0, "retryable": 0, "unknown": 0, "expired": 0}
    sent = {Service.case_of(request): request for request in service.requests}
    assert set(sent) == {"1", "2", "3"} and len(service.requests) == 3
    assert len({request.key for request in sent.values()} - {key}) == 3
    for item, case in zip(told["items"], (1, 2, 3)):
        request = sent[str(case)]
        assert (request.method, request.target) == ("POST", f"/cases/{case}/approve")
        assert json.loads(request.body) == {"id": f"i{case}", "case": case}
        assert request.headers.get("X-Tenant-ID") == "t1"
        assert request.headers.get("Authorization") == "Bearer b"
        assert request.headers.get("Content-Type") == "application/json"
        assert request.headers.get("traceparent")
        assert item == {"id": f"i{case}", "state": "succeeded", "status": 201, "body": item["body"],
                        "retryable": False, "operationId": request.operation_id, "code": None}
        assert item["body"]["number"] == request.number


def test_a_retry_is_answered_byte_for_byte_and_sends_nothing(proxy, service, key):
    service.of_case["2"] = answer(409, [("Content-Type", "text/plain")], b"already \"closed\"")
    first = post(proxy, service, key, items(1, 2, 3))
    assert states(first) == {"i1": "succeeded", "i2": "failed", "i3": "succeeded"}
    assert first.json()["items"][1] | {"operationId": None} == {
        "id": "i2", "state": "failed", "status": 409, "body": 'already "closed"', "retryable": False,
        "operationId": None, "code": None}
    assert first.status == 200
    for _ in range(3):
        expect.replay_of(post(proxy, service, key, items(1, 2, 3)), first)
    assert service.effects() == {"1": 1, "2": 1, "3": 1}


def test_other_items_under_the_same_key_are_another_request(proxy, service, key):
    first = post(proxy, service, key, items(1))
    problem = expect.problem(post(proxy, service, key, items(1, 2)), 422,
                             "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert "/items/1/case" in problem["changed"]
    expect.replay_of(post(proxy, service, key, items(1)), first)
    assert service.effects() == {"1": 1}


def test_the_same_item_under_another_key_is_another_effect(proxy, service, key, other_key):
    post(proxy, service, key, items(1))
    post(proxy, service, other_key, items(1))
    assert service.effects() == {"1": 2}


def test_an_item_that_may_be_repeated_is_all_that_a_retry_sends(proxy, service, key):
    service.of_case["2"] = behaviours.in_turn(answer(503, body=b"later"), numbered_answer)
    service.of_case["3"] = answer(404)
    first = post(proxy, service, key, items(1, 2, 3))
    assert (first.status, first.header("Retry-After")) == (207, "1")
    assert states(first) == {"i1": "succeeded", "i2": "retryable", "i3": "failed"}
    assert first.json()["items"][1]["retryable"] is True
    assert first.json()["items"][1]["status"] == 503
    second = post(proxy, service, key, items(1, 2, 3))
    assert second.status == 200 and not second.replayed
    assert states(second) == {"i1": "succeeded", "i2": "succeeded", "i3": "failed"}
    assert second.json()["items"][0] == first.json()["items"][0]
    expect.replay_of(post(proxy, service, key, items(1, 2, 3)), second)
    assert service.effects() == {"1": 1, "2": 2, "3": 1}
    epochs = [request.epoch for request in service.requests if Service.case_of(request) == "2"]
    assert epochs == ["1", "2"]


def test_retried_for_longer_than_its_records_live_nothing_is_sent_twice(proxy, service, key):
    # Each retry keeps the key alive, but not the records of the items that are done.
    service.of_case["2"] = answer(503)
    assert states(post(proxy, service, key, items(1, 2), "/cases:brief")) == {"i1": "succeeded", "i2": "retryable"}

    def last_answer():
        response = post(proxy, service, key, items(1, 2), "/cases:brief")
        return response if response.status == 200 else None

    last = states(eventually(last_answer, within=30, every=0.3))
    assert last["i1"] in ("succeeded", "expired") and last["i2"] == "expired"
    assert service.effects()["1"] == 1


def test_a_raised_ttl_sends_nothing_again(serve, service, key):
    """The records of the items that are done were made for the old one."""
    proxy = serve("file", [bulk_operation(ttl="4s")])
    service.of_case["2"] = answer(503)
    assert states(post(proxy, service, key, items(1, 2))) == {"i1": "succeeded", "i2": "retryable"}
    proxy.config["operations"][0]["ttl"] = "1h"
    proxy.write_config()
    proxy.reload()

    def last_answer():
        response = post(proxy, service, key, items(1, 2))
        return response if response.status == 200 else None

    last = states(eventually(last_answer, within=30, every=0.3))
    assert last["i1"] in ("succeeded", "expired") and last["i2"] == "expired"
    assert service.effects()["1"] == 1


def test_an_answer_cannot_shorten_how_long_an_item_is_remembered(proxy, service, key):
    service.of_case["1"] = answer(200, [("Onceward-Ttl", "1")])
    service.of_case["2"] = answer(503)
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5:
        assert states(post(proxy, service, key, items(1, 2))) == {"i1": "succeeded", "i2": "retryable"}
        time.sleep(0.5)
    assert service.effects()["1"] == 1


def test_an_item_whose_outcome_is_unknown_is_told_and_never_sent_again(proxy, service, key):
    service.of_case["2"] = behaviours.close()
    for _ in range(3):
        response = post(proxy, service, key, items(1, 2))
        assert response.status == 207
        assert states(response) == {"i1": "succeeded", "i2": "unknown"}
        unknown = response.json()["items"][1]
        assert (unknown["retryable"], unknown["code"]) == (False, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert service.effects() == {"1": 1, "2": 1}
    # Once an operator knows, so does the next retry, and that one is final.
    resolved = proxy.api(f"/v1/records/{unknown['operationId']}/resolve", "POST", json={
        "as": "succeeded", "epoch": 1, "reason": "seen", "response": {"status": 200, "json": {"seen": True}}})
    assert resolved.status == 200, resolved
    final = post(proxy, service, key, items(1, 2))
    assert final.status == 200
    assert final.json()["items"][1]["body"] == {"seen": True}
    expect.replay_of(post(proxy, service, key, items(1, 2)), final)
    assert service.effects() == {"1": 1, "2": 1}


def test_on_unknown_forward_is_for_each_item(memory_proxy, service, key):
    service.of_case["2"] = behaviours.in_turn(behaviours.close(), numbered_answer)
    assert states(post(memory_proxy, service, key, items(1, 2), "/cases:forward"))["i2"] == "unknown"
    second = post(memory_proxy, service, key, items(1, 2), "/cases:forward")
    assert second.status == 200 and states(second)["i2"] == "succeeded"
    assert service.effects() == {"1": 1, "2": 2}
    of_second = [request for request in service.requests if Service.case_of(request) == "2"]
    assert len({request.operation_id for request in of_second}) == 1
    assert len({request.key for request in of_second}) == 1


def test_no_more_than_so_many_are_sent_at_a_time(memory_proxy, service, key):
    gate = threading.Semaphore(0)
    service.of_case.default_factory = lambda: after(gate)
    running = memory_proxy.in_background("POST", "/cases:approve", key=key, json=items(*range(20)), script=service.script)
    eventually(lambda: service.at_work == PARALLEL, what="as many as may be")
    holds_for(lambda: service.at_work <= PARALLEL, 0.3)
    gate.release(20)
    assert running.result().json()["summary"]["succeeded"] == 20
    assert service.most_at_work == PARALLEL
    assert len(service.requests) == 20


@pytest.mark.parametrize("body, code", [
    ({"items": [{"id": "a", "case": 1}, {"id": "a", "case": 2}]}, "DUPLICATE_BULK_ITEM"),
    ({"items": [{"id": 1, "case": 1}, {"id": 1.0, "case": 2}]}, "DUPLICATE_BULK_ITEM"),
    ({"items": [{"id": "a", "case": 1}, {"case": 2}]}, "INVALID_BULK_REQUEST"),
    ({"items": [{"id": "a"}]}, "INVALID_BULK_REQUEST"),
    ({"items": [{"id": "a", "case": ".."}]}, "INVALID_BULK_REQUEST"),
    ({"items": {}}, "INVALID_BULK_REQUEST"),
    ({}, "INVALID_BULK_REQUEST"),
    (b"items=1", "INVALID_BULK_REQUEST"),
    (b"", "INVALID_BULK_REQUEST"),
])
def test_a_request_that_is_no_list_of_items_sends_nothing(memory_proxy, service, key, body, code):
    given = {"body": body} if isinstance(body, bytes) else {"json": body}
    response = memory_proxy.request("POST", "/cases:approve", key=key, script=service.script, **given)
    expect.problem(response, 400, code)
    assert memory_proxy.get(f"/.well-known/onceward/problems/{code}").status == 200
    assert service.requests == []
    assert post(memory_proxy, service, key, items(1)).status == 200  # the key is free


def test_too_many_items_are_refused_and_none_are_fine(memory_proxy, service, key, other_key):
    expect.problem(post(memory_proxy, service, key, items(1, 2, 3, 4), "/cases:few"), 413, "REQUEST_TOO_LARGE")
    none = post(memory_proxy, service, other_key, {"items": []}, "/cases:few")
    assert none.status == 200 and none.json()["items"] == []
    expect.replay_of(post(memory_proxy, service, other_key, {"items": []}, "/cases:few"), none)
    assert service.requests == []


def test_a_bulk_request_needs_a_key(memory_proxy, service):
    expect.problem(post(memory_proxy, service, None, items(1)), 400, "MISSING_IDEMPOTENCY_KEY")
    assert service.requests == []


def test_values_are_put_into_the_path_as_one_segment(memory_proxy, service, key):
    response = post(memory_proxy, service, key, {"items": [{"id": 1, "case": "a/b?c=1&d #ä"}]})
    assert response.status == 200, response
    assert service.requests[0].target == "/cases/a%2Fb%3Fc%3D1%26d%20%23%C3%A4/approve"
    assert response.json()["items"][0]["id"] == 1


def test_an_upstream_that_is_down_leaves_no_record(serve, own_upstream, key):
    own_upstream.stop()
    proxy = serve("memory", OPERATIONS, to=own_upstream)
    expect.problem(proxy.post("/cases:approve", key=key, json=items(1, 2)), 502, "UPSTREAM_UNREACHABLE")
    assert records(proxy, "cases.approve") == [] and records(proxy, "cases.approve.item") == []
    own_upstream.start()
    assert proxy.post("/cases:approve", key=key, json=items(7)).status == 200  # even with other items
    assert len(own_upstream.requests) == 1


def test_an_upstream_that_goes_down_leaves_the_rest_for_a_retry(serve, own_upstream, key):
    service = Service(own_upstream)
    proxy = serve("memory", [bulk_operation(bulk={"items": "/items", "id": "/id", "request": "POST /cases/{/case}/approve",
                                                  "parallel": 1})], to=own_upstream)

    def last(exchange):
        own_upstream.refuse()
        return answer(200, [("Connection", "close")])(exchange) and False

    service.of_case["2"] = last
    first = post(proxy, service, key, items(1, 2, 3, 4))
    assert first.status == 207
    assert states(first) == {"i1": "succeeded", "i2": "succeeded", "i3": "retryable", "i4": "retryable"}
    assert {item["code"] for item in first.json()["items"][2:]} == {"UPSTREAM_UNREACHABLE"}
    own_upstream.start()
    service.of_case["2"] = numbered_answer
    second = post(proxy, service, key, items(1, 2, 3, 4))
    assert second.status == 200, second
    assert service.effects() == {"1": 1, "2": 1, "3": 1, "4": 1}


def test_a_client_that_leaves_changes_nothing(proxy, service, key):
    hold = behaviours.Hold()
    service.of_case["2"] = hold
    with proxy.connect() as connection:
        connection.send(request_bytes("POST", "/cases:patient", key, items(*range(1, 9)), script=service.script))
        hold.wait_reached()
    hold.release()
    response = post(proxy, service, key, items(*range(1, 9)), "/cases:patient")
    assert response.replayed and response.json()["summary"]["succeeded"] == 8
    assert set(service.effects().values()) == {1}


def kill_in_the_middle(proxy, service, key, body, path):
    """Killed when some items are done, one is on its way and others have not been begun."""
    hold = behaviours.Hold()
    service.of_case["5"] = hold
    running = proxy.in_background("POST", path, key=key, json=body, script=service.script)
    hold.wait_reached()
    eventually(lambda: len(service.requests) >= 5)
    proxy.kill()
    with pytest.raises((OSError, Closed, Malformed)):
        running.result()
    hold.release()
    proxy.restart()


@pytest.mark.parametrize("store", ["file", "redis", "postgres"])
def test_a_killed_proxy_goes_on_without_repeating_anything(serve, request, service, key, store):
    url = request.getfixturevalue(store).url if store != "file" else store
    proxy = serve(url, OPERATIONS, workers=1)
    body = items(*range(1, 21))
    kill_in_the_middle(proxy, service, key, body, "/cases:short")

    def taken_over():
        response = post(proxy, service, key, body, "/cases:short", headers=[("Prefer", "wait=5")])
        return response if response.status != 409 else None

    response = eventually(taken_over, every=0.1, what="the lease of the one that died to end")
    told = states(response)
    assert set(service.effects().values()) == {1}, service.effects()
    # What was on its way when it died is unknown; everything else is done.
    unknown = {item for item, state in told.items() if state == "unknown"}
    assert "i5" in unknown and len(unknown) <= PARALLEL
    assert set(told.values()) == {"succeeded", "unknown"}
    assert {f"i{case}" for case in range(1, 21) if str(case) not in service.effects()} <= unknown
    again = post(proxy, service, key, body, "/cases:short")
    assert states(again) == told
    assert set(service.effects().values()) == {1}


def after(permits):
    """Answers when there is a permit for it."""
    return lambda exchange: permits.acquire(timeout=PATIENCE) and numbered_answer(exchange)


def test_killed_again_and_again_it_ends_all_the_same(serve, service, key):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    proxy = serve("file", OPERATIONS, workers=1)
    body = items(*range(80))

    for _ in range(4):
        before = len(service.requests)
        more = chance.randrange(3, 15)
        answers = threading.Semaphore(more)  # so many are given before the kill, however long that takes to come
        service.of_case.default_factory = lambda: after(answers)
        running = proxy.in_background("POST", "/cases:patient", key=key, json=body, script=service.script)
        eventually(lambda: len(service.requests) >= before + more, what=f"{more} more requests, seed {seed}")
        proxy.kill()
        with pytest.raises((OSError, Closed, Malformed)):
            running.result()
        answers.release(PARALLEL)  # to nobody
        proxy.restart()
    service.of_case.default_factory = lambda: numbered_answer
    last = post(proxy, service, key, body, "/cases:patient")
    told = states(last)
    effects = service.effects()
    assert set(effects.values()) == {1}, f"seed {seed}: {effects}"
    assert set(told.values()) <= {"succeeded", "unknown"}, f"seed {seed}: {told}"
    assert list(told.values()).count("unknown") <= 4 * PARALLEL
    assert all(effects[item[1:]] == 1 for item, state in told.items() if state == "succeeded"), f"seed {seed}"


def test_a_proxy_that_is_told_to_end_lets_the_items_at_work_finish(serve, service, key):
    proxy = serve("file", OPERATIONS, workers=1)
    body = items(*range(1, 101))
    slow = threading.Event()

    def slowly(exchange):
        slow.wait(0.25)
        return numbered_answer(exchange)

    service.of_case.default_factory = lambda: slowly
    running = proxy.in_background("POST", "/cases:approve", key=key, json=body, script=service.script)
    eventually(lambda: len(service.requests) >= 5)
    proxy.signal(signal.SIGTERM)
    first = running.result()
    assert proxy.ended_with() == 0
    assert first.status == 207, first
    done = first.json()["summary"]["succeeded"]
    assert 5 <= done < 100 and first.json()["summary"]["retryable"] == 100 - done
    assert len(service.requests) == done
    slow.set()
    proxy.restart()
    second = post(proxy, service, key, body)
    assert second.status == 200 and second.json()["summary"]["succeeded"] == 100
    assert set(service.effects().values()) == {1} and len(service.effects()) == 100


def progress_of(proxy, location):
    response = proxy.get(location)
    assert response.status == 200, response
    return response.json()


@pytest.mark.parametrize("path, prefer", [("/cases:accept", None), ("/cases:approve", "respond-async")])
def test_a_long_job_is_accepted_and_shows_how_far_it_is(proxy, service, key, path, prefer):
    hold = behaviours.Hold()
    service.of_case["3"] = hold
    service.of_case["2"] = answer(404)
    headers = [("Prefer", prefer)] if prefer else []
    accepted = post(proxy, service, key, items(1, 2, 3), path, headers=headers)
    assert accepted.status == 202, accepted
    assert accepted.operation_id and accepted.header("Retry-After")
    location = accepted.header("Location")
    assert location.endswith(accepted.operation_id)
    assert accepted.json()["progress"]["total"] == 3
    eventually(lambda: progress_of(proxy, location).get("progress") == {"total": 3, "done": 2, "failed": 1})
    assert progress_of(proxy, location)["state"] == "processing"
    # A retry meanwhile is told the same, and another payload that it is another.
    assert post(proxy, service, key, items(1, 2, 3), path, headers=headers).status == 202
    assert post(proxy, service, key, items(1, 2), path, headers=headers).status == 422
    assert proxy.get(location, tenant="other").status == 404
    hold.release()
    ended = eventually(lambda: (lambda now: now if now["state"] == "succeeded" else None)(progress_of(proxy, location)))
    assert "progress" not in ended and ended["response"]["status"] == 200
    final = post(proxy, service, key, items(1, 2, 3), path, headers=headers)
    assert final.status == 200 and final.replayed
    assert final.json()["summary"] | {"total": 3} == {
        "total": 3, "succeeded": 2, "failed": 1, "retryable": 0, "unknown": 0, "expired": 0}
    assert service.effects() == {"1": 1, "2": 1, "3": 1}


def test_a_job_that_ends_in_time_is_answered_at_once(memory_proxy, service, key):
    response = post(memory_proxy, service, key, items(1), "/cases:accept", headers=[("Prefer", "wait=30")])
    assert response.status == 200 and not response.replayed


def test_many_at_once_with_one_key_are_one_job(proxy, service, key):
    body = items(*range(1, 31))
    running = [proxy.in_background("POST", "/cases:patient", key=key, json=body, script=service.script)
               for _ in range(8)]
    answers = [request.result() for request in running]
    assert {response.status for response in answers} == {200}
    assert len({response.body for response in answers}) == 1
    assert [response.replayed for response in answers].count(False) == 1
    assert set(service.effects().values()) == {1} and len(service.effects()) == 30


def test_a_long_job_whose_items_are_done_already_but_one(memory_proxy, service, key):
    """The retry asks the store for each and sends only what it must."""
    service.of_case["0"] = behaviours.in_turn(answer(503), numbered_answer)
    body = items(*range(300))
    first = post(memory_proxy, service, key, body, timeout=60)
    assert first.status == 207 and first.json()["summary"]["succeeded"] == 299
    second = post(memory_proxy, service, key, body, timeout=60)
    assert second.status == 200 and second.json()["summary"]["succeeded"] == 300
    effects = service.effects()
    assert effects.pop("0") == 2 and set(effects.values()) == {1} and len(effects) == 299


def test_bodies_that_are_too_much_together_are_left_out(serve, service, key):
    proxy = serve("memory", [bulk_operation()], limits={"max_response": "16KiB"})
    service.of_case.default_factory = lambda: answer(200, [("Content-Type", "text/plain")], b"x" * 3000)
    few = post(proxy, service, key + "-few", items(1, 2, 3))
    assert [len(item["body"]) for item in few.json()["items"]] == [3000] * 3
    many = post(proxy, service, key, items(*range(10)))
    assert many.status == 200 and many.json()["summary"]["succeeded"] == 10
    assert {item["body"] for item in many.json()["items"]} == {None}
    expect.replay_of(post(proxy, service, key, items(*range(10))), many)
    one = many.json()["items"][0]["operationId"]
    assert len(proxy.get(f"/.well-known/onceward/operations/{one}").json()["response"]["body"]) == 4000


def test_items_are_records_that_operators_can_see(serve, upstream, service, key):
    proxy = serve("memory", [bulk_operation(reference="/case")])
    response = post(proxy, service, key, items(1, 2))
    whole, = records(proxy, "cases.approve")
    of_items = records(proxy, "cases.approve.item")
    assert whole["operation_id"] == response.operation_id and whole["state"] == "succeeded"
    assert {record["operation_id"] for record in of_items} == {item["operationId"] for item in response.json()["items"]}
    assert {record["reference"] for record in of_items} == {"1", "2"}
    assert "reference" not in whole
    metrics = proxy.metrics()
    assert metric_sum(metrics, "onceward_upstream_seconds_count", operation="cases.approve.item") == 2
    assert metric_sum(metrics, "onceward_claims_total", operation="cases.approve", outcome="granted") == 1
    policy = proxy.get("/.well-known/onceward/policy").json()["operations"][0]
    assert policy["bulk"]["request"] == "POST /cases/{/case}/approve" and policy["key"]["required"] is True


def test_what_does_not_go_together_is_said_at_the_start(serve):
    with pytest.raises(RefusedToStart, match=r"onceward.yaml:\d+:\d+: a bulk request cannot be observed"):
        serve("memory", [bulk_operation(mode="observe")])


def test_a_bulk_request_that_is_switched_off_is_passed_on_as_it_is(serve, upstream, service, key):
    proxy = serve("memory", [bulk_operation(mode="off")])
    service.of_case.default_factory = lambda: numbered_answer
    response = proxy.post("/cases:approve", key=key, json=items(1, 2))
    assert response.json()["target"] == "/cases:approve"
    assert upstream.effects(key) == 1
