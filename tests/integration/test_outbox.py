"""CONTRACT 5 `events`, `outbox`: what is committed is told, at least once, under one id, in order per key."""

import base64
import collections
import hashlib
import hmac
import json
import signal
import threading

import pytest

from support import expect
from support.api import Api, new_key
from support.behaviours import Hold, answer, reset
from support.onceward import RefusedToStart, metric_sum, run
from support.upstream import Upstream
from support.waiting import eventually, holds_for
from support.zoo import operation

CREATED, LOST = "order.created", "order.lost"
EVENTS = [{"on": "succeeded", "type": CREATED}, {"on": "failed", "type": LOST}]
OPERATIONS = [operation("/orders", events=EVENTS), operation("/plain"),
              operation("/twice", events=[{"type": "one"}, {"type": "two"}, {"type": "three"}])]


@pytest.fixture
def receiver():
    """Takes webhooks; a request's key is the event's id."""
    made = Upstream()
    yield made
    if not made.ended.is_set():
        made.stop()
    assert not made.malformed, made.malformed


@pytest.fixture(params=["memory", "file", "redis", "postgres"])
def store(request):
    return request.getfixturevalue(request.param).url if request.param in ("redis", "postgres") else request.param


@pytest.fixture
def tell(serve, receiver):
    """Starts a proxy whose events go to the receiver, with short waits."""

    def start(store="memory", operations=OPERATIONS, sink=None, upstream=None, **outbox):
        outbox = {"sink": sink or f"{receiver.url}/hook?a=b", "backoff": "50ms", "max_backoff": "200ms",
                  "timeout": "20s", "poll": "100ms"} | outbox
        return serve(store, operations, to=upstream, outbox=outbox)

    return start


def event_id(response, kind=CREATED):
    return f"{response.header('Onceward-Operation-Id')}:{kind}"


def arrived(receiver, wanted, count=1):
    return eventually(lambda: [r for r in receiver.of_key(wanted)][count - 1:], what=f"{count} of {wanted}")[0]


def told(receiver):
    return collections.Counter(request.key for request in list(receiver.requests))


def counted(proxy, what):
    return metric_sum(proxy.metrics(), f"onceward_outbox_{what}_total")


def is_quiet(proxy):
    status = Api(proxy).get("/v1/outbox").json()
    return status["pending"] == 0


def test_every_committed_outcome_is_told_once_and_a_replay_tells_nothing_new(tell, receiver, upstream, store, key):
    proxy = tell(store)
    first = {n: expect.first_answer(proxy.post(key=f"{key}-{n}", json={"n": n})) for n in range(30)}
    for response in first.values():
        arrived(receiver, event_id(response))
    for n, response in first.items():
        expect.replay_of(proxy.post(key=f"{key}-{n}", json={"n": n}), response)
    assert proxy.post("/plain", key=f"{key}-plain").status == 201
    assert proxy.post(key=f"{key}-released", script=upstream.script(answer(503))).status == 503
    failed = proxy.post(key=f"{key}-failed", script=upstream.script(answer(422, [], b"no")))
    arrived(receiver, event_id(failed, LOST))
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    mine = {event_id(r) for r in first.values()} | {event_id(failed, LOST)}
    holds_for(lambda: told(receiver) == {one: 1 for one in mine}, 0.3, what=lambda: told(receiver))


def test_an_event_is_a_cloud_event_that_carries_the_answer(tell, receiver, upstream, key):
    proxy = tell()
    script = upstream.script(answer(201, [("Content-Type", "application/json"), ("Location", "/orders/7")],
                                    b'{"id": 7, "sum": 10.50}'))
    response = proxy.post(key=key, script=script, tenant="acme")
    request = arrived(receiver, event_id(response))
    assert (request.method, request.target) == ("POST", "/hook?a=b")
    assert request.headers.get("Content-Type") == "application/cloudevents+json"
    assert b'"data":{"id": 7, "sum": 10.50}' in request.body, "as the upstream wrote it"
    event = json.loads(request.body)
    time = event.pop("time")
    assert time.endswith("Z")
    assert event == {
        "specversion": "1.0", "id": event_id(response), "type": CREATED, "source": "/onceward/operations/orders",
        "subject": "orders/7", "operationid": response.header("Onceward-Operation-Id"), "tenant": "acme",
        "datacontenttype": "application/json", "data": {"id": 7, "sum": 10.5}}


