"""Unknown outcomes with two proxies on one store: what one has lost, the other finds out, and never both at once."""

import collections
import threading
import time

import pytest

from support import expect
from support.behaviours import Hold, answer, message, reset
from support.client import Closed, Malformed
from support.waiting import eventually, holds_for
from support.zoo import operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"


@pytest.fixture(scope="module", params=["redis", "postgres"])
def store(request):
    return request.getfixturevalue(request.param).url


def probing(target, lease="30s", **settings):
    probe = {"request": f"GET {target}", "every": "200ms", "give_up": "1h"} | settings
    return operation("/payments", on_unknown="probe", probe=probe, lease=lease, in_progress={"wait": "0s"})


def replay(proxy, key):
    response = proxy.post("/payments", key=key)
    return response if response.replayed else None


class Questions:
    """A probe's answer that takes a while: 503 until it is told to know. Counts who asks at the same time."""

    def __init__(self):
        self.asked, self.now, self.most = collections.Counter(), collections.Counter(), collections.Counter()
        self.knows, self._lock = threading.Event(), threading.Lock()

    def __call__(self, exchange):
        target = exchange.request.target
        with self._lock:
            self.asked[target] += 1
            self.now[target] += 1
            self.most[target] = max(self.most[target], self.now[target])
        time.sleep(0.2)  # how long this upstream thinks: long enough for another question to come
        with self._lock:
            self.now[target] -= 1
        exchange.send(message(200, [], b"found") if self.knows.is_set() else message(503))
        return True


def test_two_proxies_never_ask_about_one_operation_at_once(serve, upstream, store, key):
    questions = Questions()
    rules = [probing(f"/payments/{{operation_id}}?script={upstream.script(questions)}", every="100ms")]
    proxies = [serve(store, rules) for _ in range(2)]
    keys = [f"{key}-{number}" for number in range(3)]
    for one in keys:
        expect.problem(proxies[0].post("/payments", key=one, script=upstream.script(reset())), 502, UNKNOWN)
    eventually(lambda: len(questions.asked) == 3 and min(questions.asked.values()) >= 2, what="questions")
    questions.knows.set()
    for one in keys:
        for proxy in proxies:
            assert eventually(lambda: replay(proxy, one), every=0.05, what="an answer").body == b"found"
        assert upstream.effects(one) == 1
    assert set(questions.most.values()) == {1}, questions.most


@pytest.mark.parametrize("status,state", [(200, "applied"), (404, "not applied")], ids=["applied", "not_applied"])
def test_what_one_proxy_took_with_it_the_other_finds_out(serve, upstream, store, key, status, state):
    rules = [probing(f"/payments/{{operation_id}}?script={upstream.script(answer(status, [], b'from the probe'))}", lease="2s")]
    mortal, survivor = (serve(store, rules) for _ in range(2))
    hold = Hold()
    first = mortal.post_in_background("/payments", key=key, script=upstream.script(hold))
    hold.wait_reached()
    mortal.kill()
    with pytest.raises((OSError, Closed, Malformed)):
        first.result()
    told = eventually(lambda: definite(survivor.post("/payments", key=key)), every=0.05, what="the probe's word")
    if state == "applied":
        assert told.replayed and told.body == b"from the probe"
        assert upstream.effects(key) == 1
    else:
        expect.first_answer(told)
        assert [request.epoch for request in upstream.of_key(key)] == ["1", "2"]
    assert len({request.operation_id for request in upstream.of_key(key)}) == 1


def definite(response):
    return None if response.status == 409 else response


def test_a_late_answer_at_one_proxy_does_not_undo_the_probe_of_the_other(serve, upstream, store, key):
    rules = [probing(f"/payments/{{operation_id}}?script={upstream.script(answer(200, [], b'the probe'))}")]
    first, second = (serve(store, rules, to={"url": upstream.url, "timeout": "2s"}) for _ in range(2))
    hold = Hold(then=answer(201, [], b"too late"))
    expect.problem(first.post("/payments", key=key, script=upstream.script(hold)), 504, UNKNOWN)
    eventually(lambda: replay(second, key), what="the probe's word")
    hold.release()
    for proxy in (first, second):
        holds_for(lambda: proxy.post("/payments", key=key).body == b"the probe", 0.3)
    assert upstream.effects(key) == 1
