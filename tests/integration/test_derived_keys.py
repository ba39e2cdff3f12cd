"""`key.from` (CONTRACT 3): senders that bring no key, and what tells their deliveries apart. Effects are counted at the
service by what it was sent."""

import hashlib
import json
import uuid

import pytest

from support import expect
from support.behaviours import close, numbered_answer
from support.onceward import Background
from support.zoo import WAIT_LONG, operation

ID_HEADER = "X-Delivery-Id"
OPERATIONS = [
    operation("/hook-json", key={"from": "json:/event/id", "required": True}, in_progress=WAIT_LONG),
    operation("/hook-header", key={"from": f"header:{ID_HEADER}", "required": True}, in_progress=WAIT_LONG),
    operation("/hook-content", key={"from": "content"}, in_progress=WAIT_LONG),
    operation("/hook-optional", key={"from": "json:/event/id"}),
    operation("/hook-attempts", key={"from": "json:/event/id"}, fingerprint={"ignore": ["/attempt"]}),
    operation("/hook-forward", key={"from": "json:/event/id"}, on_unknown="forward"),
    operation("/hook-own-header", key={"from": "json:/event/id", "header": "X-Key"}),
]


@pytest.fixture
def script(upstream):
    """Names this test's requests at the upstream."""
    return upstream.script(numbered_answer)


class Sender:
    """Delivers events to one of the operations, each as often as it is told."""

    def __init__(self, proxy, path, script):
        self.proxy, self.path, self.script = proxy, path, script

    def deliver(self, id, **options):
        headers = [(ID_HEADER, id)] if self.path == "/hook-header" else []
        body = {"anything": id} if self.path == "/hook-header" else {"event": {"id": id}}
        return self.proxy.post(self.path, json=body, headers=headers, script=self.script, **options)


@pytest.mark.parametrize("path", ["/hook-json", "/hook-header", "/hook-content"])
def test_a_delivery_that_comes_ten_times_at_once_has_one_effect(proxy, upstream, script, key, other_key, path):
    sender = Sender(proxy, path, script)
    answers = [one.result() for one in [Background(lambda: sender.deliver(key)) for _ in range(10)]]
    first, = [answer for answer in answers if not answer.replayed]
    for answer in answers:
        if answer.replayed:
            expect.replay_of(answer, first)
    assert len(upstream.of_script(script)) == 1
    other = expect.first_answer(sender.deliver(other_key))
    assert other.operation_id != first.operation_id and len(upstream.of_script(script)) == 2
    expect.replay_of(sender.deliver(key), first)
    assert len(upstream.of_script(script)) == 2


@pytest.mark.parametrize("path, body", [("/hook-json", {"event": {}}), ("/hook-json", {"event": {"id": None}}),
                                        ("/hook-json", {"event": {"id": {"a": 1}}}), ("/hook-json", "text"),
                                        ("/hook-header", {})])
def test_a_delivery_without_what_is_required_is_refused(memory_proxy, upstream, script, path, body):
    expect.problem(memory_proxy.post(path, json=body, script=script), 400, "MISSING_IDEMPOTENCY_KEY")
    assert upstream.of_script(script) == []


@pytest.mark.parametrize("id", ["", "x" * 256])
def test_an_id_that_is_no_key_is_refused(memory_proxy, upstream, script, id):
    refused = memory_proxy.post("/hook-json", json={"event": {"id": id}}, script=script)
    expect.problem(refused, 400, "INVALID_IDEMPOTENCY_KEY")
    assert upstream.of_script(script) == []


def test_without_an_id_that_is_not_required_each_delivery_counts(memory_proxy, upstream, script):
    for _ in range(2):
        answer = memory_proxy.post("/hook-optional", json={"event": {}}, script=script)
        assert answer.status == 201 and answer.operation_id is None
    assert len(upstream.of_script(script)) == 2


def test_the_same_id_with_another_body_is_another_request_unless_the_difference_is_ignored(memory_proxy, upstream, script, key):
    event = {"event": {"id": key}, "attempt": 1}
    first = expect.first_answer(memory_proxy.post("/hook-json", json=event, script=script))
    expect.problem(memory_proxy.post("/hook-json", json=event | {"attempt": 2}, script=script), 422,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    expect.replay_of(memory_proxy.post("/hook-json", json=event, script=script), first)
    first = expect.first_answer(memory_proxy.post("/hook-attempts", json=event, script=script))
    expect.replay_of(memory_proxy.post("/hook-attempts", json=event | {"attempt": 2}, script=script), first)
    assert len(upstream.of_script(script)) == 2


def sent_key(upstream, script, header="Idempotency-Key"):
    request, = upstream.of_script(script)
    return request.headers.all(header)


def test_the_service_gets_the_key_that_counts_and_no_other(memory_proxy, upstream, script, key):
    memory_proxy.post("/hook-json", json={"event": {"id": key}}, key="of-the-sender", script=script)
    assert sent_key(upstream, script) == [key]
    content = upstream.script(numbered_answer)
    body = json.dumps({"reading": key}).encode()
    memory_proxy.post("/hook-content", body=body, script=content)
    assert sent_key(upstream, content) == [hashlib.sha256(body).hexdigest()]
    own = upstream.script(numbered_answer)
    memory_proxy.post("/hook-own-header", json={"event": {"id": key}}, key="of-the-sender", script=own)
    assert sent_key(upstream, own, "X-Key") == [key] and sent_key(upstream, own) == ["of-the-sender"]
    named = upstream.script(numbered_answer)
    memory_proxy.post("/hook-header", headers=[(ID_HEADER, key)], script=named)
    assert sent_key(upstream, named, ID_HEADER) == [key] and sent_key(upstream, named) == []


@pytest.mark.parametrize("id", ["ä", "a b", "a,b", '"quoted"', "line\nfeed: x"])
def test_an_id_that_no_header_can_carry_is_sent_as_its_hash(memory_proxy, upstream, script, id):
    id += uuid.uuid4().hex
    first = expect.first_answer(memory_proxy.post("/hook-json", json={"event": {"id": id}}, script=script))
    expect.replay_of(memory_proxy.post("/hook-json", json={"event": {"id": id}}, script=script), first)
    assert sent_key(upstream, script) == ["sha256-" + hashlib.sha256(id.encode()).hexdigest()]


def test_sent_again_it_has_the_same_key_and_operation(memory_proxy, upstream, key):
    script = upstream.script(close(), numbered_answer)
    event = {"event": {"id": key}}
    assert memory_proxy.post("/hook-forward", json=event, script=script).status == 502
    assert memory_proxy.post("/hook-forward", json=event, script=script).status == 201
    both = upstream.of_script(script)
    assert [request.key for request in both] == [key, key]
    assert len({request.operation_id for request in both}) == 1 and [request.epoch for request in both] == ["1", "2"]