def test_webhooks_are_signed_with_the_secret(tell, receiver, tmp_path, key):
    secret = b"0123456789abcdef0123"
    file = tmp_path / "secret"
    file.write_text("whsec_" + base64.b64encode(secret).decode() + "\n")
    proxy = tell(secret_file=str(file))
    wanted = event_id(proxy.post(key=key))
    request = arrived(receiver, wanted)
    stamp = request.headers.get("webhook-timestamp")
    assert request.headers.get("webhook-id") == wanted
    mac = hmac.new(secret, f"{wanted}.{stamp}.".encode() + request.body, hashlib.sha256).digest()
    assert request.headers.get("webhook-signature") == "v1," + base64.b64encode(mac).decode()


def test_the_events_of_one_operation_arrive_in_their_order(tell, receiver, upstream, store, key):
    # Every third delivery fails at first, so that order is not only a matter of luck.
    numbers = iter(range(10_000))
    receiver.default = lambda exchange: (answer(503) if next(numbers) % 3 == 0 else answer(204))(exchange)
    proxy = tell(store)
    operations = [proxy.post("/twice", key=f"{key}-{n}").header("Onceward-Operation-Id") for n in range(12)]
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    order = collections.defaultdict(list)
    for request in receiver.requests:
        operation_id, kind = request.key.split(":")
        if not order[operation_id] or order[operation_id][-1] != kind:
            order[operation_id].append(kind)
    assert dict(order) == {one: ["one", "two", "three"] for one in operations}


def test_events_wait_for_a_receiver_that_is_down(tell, receiver, store, key):
    proxy = tell(store)
    receiver.stop()
    wanted = [event_id(proxy.post(key=f"{key}-{n}")) for n in range(5)]
    eventually(lambda: counted(proxy, "failed") >= 5, what="failed attempts")
    assert not is_quiet(proxy)
    receiver.start()
    for one in wanted:
        arrived(receiver, one)
    eventually(lambda: is_quiet(proxy), what="nothing pending")


def test_poison_is_set_aside_and_sent_when_an_operator_retries_it(tell, receiver, store, key):
    receiver.default = answer(400)
    proxy = tell(store)
    api = Api(proxy)
    wanted = event_id(proxy.post(key=key))
    eventually(lambda: api.get("/v1/outbox").json()["set_aside"] == 1, what="an event set aside")
    assert len(receiver.of_key(wanted)) == 1
    listed = api.get("/v1/outbox/events?state=set_aside").json()["events"]
    assert [event["id"] for event in listed] == [wanted] and listed[0]["last_error"] == "the receiver answered 400"
    receiver.default = answer(204)
    done = api.post("/v1/outbox/retry", {"ids": [wanted], "reason": "repaired"})
    assert done.status == 200 and done.json() == {"retried": 1}
    arrived(receiver, wanted, count=2)
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    assert api.get("/v1/outbox").json() == {"pending": 0, "set_aside": 0, "oldest_pending": None}
    entry = api.audit()["entries"][0]
    assert (entry["action"], entry["events"], entry["retried"]) == ("outbox_retry", [wanted], 1)


def test_an_event_that_fails_too_often_is_set_aside_and_the_next_ones_go_on(tell, receiver, key):
    receiver.default = lambda exchange: answer(500 if exchange.request.key.endswith(":one") else 204)(exchange)
    proxy = tell(attempts=3)
    response = proxy.post("/twice", key=key)
    for kind in ("two", "three"):
        arrived(receiver, event_id(response, kind))
    assert len(receiver.of_key(event_id(response, "one"))) == 3
    assert Api(proxy).get("/v1/outbox").json()["set_aside"] == 1


