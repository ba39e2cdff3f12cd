"""`onceward consume`: a message is handled once, however often it comes and whatever ends in between. Effects are counted at
the service. What is promised is tested with every broker and every store; the rest on RabbitMQ and Redis Streams."""

import signal
import threading
import uuid

import pytest

import redis_server
from ports import free_port
from support import onceward
from support.behaviours import Hold, answer, in_turn
from support.consuming import Consume, consumer
from support.failpoints import arm, needs_failpoints
from support.onceward import metric_sum
from support.queues import KafkaTopic, RabbitQueue, RedisStream, wait_for_dead
from support.waiting import PATIENCE, eventually, holds_for

HANDLED = answer(200, body=b"{}")


QUEUES = {"rabbitmq": RabbitQueue, "redis": RedisStream, "kafka": KafkaTopic}
# What a broker does and what a store does have nothing to do with each other: each is there with each kind of the other.
PLACES = [("rabbitmq", "file"), ("rabbitmq", "redis"), ("rabbitmq", "postgres"), ("redis", "memory"), ("redis", "redis"),
          ("redis", "postgres"), ("kafka", "postgres")]


def on(places):
    return pytest.mark.parametrize("queue, store", places, indirect=True)


everywhere = on(PLACES)
on_shared_stores = on([place for place in PLACES if place[1] in ("redis", "postgres")])
on_stores_that_last = on([place for place in PLACES if place[1] != "memory"])


