"""The whole way of an event: `events` in a configuration, the proxy, a broker, and what stands in its queue. The proxy is
killed and started again in between."""

import collections
import json
import uuid

import pika
import pytest

from support import expect
from support.api import Api
from support.consuming import Consume
from support.waiting import eventually
from support.zoo import operation

KINDS = ["placed", "priced", "printed"]
OPERATIONS = [operation("/orders", events=[{"type": f"order.{kind}"} for kind in KINDS])]
OUTBOX = {"backoff": "50ms", "max_backoff": "200ms", "timeout": "2s", "poll": "100ms"}


class RabbitExchange:
    """A topic exchange, and a queue that gets all of it."""

    def __init__(self, broker):
        self.broker, self.name = broker, f"events-{uuid.uuid4().hex[:8]}"
        self.outbox = {"sink": broker.url, "exchange": self.name}
        self.connection = pika.BlockingConnection(pika.URLParameters(broker.url))
        self.channel = self.connection.channel()
        self.channel.exchange_declare(self.name, "topic", durable=True)
        self.channel.queue_declare(self.name, durable=True)
        self.channel.queue_bind(self.name, self.name, "#")
        self.taken = []

    def source(self, group):
        return f"{self.broker.url}?queue={self.name}"

    def events(self):
        """(id, type, key by which order is kept, body) of everything that has come, in order."""
        while True:
            method, properties, body = self.channel.basic_get(self.name, auto_ack=True)
            if method is None:
                return self.taken
            assert properties.delivery_mode == 2 and properties.content_type == "application/cloudevents+json"
            self.taken.append((properties.message_id, method.routing_key, None, json.loads(body)))

    def close(self):
        self.connection.close()


class KafkaEvents:
    def __init__(self, cluster):
        self.cluster, self.name = cluster, f"events-{uuid.uuid4().hex[:8]}"
        self.outbox = {"sink": cluster.url(self.name)}
        cluster.make(self.name, partitions=2)
        cluster.make(self.name + ".dead")

    def source(self, group):
        return self.cluster.url(self.name) + f"?group={group}-{self.name}"

    def events(self):
        return [(one["headers"]["id"], one["headers"]["type"], (one["partition"], one["key"]), json.loads(one["body"]))
                for one in self.cluster.read(self.name)]

    def close(self):
        pass


@pytest.fixture(params=["rabbitmq", "kafka"])
def broker(request):
    made = {"rabbitmq": RabbitExchange, "kafka": KafkaEvents}[request.param](request.getfixturevalue(request.param))
    yield made
    made.close()


def ids_of(operations):
    return {f"{one}:order.{kind}" for one in operations for kind in KINDS}


def arrived(broker, operations):
    """Waits until every event of these operations is there; all that has come."""
    wanted, events = ids_of(operations), []

    def all_there():
        events[:] = broker.events()
        return wanted <= {one[0] for one in events}

    eventually(all_there, 30, every=0.05, what=lambda: f"{len(wanted)} events, found {len(events)}")
    return events


def is_quiet(proxy):
    return Api(proxy).get("/v1/outbox").json()["pending"] == 0


def place(proxy, key, numbers):
    """{key: answer}"""
    return {f"{key}-{n}": expect.first_answer(proxy.post(key=f"{key}-{n}", json={"n": n})) for n in numbers}


def test_events_reach_the_broker_whatever_happens_to_the_proxy(serve, broker, upstream, key):
    proxy = serve("file", OPERATIONS, outbox=OUTBOX | broker.outbox)
    answers = place(proxy, key, range(6))
    proxy.kill()  # with some sent, some not, and some sent and not written down
    proxy.restart()
    answers |= place(proxy, key, range(6, 9))
    operations = [answer.operation_id for answer in answers.values()]
    events = arrived(broker, operations)
    assert {one[0] for one in events} == ids_of(operations), "no event under another id"
    for id, type, _, body in events:
        assert (body["id"], body["type"]) == (id, type) and id == f"{body['operationid']}:{type}"
    order = collections.defaultdict(list)
    for id, type, sorted_by, body in events:
        order[body["operationid"]].append((sorted_by, type))
    for of_one in order.values():
        assert len({sorted_by for sorted_by, _ in of_one}) == 1, "of one partition and key"
        first_arrivals = list(dict.fromkeys(type for _, type in of_one))
        assert first_arrivals == [f"order.{kind}" for kind in KINDS], of_one
    # Retries, before and after another crash, tell nothing.
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    before = len(broker.events())
    for _ in range(2):
        for number, answer in enumerate(answers.values()):
            expect.replay_of(proxy.post(key=f"{key}-{number}", json={"n": number}), answer)
        proxy.kill()
        proxy.restart()
    assert is_quiet(proxy) and len(broker.events()) == before
    assert sum(upstream.effects(one) for one in answers) == len(answers)


def test_what_one_onceward_tells_another_consumes_once(serve, broker, own_upstream, tmp_path, key):
    """The outbox of a proxy, a broker, the sidecar, a service that counts."""
    rules = {"from": broker.source("billing"), "to": f"POST {own_upstream.url}/handle", "id": "message-id"}
    sidecar = Consume(tmp_path / "consume", [rules | {"name": "billing", "dead_letter": broker.name + ".dead"}]).start()
    proxy = serve("file", OPERATIONS, outbox=OUTBOX | broker.outbox)
    answers = place(proxy, key, range(3))
    proxy.kill()
    proxy.restart()
    wanted = ids_of(answer.operation_id for answer in answers.values())
    eventually(lambda: {request.key for request in own_upstream.requests} >= wanted, 30, what="every event handled")
    eventually(lambda: is_quiet(proxy), what="nothing pending")
    sidecar.stop()
    assert collections.Counter(request.key for request in own_upstream.requests) == {one: 1 for one in wanted}
    for request in own_upstream.requests:
        assert request.headers.get("Content-Type") == "application/cloudevents+json"
        assert json.loads(request.body)["id"] == request.key