def test_the_command_shows_the_outbox_and_retries(tell, receiver, key):
    receiver.default = answer(410)
    proxy = tell()
    wanted = event_id(proxy.post(key=key))
    eventually(lambda: Api(proxy).get("/v1/outbox").json()["set_aside"] == 1, what="an event set aside")

    def outbox(*arguments):
        return run("outbox", *arguments, "--config", proxy.path)

    assert json.loads(outbox("status", "--json").stdout) == {"pending": 0, "set_aside": 1, "oldest_pending": None}
    assert [line.split() for line in outbox("status").stdout.splitlines()][1] == ["set", "aside", "1"]
    assert wanted in outbox("list", "--set-aside").stdout
    assert json.loads(outbox("list", "--json").stdout)["id"] == wanted
    assert outbox("retry").returncode == 2
    receiver.default = answer(204)
    assert outbox("retry", "--all", "--reason", "gone is back").stdout == "1 events are due again\n"
    arrived(receiver, wanted, count=2)
    assert outbox("retry", wanted, "--json").stdout == '{"retried":0}\n'
    assert run("outbox", "status", "--api", f"http://127.0.0.1:{proxy.api_port}",
               env={"ONCEWARD_TOKEN": "wrong"}).returncode == 1


def test_events_go_to_a_redis_stream(tell, redis, store, key):
    stream = f"events-{key}"
    proxy = tell(store, sink=f"{redis.url.split('?')[0].rstrip('/')}/0?stream={stream}&maxlen=1000")
    wanted = {event_id(proxy.post(key=f"{key}-{n}")) for n in range(10)}
    eventually(lambda: redis.main.cli("XLEN", stream).endswith("10"), what="ten entries")
    entries = redis.main.cli("XRANGE", stream, "-", "+").splitlines()
    assert {entries[i + 1].strip('" ') for i, word in enumerate(entries) if word.strip('" ') == "id"} == wanted
    assert sum("application/cloudevents+json" in line for line in entries) == 10


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_two_proxies_on_one_store_send_every_event_once(request, tell, receiver, key, kind):
    url = request.getfixturevalue(kind).url
    proxies = [tell(url) for _ in range(2)]
    wanted, lock = set(), threading.Lock()

    def work(number):
        for n in range(25):
            response = proxies[number].post(key=f"{key}-{number}-{n}")
            with lock:
                wanted.add(event_id(response))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wanted) == 50
    eventually(lambda: wanted <= set(told(receiver)), what="all events")
    eventually(lambda: is_quiet(proxies[0]), what="nothing pending")
    assert {one: count for one, count in told(receiver).items() if count != 1 and one in wanted} == {}
    # Who holds a partition sends what either of them wrote to it; how they share the partitions is chance.
    assert sum(counted(proxy, "sent") for proxy in proxies) >= 50


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_a_relay_that_was_away_too_long_writes_nothing_down(request, empty_store, tell, receiver, key, kind):
    """Its partition is another's by then, and what it had begun is the other's to send."""
    url = f"{request.getfixturevalue(kind).url}?prefix={key}:" if kind == "redis" else empty_store(kind)
    first, hold = tell(url, timeout="500ms"), Hold(then=answer(204))
    receiver.default = hold
    wanted = event_id(first.post(key=key))
    hold.wait_reached()
    first.signal(signal.SIGSTOP)
    receiver.default = answer(204)
    second = tell(url, timeout="500ms")
    arrived(receiver, wanted, count=2)
    eventually(lambda: is_quiet(second), what="nothing pending")
    hold.release()
    first.signal(signal.SIGCONT)
    other = event_id(first.post(key=f"{key}-other"))
    arrived(receiver, other)
    eventually(lambda: is_quiet(first), what="nothing pending")
    assert told(receiver) == {wanted: 2, other: 1}
    assert counted(first, "sent") + counted(second, "sent") == 2, "each was settled once"


def test_what_was_committed_just_before_the_end_is_sent_before_it(tell, receiver, key):
    proxy = tell("file")
    wanted = [event_id(proxy.post(key=f"{key}-{n}")) for n in range(3)]
    proxy.stop()
    for one in wanted:
        assert len(receiver.of_key(one)) == 1