@pytest.fixture(params=["rabbitmq", "redis"])
def queue(request):
    """A queue of the test's own on a shared broker."""
    return QUEUES[request.param](request.getfixturevalue(request.param), f"orders-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def store(request):
    """What `consume` takes; records of other tests are of other consumers."""
    if request.param not in ("redis", "postgres"):
        return request.param
    return request.getfixturevalue(request.param).url


@pytest.fixture
def service(own_upstream):
    own_upstream.default = HANDLED
    return own_upstream


@pytest.fixture
def consume(tmp_path):
    started = []

    def start(*consumers, folder=None, **options):
        process = Consume(tmp_path / (folder or f"consume{len(started)}"), consumers, **options)
        started.append(process)
        return process.start()

    yield start
    Hold.release_all()
    for process in started:
        process.stop()


def settled(process, queue, group="workers"):
    """Everything was acknowledged: nothing comes again once the consumer is gone."""
    process.stop()
    return queue.left(group) == 0


@everywhere
def test_a_message_that_comes_ten_times_is_handled_once(queue, store, service, consume):
    process = consume(consumer(queue, service), store=store)
    for _ in range(10):
        queue.put("order-1")
    queue.put("order-2")
    eventually(lambda: len(service.requests) >= 2)
    eventually(lambda: metric_sum(process.metrics(), "onceward_replays_total", operation=queue.name) == 9)
    assert sorted(request.key for request in service.requests) == ["order-1", "order-2"]
    first = service.of_key("order-1")[0]
    assert first.method == "POST" and first.target == "/handle"
    assert first.epoch == "1" and first.operation_id
    assert first.headers.get("Content-Type") == "application/json"
    assert first.headers.get("Message-Id") == "order-1"
    assert first.headers.get("traceparent")
    assert settled(process, queue)


@on_shared_stores
def test_ten_copies_at_once_across_two_sidecars_are_handled_once(queue, store, service, consume):
    hold = Hold(then=HANDLED)
    service.default = hold
    # Copies with one key are in one partition, which only one member of a group reads: with Kafka each has all of them.
    groups = ["workers", "others"] if queue.kind == "kafka" else ["workers", "workers"]
    both = [consume(consumer(queue, service, group, name=queue.name, concurrency=5), store=store) for group in groups]
    for _ in range(10):
        queue.put("order-1")
    assert hold.reached.wait(PATIENCE)
    holds_for(lambda: len(service.requests) == 1, 0.5)
    hold.release()
    for group in groups:
        eventually(lambda: queue.left(group) == 0)
    assert all(settled(process, queue, group) for process, group in zip(both, groups))
    assert len(service.requests) == 1
    assert queue.dead() == []


@everywhere
def test_the_same_id_under_another_consumer_name_is_handled_by_both(queue, store, service, consume):
    if queue.kind == "rabbitmq":
        other = RabbitQueue(queue.broker, queue.name + "-too")
        groups = ("workers", "workers")
    else:
        other, groups = queue, ("billing", "shipping")
    names = [f"{queue.name}-{task}" for task in ("billing", "shipping")]
    process = consume(consumer(queue, service, groups[0], name=names[0]),
                      consumer(other, service, groups[1], name=names[1]), store=store)
    for each in {queue.name: queue, other.name: other}.values():
        each.put("order-1")
        each.put("order-1")
    eventually(lambda: len(service.requests) == 2)
    assert {request.headers.get("Onceward-Consumer") for request in service.requests} == set(names)
    assert len({request.operation_id for request in service.requests}) == 2
    eventually(lambda: other.left(groups[1]) == 0)
    assert settled(process, queue, groups[0])
    assert len(service.requests) == 2


@everywhere
def test_a_handler_that_fails_is_tried_again_and_then_the_message_is_a_dead_letter(queue, store, service, consume):
    service.default = answer(500, body=b"no")
    process = consume(consumer(queue, service, attempts=3), store=store)
    queue.put("order-1", headers={"shop": "north"})
    [(id, headers, body)] = wait_for_dead(queue)
    assert id == "order-1" and body == {"order": "order-1"}
    assert headers["shop"] == "north"
    assert headers["x-onceward-reason"] == "attempts" and headers["x-onceward-attempts"] == "3"
    assert headers["x-onceward-error"] == "the service answered 500 (attempt 3 of 3)"
    assert headers["x-onceward-from"] == queue.name
    assert [request.epoch for request in service.requests] == ["1", "2", "3"]
    assert len({request.operation_id for request in service.requests}) == 1
    # Put back with its headers, it has its attempts again; without, it stays dead.
    queue.put("order-1")
    wait_for_dead(queue)
    assert len(service.requests) == 3
    service.default = in_turn(answer(503), HANDLED)
    queue.put("order-1", headers={"x-onceward-attempts": "4"})
    eventually(lambda: len(service.requests) == 5)
    assert settled(process, queue)
    assert queue.dead() == []


def test_a_message_that_is_rejected_is_a_dead_letter_at_once(queue, service, consume):
    service.default = answer(422, body=b"never")
    process = consume(consumer(queue, service))
    queue.put("order-1")
    [(_, headers, _)] = wait_for_dead(queue)
    assert headers["x-onceward-reason"] == "rejected"
    assert headers["x-onceward-error"] == "the service answered 422"
    assert headers["x-onceward-operation-id"] == service.requests[0].operation_id
    assert settled(process, queue)
    assert len(service.requests) == 1


def test_a_service_that_cannot_be_reached_gets_the_message_when_it_is_back(queue, service, consume):
    service.stop()
    process = consume(consumer(queue, service, attempts=100, backoff="50ms"))
    queue.put("order-1")
    eventually(lambda: "cannot be reached" in process.logs())
    service.start()
    eventually(lambda: len(service.requests) == 1)
    assert settled(process, queue)
    assert len(service.requests) == 1


def kills(process_of):
    """The effect happens, and the sidecar is gone before it can hear of it."""
    done = threading.Event()

    def behave(exchange):
        process_of().kill()
        done.set()
        return False

    behave.done = done
    return behave


def successor(queue):
    """The group of a sidecar that takes over. The mock of Kafka gives the partitions of a member that died to nobody, so
    there it is another group, which begins at the beginning; the consumer, by which duplicates are told, is the same."""
    return "successors" if queue.kind == "kafka" else "workers"


@on_stores_that_last
def test_killed_after_the_effect_the_message_is_not_handled_again(queue, store, service, consume):
    running = []
    service.default = kills(lambda: running[0])
    rules = {"name": queue.name, "lease": "1s"}
    running.append(consume(consumer(queue, service, **rules), folder="one", store=store))
    queue.put("order-1")
    assert service.default.done.wait(PATIENCE)
    service.default = HANDLED
    again = consume(consumer(queue, service, successor(queue), **rules), folder="one", store=store)
    [(_, headers, _)] = wait_for_dead(queue)
    assert headers["x-onceward-reason"] == "unknown"
    assert service.requests[0].operation_id in headers["x-onceward-error"]
    assert settled(again, queue, successor(queue))
    assert len(service.requests) == 1


def test_under_forward_it_is_handled_again_by_the_same_operation(queue, service, consume):
    running = []
    service.default = kills(lambda: running[0])
    entry = consumer(queue, service, on_unknown="forward")
    running.append(consume(entry, folder="one"))
    queue.put("order-1")
    assert service.default.done.wait(PATIENCE)
    service.default = HANDLED
    again = consume(entry, folder="one")
    eventually(lambda: len(service.requests) == 2)
    assert len({request.operation_id for request in service.requests}) == 1
    assert [request.epoch for request in service.requests] == ["1", "2"]
    assert settled(again, queue)
    assert queue.dead() == []


@needs_failpoints
@on_stores_that_last
def test_killed_after_the_outcome_was_stored_the_message_is_acknowledged_without_the_service(queue, store, service, consume):
    first = consume(consumer(queue, service, name=queue.name), folder="one", store=store, env=arm("complete.after:kill@1"))
    queue.put("order-1")
    eventually(lambda: first.process.poll() is not None)
    first.process = None
    group = successor(queue)
    again = consume(consumer(queue, service, group, name=queue.name), folder="one", store=store)
    eventually(lambda: queue.left(group) == 0)
    assert settled(again, queue, group)
    assert len(service.requests) == 1
    assert queue.dead() == []


def test_messages_without_an_id_or_with_the_id_of_another_are_put_aside(queue, service, consume):
    process = consume(consumer(queue, service, id="json:/number"))
    queue.put("a", {"number": 7, "for": "x"})
    eventually(lambda: len(service.requests) == 1)
    assert service.requests[0].key == "7"
    queue.put("b", {"number": 7.0, "for": "y"})
    queue.put("c", {"none": 1})
    reasons = {id: headers["x-onceward-reason"] for id, headers, _ in wait_for_dead(queue, 2)}
    assert reasons == {"b": "mismatch", "c": "no-id"}
    assert settled(process, queue)
    assert len(service.requests) == 1


def test_sigterm_lets_the_message_at_work_end(queue, service, consume):
    hold = Hold(then=HANDLED)
    service.default = hold
    process = consume(consumer(queue, service, concurrency=1))
    queue.put("order-1")
    queue.put("order-2")
    assert hold.reached.wait(PATIENCE)
    process.signal(signal.SIGTERM)
    eventually(lambda: "draining" in process.logs())
    hold.release()
    assert process.ended_with() == 0
    assert [request.key for request in service.requests] == ["order-1"]
    eventually(lambda: queue.left() == 1, what="the other one to be given back")


def test_sighup_brings_other_consumers_and_a_bad_file_changes_nothing(redis, service, consume):
    orders, refunds = [RedisStream(redis, f"{name}-{uuid.uuid4().hex[:8]}") for name in ("orders", "refunds")]
    hold = Hold(then=HANDLED)
    service.default = hold
    process = consume(consumer(orders, service, concurrency=1))
    orders.put("order-1")
    assert hold.reached.wait(PATIENCE)
    process.write_config('{"consumers": [{"from": "nowhere"}]}')
    process.reload()
    assert "the old rules stay in force" in process.logs()
    service.default = HANDLED
    process.config["consumers"] = [consumer(orders, service) | {"to": f"POST {service.url}/other"}, consumer(refunds, service)]
    process.write_config()
    reloads = process.reloads_ended()
    process.signal(signal.SIGHUP)  # which waits for the message at work
    orders.put("order-2")
    refunds.put("refund-1")
    hold.release()
    eventually(lambda: process.reloads_ended() > reloads, what=process.logs)
    eventually(lambda: len(service.requests) == 3)
    assert {request.key: request.target for request in service.requests} == {
        "order-1": "/handle", "order-2": "/other", "refund-1": "/handle"}
    eventually(lambda: orders.left() == 0 and refunds.left() == 0)
    process.write_config('{"consumers": []}')
    process.reload()
    orders.put("order-1")
    orders.put("order-3")
    eventually(lambda: len(service.of_key("order-3")) == 1)
    assert settled(process, orders) and len(service.requests) == 4


def test_a_broker_that_restarts_is_found_again(request, service, consume, tmp_path):
    """Redis here, RabbitMQ below: each needs a server of its own."""
    server = redis_server.start(tmp_path / "redis", settings=(*redis_server.DURABLE, "--appendfsync", "always"))
    try:
        queue = RedisStream(server, "orders")
        goes_on_after_a_restart(queue, server.main, service, consume)
    finally:
        server.stop()


def test_a_rabbitmq_that_restarts_is_found_again(rabbitmq, service, consume):
    goes_on_after_a_restart(RabbitQueue(rabbitmq, f"orders-{uuid.uuid4().hex[:8]}"), rabbitmq, service, consume)


def goes_on_after_a_restart(queue, broker, service, consume):
    hold = Hold(then=HANDLED)
    service.default = in_turn(HANDLED, hold, HANDLED)
    process = consume(consumer(queue, service))
    queue.put("order-1")
    eventually(lambda: len(service.requests) == 1)
    queue.put("order-2")
    assert hold.reached.wait(PATIENCE)
    broker.kill()
    hold.release()  # handled, and nobody to tell
    eventually(lambda: "trying again" in process.logs())
    eventually(lambda: process.api("/readyz").status == 503)
    broker.start()
    eventually(lambda: process.api("/readyz").status == 200)
    queue.put("order-3")
    eventually(lambda: len(service.of_key("order-3")) == 1)
    assert settled(process, queue)
    assert sorted(each.key for each in service.requests) == ["order-1", "order-2", "order-3"]
    assert queue.dead() == []


def config_of(tmp_path, text):
    path = tmp_path / "onceward.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("consumers, message", [
    ("", "the configuration has no `consumers`"),
    ("consumers: [ { from: 'amqp://h', to: POST http://127.0.0.1:9, id: content } ]",
     "consumer 'h': amqp://…: ?queue=NAME is missing"),
    ("consumers: [ { from: 'redis://h?stream=s', to: POST http://127.0.0.1:9, id: content } ]",
     "consumer 's': redis://…: ?group=NAME is missing"),
    ("consumers: [ { from: 'kafka://h/t', to: POST http://127.0.0.1:9, id: content } ]",
     "consumer 't': kafka://…: ?group=NAME is missing"),
])
def test_a_configuration_that_cannot_work_is_refused_in_words(tmp_path, consumers, message):
    done = onceward.run("consume", "--config", config_of(tmp_path, "store: memory\n" + consumers))
    assert done.returncode == 2
    assert message in done.stderr
    if consumers:
        checked = onceward.run("check", tmp_path / "onceward.yaml")
        assert checked.returncode == 2
        assert message in checked.stderr


