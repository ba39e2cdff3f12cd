"""`unique`, `suspect` and `events` of a bulk request are those of each of its items. Effects are counted per case at the
service."""

import collections

import pytest

from support import behaviours, expect
from support.behaviours import answer
from support.onceward import metric_sum
from support.upstream import Upstream
from support.waiting import eventually
from support.zoo import WAIT_NOT

BULK = {"items": "/items", "id": "/id", "request": "POST /pay/{/order}"}
DUPLICATE, SUSPECTED = "DUPLICATE_BUSINESS_OPERATION", "SUSPECTED_DUPLICATE"


def paying(path, **rules):
    return {"name": path.strip("/"), "match": f"POST {path}", "bulk": BULK, "in_progress": WAIT_NOT} | rules


OPERATIONS = [
    paying("/once", unique={"name": "payment", "fields": ["/order"]}),
    {"name": "pay", "match": "POST /pay/{order}", "in_progress": WAIT_NOT, "unique": {"name": "payment", "fields": ["/order"]}},
    paying("/likely", suspect={"fields": ["/amount"], "within": "1h", "action": "reject"}),
    paying("/flagged", suspect={"fields": ["/amount"], "within": "1h", "action": "flag"}),
    paying("/told", events=[{"type": "paid"}, {"on": "failed", "type": "refused"}]),
]


@pytest.fixture(scope="module")
def receiver():
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def proxy(each_store, serve_module, receiver):
    return serve_module(each_store, OPERATIONS, outbox={"sink": f"{receiver.url}/hook", "poll": "100ms"})


def items(*orders, amount=5):
    return {"items": [{"id": order, "order": order, "amount": amount} for order in orders]}


def of(response):
    return {item["id"]: (item["state"], item["code"]) for item in response.json()["items"]}


def effects(upstream, script):
    return collections.Counter(request.target.rsplit("/", 1)[1] for request in upstream.of_script(script))


def test_an_item_whose_fact_has_come_true_under_any_key_is_not_sent(proxy, upstream, key):
    script = upstream.script(answer(200))
    first = proxy.post("/once", key=key, json=items(f"{key}-a", f"{key}-b"), script=script)
    assert set(of(first).values()) == {("succeeded", None)}
    body = items(f"{key}-b", f"{key}-c")
    second = proxy.post("/once", key=f"{key}-2", json=body, script=script)
    assert second.status == 200
    assert of(second) == {f"{key}-b": ("failed", DUPLICATE), f"{key}-c": ("succeeded", None)}
    assert second.json()["items"][0]["operationId"] == first.json()["items"][1]["operationId"]
    expect.replay_of(proxy.post("/once", key=f"{key}-2", json=body, script=script), second)
    # One by one is no way around it, and neither is the other way.
    alone = proxy.post(f"/pay/{key}-a", key=f"{key}-3", json={"order": f"{key}-a"}, script=script)
    assert expect.problem(alone, 409, DUPLICATE)["operationId"] == first.json()["items"][0]["operationId"]
    expect.first_answer(proxy.post(f"/pay/{key}-d", key=f"{key}-4", json={"order": f"{key}-d"}, script=script), 200)
    assert of(proxy.post("/once", key=f"{key}-5", json=items(f"{key}-d"), script=script)) == {f"{key}-d": ("failed", DUPLICATE)}
    assert effects(upstream, script) == {f"{key}-{order}": 1 for order in "abcd"}


def test_an_item_whose_fact_is_not_decided_yet_may_be_repeated(proxy, upstream, key):
    hold = behaviours.Hold(then=answer(422))
    script = upstream.script(hold, answer(200))
    running = proxy.post_in_background("/once", key=key, json=items(key), script=script)
    hold.wait_reached()
    second = proxy.post("/once", key=f"{key}-2", json=items(key), script=script)
    assert second.status == 207 and of(second) == {key: ("retryable", DUPLICATE)}
    hold.release()
    assert of(running.result()) == {key: ("failed", None)}
    assert of(proxy.post("/once", key=f"{key}-2", json=items(key), script=script)) == {key: ("succeeded", None)}
    assert effects(upstream, script) == {key: 2}  # of which the first had none: it was refused


def test_two_items_for_one_fact_are_one_effect(proxy, upstream, key):
    script = upstream.script(answer(200))
    body = {"items": [{"id": "a", "order": key}, {"id": "b", "order": key}]}
    response = proxy.post("/once", key=key, json=body, script=script)
    for _ in range(2):  # the second may have met the first while that was running
        response = proxy.post("/once", key=key, json=body, script=script)
    assert sorted(of(response).values(), key=str) == [("failed", DUPLICATE), ("succeeded", None)]
    assert effects(upstream, script) == {key: 1}


def test_an_item_that_is_suspected_runs_once_it_is_confirmed(proxy, upstream, key):
    script = upstream.script(answer(200))
    amount = key  # nobody else's
    assert of(proxy.post("/likely", key=key, json=items("a", amount=amount), script=script)) == {"a": ("succeeded", None)}
    body = {"items": [{"id": "b", "order": "b", "amount": amount}, {"id": "c", "order": "c", "amount": key + "-other"}]}
    refused = proxy.post("/likely", key=f"{key}-2", json=body, script=script)
    assert refused.status == 207
    assert of(refused) == {"b": ("retryable", SUSPECTED), "c": ("succeeded", None)}
    meant = proxy.post("/likely", key=f"{key}-2", json=body, script=script, headers=[("Onceward-Confirm", "distinct")])
    assert meant.status == 200 and set(of(meant).values()) == {("succeeded", None)}
    expect.replay_of(proxy.post("/likely", key=f"{key}-2", json=body, script=script), meant)
    assert effects(upstream, script) == {"a": 1, "b": 1, "c": 1}


def test_an_item_that_is_flagged_runs_and_is_counted(proxy, upstream, key):
    script = upstream.script(answer(200))
    counted = lambda: metric_sum(proxy.metrics(), "onceward_suspected_duplicates_total", operation="flagged.item")
    before = counted()
    for end in ("", "-2"):
        response = proxy.post("/flagged", key=key + end, json=items("a", amount=key), script=script)
        assert of(response) == {"a": ("succeeded", None)}
    assert effects(upstream, script) == {"a": 2} and counted() == before + 1


def test_each_item_tells_its_own_event_once(proxy, upstream, receiver, key):
    script = upstream.script(lambda exchange: answer(404 if exchange.request.target.endswith("bad") else 200)(exchange))
    body = items("a", "b", "bad")
    first = proxy.post("/told", key=key, json=body, script=script)
    wanted = {f"{item['operationId']}:{'refused' if item['id'] == 'bad' else 'paid'}" for item in first.json()["items"]}
    eventually(lambda: wanted <= {request.key for request in list(receiver.requests)}, what="three events")
    expect.replay_of(proxy.post("/told", key=key, json=body, script=script), first)
    eventually(lambda: proxy.api("/v1/outbox").json()["pending"] == 0)
    told = collections.Counter(request.key for request in receiver.requests)
    assert all(told[one] == 1 for one in wanted)
    assert first.operation_id not in {one.split(":")[0] for one in told}, "the request as a whole tells nothing"