def test_events_survive_a_restart_and_another_sink(serve, tell, receiver, key):
    proxy = tell("file", sink="http://127.0.0.1:1/nobody", timeout="500ms")  # whose relay is soon given up
    wanted = event_id(proxy.post(key=key))
    proxy.kill()
    proxy.config["outbox"]["sink"] = f"{receiver.url}/hook"
    proxy.restart()
    arrived(receiver, wanted)


def test_an_operators_word_is_told_too(tell, receiver, upstream, key):
    proxy = tell()
    problem = proxy.post(key=key, script=upstream.script(reset())).json()
    wanted = problem["operationId"]
    holds_for(lambda: not told(receiver), 0.2)
    resolved = Api(proxy).resolve(wanted, response={"status": 201, "headers": [], "json": {"found": True}})
    assert resolved.status == 200
    event = json.loads(arrived(receiver, f"{wanted}:{CREATED}").body)
    assert event["data"] == {"found": True} and event["operationid"] == wanted


def test_a_probes_answer_is_told_too(tell, receiver, upstream, key):
    found = upstream.script(answer(200, [("Content-Type", "application/json")], b'{"state": "done"}'))
    probe = {"request": f"GET /orders/{{operation_id}}?script={found}", "every": "100ms"}
    proxy = tell(operations=[operation("/orders", events=EVENTS, on_unknown="probe", probe=probe)])
    lost = proxy.post(key=key, script=upstream.script(reset())).json()["operationId"]
    assert json.loads(arrived(receiver, f"{lost}:{CREATED}").body)["data"] == {"state": "done"}


def test_a_claim_is_completed_with_events_of_its_own(tell, receiver, store):
    proxy = tell(store, operations=[operation("/orders", events=EVENTS)])
    claim = Api(proxy).claimed(new_key(), operation="orders", tenant="acme")
    events = [{"type": "order.priced", "data": {"sum": 1.50}}, {"type": "order.printed", "body": "AP8=",
                                                                "content_type": "application/pdf"}]
    assert claim.complete(events=events).status == 200
    assert claim.complete(events=events).status == 200, "repeated"
    priced = arrived(receiver, f"{claim.id}:order.priced")
    assert b'"data":{"sum":1.5' in priced.body.replace(b" ", b"") and json.loads(priced.body)["tenant"] == "acme"
    printed = json.loads(arrived(receiver, f"{claim.id}:order.printed").body)
    assert (printed["data_base64"], printed["datacontenttype"]) == ("AP8=", "application/pdf")
    arrived(receiver, f"{claim.id}:{CREATED}")
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    assert sum(told(receiver).values()) == 3


@pytest.mark.parametrize("events,why", [
    ([{"type": "a b"}], "/events/0/type: must be made of visible ASCII"),
    ([{"type": "a"}, {"type": "a"}], "/events/1/type: stands here twice"),
    ([{"data": 1}], "/events/0/type: is missing"),
    ([{"type": "a", "data": 1, "body": ""}], "/events/0/body: stands beside data"),
    ([{"type": "a", "dat": 1}], "/events/0/dat: is not known here"),
    ("a", "/events: must be a list of objects"),
])
def test_bad_events_are_refused_and_nothing_is_completed(api, events, why):
    claim = api.claimed(new_key())
    refused = claim.complete(events=events)
    assert refused.status == 400 and why in refused.json()["detail"], refused
    assert claim.record()["state"] == "claimed"


@pytest.mark.parametrize("outbox,why", [
    ({"sink": "redis://127.0.0.1:1"}, "?stream=NAME"),
    ({"sink": "http://127.0.0.1:1/", "secret_file": "/nowhere"}, "cannot read outbox.secret_file"),
])
def test_an_outbox_that_cannot_work_stops_serve(serve, outbox, why):
    with pytest.raises(RefusedToStart) as refused:
        serve(outbox=outbox)
    assert why in str(refused.value) and "ended with 2" in str(refused.value)


def test_roles_of_the_outbox(serve):
    proxy = serve()
    assert proxy.api("/v1/outbox", token=False).status == 401
    assert proxy.api("/v1/outbox", method="POST", body=b"{}").status == 405
    assert Api(proxy).post("/v1/outbox/retry", {}).status == 400
    assert Api(proxy).post("/v1/outbox/retry", {"ids": ["a"], "all": True}).status == 400