def test_a_broker_that_is_not_there_is_waited_for(tmp_path):
    port = free_port()
    process = Consume(tmp_path, [{"from": f"redis://127.0.0.1:{port}?stream=s&group=g", "to": "POST http://127.0.0.1:9/",
                                  "id": "message-id"}])
    process.write_config()
    process.spawn()
    eventually(lambda: "trying again" in process.logs())
    ready = eventually(lambda: answer_of(process, "/readyz"))
    assert ready.status == 503 and b"consumer 's'" in ready.body
    assert process.api("/healthz").status == 200
    assert not process.accepts()
    process.stop()


def answer_of(process, target):
    try:
        return process.api(target)
    except OSError:
        return None


def test_a_store_that_forgets_is_told(redis, service, consume):
    process = consume(consumer(RedisStream(redis, f"orders-{uuid.uuid4().hex[:8]}"), service), store="memory")
    assert "a message that comes again after a restart is handled again" in process.logs()


def test_serve_leaves_the_consumers_of_the_same_file_to_consume(serve):
    proxy = serve(consumers=[{"from": "redis://127.0.0.1:1?stream=s&group=g", "to": "POST http://127.0.0.1:9/",
                              "id": "message-id"}])
    assert proxy.post("/orders", key="k").status == 201
    assert "`onceward consume` runs the consumers of this file" in proxy.logs()
