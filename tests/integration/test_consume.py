"""`onceward consume`: a message is handled once, however often it comes and whatever ends in between. Effects are counted at
the service; every test runs on RabbitMQ and on Redis Streams."""

import signal
import threading
import uuid

import pytest

import rabbitmq_server
import redis_server
from ports import free_port
from support import onceward
from support.behaviours import Hold, answer, in_turn
from support.consuming import Consume, consumer
from support.failpoints import arm, needs_failpoints
from support.onceward import metric_sum
from support.queues import RabbitQueue, RedisStream, wait_for_dead
from support.waiting import PATIENCE, eventually, holds_for

HANDLED = answer(200, body=b"{}")


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory):
    broker = rabbitmq_server.start(tmp_path_factory.mktemp("rabbitmq"))
    yield broker
    broker.stop()


@pytest.fixture(params=["rabbitmq", "redis"])
def queue(request):
    """A queue of the test's own on a shared broker."""
    broker = request.getfixturevalue(request.param)
    make = RabbitQueue if request.param == "rabbitmq" else RedisStream
    return make(broker, f"orders-{uuid.uuid4().hex[:8]}")


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


def test_a_message_that_comes_ten_times_is_handled_once(queue, service, consume):
    process = consume(consumer(queue, service))
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


def test_ten_copies_at_once_across_two_sidecars_are_handled_once(queue, service, consume, redis):
    hold = Hold(then=HANDLED)
    service.default = hold
    prefix = uuid.uuid4().hex[:8]
    store = f"{redis.url}?prefix={prefix}:"
    both = [consume(consumer(queue, service, concurrency=5), store=store) for _ in range(2)]
    for _ in range(10):
        queue.put("order-1")
    assert hold.reached.wait(PATIENCE)
    holds_for(lambda: len(service.requests) == 1, 1.0)
    hold.release()
    eventually(lambda: queue.left() == 0)
    assert len(service.requests) == 1
    assert all(settled(process, queue) for process in both)
    assert len(service.requests) == 1
    assert queue.dead() == []


def test_the_same_id_under_another_consumer_name_is_handled_by_both(queue, service, consume):
    if queue.kind == "rabbitmq":
        other = RabbitQueue(queue.broker, queue.name + "-too")
        groups = ("workers", "workers")
    else:
        other, groups = queue, ("billing", "shipping")
    process = consume(consumer(queue, service, groups[0], name="billing"),
                      consumer(other, service, groups[1], name="shipping"))
    for each in {queue.name: queue, other.name: other}.values():
        each.put("order-1")
        each.put("order-1")
    eventually(lambda: len(service.requests) == 2)
    assert {request.headers.get("Onceward-Consumer") for request in service.requests} == {"billing", "shipping"}
    assert len({request.operation_id for request in service.requests}) == 2
    eventually(lambda: other.left(groups[1]) == 0)
    assert settled(process, queue, groups[0])
    assert len(service.requests) == 2


def test_a_handler_that_fails_is_tried_again_and_then_the_message_is_a_dead_letter(queue, service, consume):
    service.default = answer(500, body=b"no")
    process = consume(consumer(queue, service, attempts=3))
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


def test_killed_after_the_effect_the_message_is_not_handled_again(queue, service, consume):
    running = []
    service.default = kills(lambda: running[0])
    running.append(consume(consumer(queue, service), folder="one"))
    queue.put("order-1")
    assert service.default.done.wait(PATIENCE)
    service.default = HANDLED
    again = consume(consumer(queue, service), folder="one")
    [(_, headers, _)] = wait_for_dead(queue)
    assert headers["x-onceward-reason"] == "unknown"
    assert service.requests[0].operation_id in headers["x-onceward-error"]
    assert settled(again, queue)
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
def test_killed_after_the_outcome_was_stored_the_message_is_acknowledged_without_the_service(queue, service, consume):
    entry = consumer(queue, service)
    first = consume(entry, folder="one", env=arm("complete.after:kill@1"))
    queue.put("order-1")
    eventually(lambda: first.process.poll() is not None)
    first.process = None
    again = consume(entry, folder="one")
    eventually(lambda: queue.left() == 0)
    assert settled(again, queue)
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


def test_serve_leaves_the_consumers_of_the_same_file_to_consume(serve):
    proxy = serve(consumers=[{"from": "redis://127.0.0.1:1?stream=s&group=g", "to": "POST http://127.0.0.1:9/",
                              "id": "message-id"}])
    assert proxy.post("/orders", key="k").status == 201
    assert "`onceward consume` runs the consumers of this file" in proxy.logs()
