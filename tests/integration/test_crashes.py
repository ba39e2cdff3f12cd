"""kill -9 and restart on the same folder: what was claimed stays claimed, what was stored is replayed."""

import random
import threading
import uuid

import pytest

from support import expect
from support.behaviours import Hold, answer
from support.onceward import Onceward
from support.upstream import Upstream
from support.waiting import PATIENCE, eventually
from support.wire import Closed, Malformed
from support.zoo import WAIT_NOT, operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
OPERATIONS = [operation("/reject", in_progress=WAIT_NOT)]


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_proxy_killed_in_mid_request_never_causes_a_second_effect(serve, upstream, key, durability):
    proxy = serve("file", OPERATIONS, durability=durability)
    hold = Hold()
    first = proxy.post_in_background("/reject", key=key, script=upstream.script(hold))
    hold.wait_reached()
    proxy.kill()
    with pytest.raises((OSError, Closed, Malformed)):
        first.result()
    proxy.restart()
    problem = expect.problem(proxy.post("/reject", key=key), 409, UNKNOWN)
    assert problem["operationId"] == upstream.of_key(key)[0].operation_id
    hold.release()
    expect.problem(proxy.post("/reject", key=key), 409, UNKNOWN)
    assert proxy.post("/reject", key=key, json={"other": 1}).status == 422
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_a_proxy_killed_after_the_outcome_replays_it(serve, upstream, key, durability):
    proxy = serve("file", durability=durability)
    headers = [("X-List", "a, b"), ("X-List", "c"), ("Content-Type", "application/octet-stream")]
    first = expect.first_answer(proxy.post(key=key, script=upstream.script(answer(201, headers, bytes(range(256))))))
    proxy.kill()
    proxy.restart()
    expect.replay_of(proxy.post(key=key), first)
    assert proxy.post(key=key, json={"other": 1}).status == 422
    assert upstream.effects(key) == 1


def test_every_kind_of_record_survives_a_kill(serve, upstream, key):
    proxy = serve("file", [operation("/receipt", ttl="1s", receipt_ttl="1h")])
    replay = expect.first_answer(proxy.post(key=f"{key}-replay"))
    proxy.post(key=f"{key}-unknown", script=upstream.script(answer(502)))
    proxy.post(key=f"{key}-released", script=upstream.script(answer(503)))
    expect.first_answer(proxy.post("/receipt", key=f"{key}-receipt"))
    eventually(lambda: proxy.post("/receipt", key=f"{key}-receipt").status == 410, what="the record to expire")
    proxy.kill()
    proxy.restart()
    expect.replay_of(proxy.post(key=f"{key}-replay"), replay)
    expect.problem(proxy.post(key=f"{key}-unknown"), 409, UNKNOWN)
    expect.problem(proxy.post("/receipt", key=f"{key}-receipt"), 410, "IDEMPOTENCY_RECORD_EXPIRED")
    expect.first_answer(proxy.post(key=f"{key}-released"))
    assert [request.epoch for request in upstream.of_key(f"{key}-released")] == ["1", "2"]


def test_records_survive_a_clean_restart(serve, upstream, key):
    proxy = serve("file")
    answers = [expect.first_answer(proxy.post(key=f"{key}-{number}")) for number in range(50)]
    proxy.stop()
    proxy.restart()
    for number, first in enumerate(answers):
        expect.replay_of(proxy.post(key=f"{key}-{number}"), first)


def test_the_memory_store_forgets_on_restart(serve, upstream, key):
    proxy = serve("memory")
    expect.first_answer(proxy.post(key=key))
    proxy.stop()
    proxy.restart()
    expect.first_answer(proxy.post(key=key))
    assert upstream.effects(key) == 2


class Customer(threading.Thread):
    """Sends orders one after the other, each until it has a definite answer, across kills and restarts."""

    def __init__(self, proxy, prefix, finished):
        super().__init__(daemon=True)
        self.proxy, self.prefix, self.finished = proxy, prefix, finished
        self.answers, self.unknown = {}, []

    def run(self):
        number = 0
        while not self.finished.is_set():
            self.order(f"{self.prefix}-{number}")
            number += 1

    def order(self, key):
        while True:
            try:
                response = self.proxy.post(key=key, json={"key": key}, timeout=5.0)
            except (OSError, Closed, Malformed):
                if self.finished.wait(0.02):
                    return
                continue
            if response.status == 201:
                self.answers[key] = response
                return
            if response.json()["code"] == UNKNOWN:
                self.unknown.append(key)
                return
            assert response.json()["retryable"] is True, response


def test_under_repeated_kills_no_order_is_executed_twice_and_no_answer_is_lost(tmp_path):
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    dice = random.Random(seed)
    ledger = tmp_path / "ledger"
    upstream = Upstream(ledger=ledger)
    proxy = Onceward(tmp_path / "proxy", upstream, "file").start()
    finished = threading.Event()
    customers = [Customer(proxy, f"{uuid.uuid4().hex}", finished) for _ in range(4)]
    for customer in customers:
        customer.start()
    for _ in range(5):
        threading.Event().wait(dice.uniform(0.2, 0.7))  # when the kill comes is the point of this test
        proxy.kill()
        proxy.restart()
    enough = sum(len(customer.answers) for customer in customers) + 20
    eventually(lambda: sum(len(customer.answers) for customer in customers) > enough, what="service to be back")
    finished.set()
    for customer in customers:
        customer.join(PATIENCE)
    effects = [line.split('"key": "')[1].split('"')[0] for line in ledger.read_text().splitlines()]
    assert len(effects) == len(set(effects)), "an order was executed twice"
    for customer in customers:
        for key, first in customer.answers.items():
            assert key in set(effects), "an answer without an effect"
            again = proxy.post(key=key, json={"key": key})
            assert again.replayed and again.body == first.body and again.operation_id == first.operation_id
        for key in customer.unknown:
            assert proxy.post(key=key, json={"key": key}).status == 409
    proxy.stop()
    upstream.stop()


def test_a_damaged_record_is_an_error_and_never_a_miss(tmp_path, upstream, key):
    proxy = Onceward(tmp_path / "proxy", upstream, "file").start()
    marker = uuid.uuid4().hex.encode()
    expect.first_answer(proxy.post(key=key, script=upstream.script(answer(201, [("X-Mark", marker.decode())], marker))))
    for number in range(20):
        expect.first_answer(proxy.post(key=f"{key}-{number}"))
    proxy.stop()
    damaged = 0
    for path in (tmp_path / "proxy" / "data").rglob("*"):
        if path.is_file() and marker in path.read_bytes():
            data = bytearray(path.read_bytes())
            at = data.find(marker)
            while at >= 0:
                data[at] ^= 0x40
                damaged += 1
                at = data.find(marker, at)
            path.write_bytes(data)
    if not damaged:
        pytest.skip("the stored response is not kept as plain bytes")
    proxy.write_config()
    proxy.spawn()
    eventually(lambda: proxy.process.poll() is not None or proxy.accepts(), what="serve to start or to refuse")
    if proxy.process.poll() is None:
        expect.problem(proxy.post(key=key), 503, "IDEMPOTENCY_RECORD_UNREADABLE")
        for number in range(20):
            assert proxy.post(key=f"{key}-{number}").status in (201, 503)
        proxy.stop()
    else:
        assert proxy.ended_with() != 0
    assert upstream.effects(key) == 1, "a damaged record was taken for a new key"
    assert all(upstream.effects(f"{key}-{number}") == 1 for number in range(20))
