"""Queues as `onceward consume` takes from them, with a test's own hands on them: RabbitMQ, Redis Streams and Kafka look the
same."""

import json

import pika
import redis_server

from .waiting import PATIENCE, eventually


class RabbitQueue:
    kind = "rabbitmq"

    def __init__(self, broker, name):
        self.broker, self.name = broker, name
        self._with_channel(lambda channel: channel.queue_declare(name, durable=True))

    def url(self, group=None):
        return f"{self.broker.url}?queue={self.name}"

    def put(self, id, body=None, headers=None):
        properties = pika.BasicProperties(message_id=id, delivery_mode=2, content_type="application/json",
                                          headers=headers)
        data = json.dumps(body if body is not None else {"order": id})
        self._with_channel(lambda channel: channel.basic_publish("", self.name, data, properties))

    def dead(self):
        """Takes and returns the dead letters: (id, headers, body)."""
        letters = []

        def take(channel):
            while True:
                method, properties, body = channel.basic_get(self.name + ".dead", auto_ack=True)
                if method is None:
                    return
                letters.append((properties.message_id, dict(properties.headers), json.loads(body)))

        try:
            self._with_channel(take)
        except pika.exceptions.ChannelClosedByBroker:
            return []  # not made yet
        return letters

    def left(self, group=None):
        """Messages that the broker still has; what a consumer holds unacknowledged does not count while it lives."""
        return self._with_channel(lambda channel: channel.queue_declare(self.name, passive=True).method.message_count)

    def _with_channel(self, action):
        connection = pika.BlockingConnection(pika.URLParameters(self.broker.url))
        try:
            return action(connection.channel())
        finally:
            if connection.is_open:
                connection.close()


class RedisStream:
    kind = "redis"

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.port = server.main.port

    def url(self, group="workers"):
        return f"{self.server.url}?stream={self.name}&group={group}&claim_after=1s"

    def put(self, id, body=None, headers=None):
        fields = ["id", id, "content_type", "application/json",
                  "payload", json.dumps(body if body is not None else {"order": id})]
        for name, value in (headers or {}).items():
            fields += [name, value]
        assert "-" in redis_server.cli(self.port, "XADD", self.name, "*", *fields)

    def dead(self):
        letters = []
        for entry in self._json("XRANGE", self.name + ".dead", "-", "+"):
            fields = dict(zip(entry[1][::2], entry[1][1::2]))
            redis_server.cli(self.port, "XDEL", self.name + ".dead", entry[0])
            letters.append((fields.pop("id"), fields, json.loads(fields.pop("payload"))))
        return letters

    def left(self, group="workers"):
        """Not acknowledged, and not yet delivered."""
        found = next(each for each in self._json("XINFO", "GROUPS", self.name) if each["name"] == group)
        return found["pending"] + (found["lag"] or 0)

    def _json(self, *words):
        return json.loads(redis_server.cli(self.port, *words, arguments=("--json",)))


class KafkaTopic:
    kind = "kafka"

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self._letters_taken = 0
        cluster.make(name)
        cluster.make(name + ".dead")

    def url(self, group="workers"):
        return self.cluster.url(self.name) + f"?group={self._named(group)}"

    def put(self, id, body=None, headers=None):
        self.cluster.put(self.name, id, json.dumps(body if body is not None else {"order": id}), headers=headers)

    def dead(self):
        """What has come since it was asked for last: a topic keeps everything."""
        letters = self.cluster.read(self.name + ".dead")[self._letters_taken:]
        self._letters_taken += len(letters)
        return [(letter["headers"].pop("id"), letter["headers"], json.loads(letter["body"])) for letter in letters]

    def left(self, group="workers"):
        """Not acknowledged."""
        return len(self.cluster.read(self.name)) - max(0, self.cluster.committed(self._named(group), self.name))

    def _named(self, group):
        return f"{group}-{self.name}"  # groups of one cluster are told apart by their names alone


def wait_for_dead(queue, count=1, within=PATIENCE):
    letters = []

    def enough():
        letters.extend(queue.dead())
        return len(letters) >= count

    eventually(enough, within, every=0.05, what=lambda: f"{count} dead letters, found {letters}")
    return letters
