"""SIGTERM drains, SIGINT too, SIGHUP reloads; nobody's request is lost by either."""

import signal
import threading
import time
import uuid

import pytest

from support import expect
from support.behaviours import Hold, answer, numbered_answer
from support.client import Connection
from support.onceward import request_bytes
from support.waiting import PATIENCE, eventually, holds_for
from support.wire import Closed, Malformed
from support.zoo import WAIT_LONG, WAIT_NOT, operation


class Load(threading.Thread):
    """One keep-alive client after the other, guarded requests with new keys, until told to stop."""

    def __init__(self, proxy, path="/orders"):
        super().__init__(daemon=True)
        self.proxy, self.path = proxy, path
        self.finish = threading.Event()
        self.answers, self.failures = {}, []

    def run(self):
        connection, run, number = None, uuid.uuid4().hex, 0
        while not self.finish.is_set():
            key, number = f"{run}-{number}", number + 1
            try:
                connection = connection or Connection(self.proxy.port)
                connection.send(request_bytes("POST", self.path, key=key, json={"key": key}))
                response = connection.read("POST")
                self.answers[key] = response
                if "close" in response.headers.tokens("Connection"):
                    connection.close()
                    connection = None
            except (OSError, Closed, Malformed) as error:
                self.failures.append((key, error))
                if connection:
                    connection.close()
                connection = None
                self.finish.wait(0.01)


def slow_answer(exchange):
    time.sleep(0.03)
    return numbered_answer(exchange)


@pytest.fixture
def slow_upstream(own_upstream):
    own_upstream.default = slow_answer
    return own_upstream


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_answers_and_stores_every_request_it_has_accepted(serve, slow_upstream, number):
    proxy = serve("file", to=slow_upstream)
    loads = [Load(proxy) for _ in range(8)]
    for load in loads:
        load.start()
    eventually(lambda: all(len(load.answers) > 3 for load in loads), what="traffic")
    proxy.signal(number)
    assert proxy.ended_with() == 0
    for load in loads:
        load.finish.set()
        load.join(PATIENCE)
    answers = {key: answer for load in loads for key, answer in load.answers.items()}
    assert all(answer.status == 201 for answer in answers.values())
    executed = {request.key for request in slow_upstream.requests}
    assert executed == set(answers), "an effect whose answer was lost, or the other way round"
    proxy.restart()
    for key, first in list(answers.items())[-40:]:
        expect.replay_of(proxy.post(key=key, json={"key": key}), first)


def test_during_a_drain_nobody_new_is_let_in_and_the_last_request_is_answered(serve, upstream, key):
    proxy = serve("file")
    hold = Hold()
    idle = proxy.connect()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    proxy.signal(signal.SIGTERM)
    eventually(lambda: refused(proxy), what="new connections to be refused")
    eventually(lambda: not idle.is_open(), what="idle connections to be closed")
    assert proxy.process.poll() is None
    hold.release()
    answered = expect.first_answer(first.result())
    assert proxy.ended_with() == 0
    proxy.restart()
    expect.replay_of(proxy.post(key=key), answered)


def refused(proxy):
    try:
        Connection(proxy.port).close()
        return False
    except OSError:
        return True


def test_an_idle_proxy_ends_at_once(serve):
    proxy = serve("file")
    idle = [proxy.connect() for _ in range(5)]
    began = time.monotonic()
    proxy.signal(signal.SIGTERM)
    assert proxy.ended_with() == 0
    assert time.monotonic() - began < 15
    for connection in idle:
        connection.close()


def test_a_reload_under_load_fails_no_request_and_changes_the_rules(serve, upstream, key):
    proxy = serve(operations=[operation("/marked", replay={"header": "X-Old"})])
    proxy.post("/marked", key=key)
    assert proxy.post("/marked", key=key).headers.has("X-Old")
    loads = [Load(proxy, "/load") for _ in range(4)]
    for load in loads:
        load.start()
    for number in range(5):
        proxy.config["operations"][0]["replay"]["header"] = f"X-New-{number}"
        proxy.write_config()
        proxy.reload()
        eventually(lambda: proxy.post("/marked", key=key).headers.has(f"X-New-{number}"), what="the new rules")
    eventually(lambda: sum(len(load.answers) for load in loads) > 20, what="traffic")
    for load in loads:
        load.finish.set()
        load.join(PATIENCE)
    assert [failure for load in loads for failure in load.failures] == []
    assert {answer.status for load in loads for answer in load.answers.values()} == {201}


@pytest.mark.parametrize("text", ["operations: [", "no_such_key: 1\n", "defaults: { ttl: 0s }\n"])
def test_a_bad_file_keeps_the_old_rules_and_says_so(serve, key, text):
    proxy = serve(operations=[operation("/marked", replay={"header": "X-Old"})])
    proxy.post("/marked", key=key)
    said = len(proxy.logs())
    proxy.write_config(text)
    proxy.reload()
    eventually(lambda: proxy.path.name in proxy.logs()[said:] or "reload" in proxy.logs()[said:].lower(),
               what="a word about the bad file")
    assert proxy.post("/marked", key=key).headers.has("X-Old")
    proxy.config["operations"][0]["replay"]["header"] = "X-New"
    proxy.write_config()
    proxy.reload()
    eventually(lambda: proxy.post("/marked", key=key).headers.has("X-New"), what="the corrected rules")


def test_a_request_keeps_the_rules_it_began_with(serve, upstream, key):
    proxy = serve(operations=[operation("/held", outcomes={"retry": [418]}, in_progress=WAIT_NOT)])
    hold = Hold(then=answer(418))
    first = proxy.post_in_background("/held", key=key, script=upstream.script(hold, numbered_answer))
    hold.wait_reached()
    proxy.config["operations"][0] = operation("/held", mode="off")
    proxy.write_config()
    proxy.reload()
    eventually(lambda: proxy.post("/held", key=key + "-other").operation_id is None, what="the new rules")
    hold.release()
    assert first.result().status == 418
    proxy.config["operations"][0] = operation("/held", in_progress=WAIT_NOT)
    proxy.write_config()
    proxy.reload()
    eventually(lambda: proxy.post("/held", key=key + f"-{uuid.uuid4()}").operation_id, what="the third rules")
    expect.first_answer(proxy.post("/held", key=key, script=upstream.script(numbered_answer)))
    assert upstream.effects(key) == 2, "the first attempt was released under the rules it began with"


def test_records_are_kept_across_a_reload(serve, key):
    proxy = serve("memory")
    first = expect.first_answer(proxy.post(key=key))
    proxy.config["operations"] = [operation("/x")]
    proxy.write_config()
    proxy.reload()
    holds_for(lambda: expect.replay_of(proxy.post(key=key), first), 0.5)


def test_those_who_wait_are_answered_before_a_drain_ends(serve, upstream, key):
    proxy = serve("file", [operation("/wait", in_progress=WAIT_LONG)])
    hold = Hold()
    first = proxy.post_in_background("/wait", key=key, script=upstream.script(hold))
    hold.wait_reached()
    waiting = [proxy.post_in_background("/wait", key=key) for _ in range(3)]
    holds_for(lambda: not any(waiter.done for waiter in waiting), 0.5, what="the duplicates to wait")
    proxy.signal(signal.SIGTERM)
    eventually(lambda: refused(proxy), what="new connections to be refused")
    hold.release()
    answered = expect.first_answer(first.result())
    for waiter in waiting:
        expect.replay_of(waiter.result(), answered)
    assert proxy.ended_with() == 0
    assert upstream.effects(key) == 1


def test_a_drain_does_not_wait_for_an_answer_that_nobody_waits_for(serve, upstream, key):
    """The client has had its 504; the upstream may take minutes more. The record is left unknown, not processing."""
    proxy = serve("file", to={"url": upstream.url, "timeout": "1s"})
    hold = Hold()
    expect.problem(proxy.post(key=key, script=upstream.script(hold)), 504, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    began = time.monotonic()
    proxy.signal(signal.SIGTERM)
    assert proxy.ended_with() == 0
    assert time.monotonic() - began < 15
    hold.release()
    proxy.restart()
    expect.problem(proxy.post(key=key), 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert upstream.effects(key) == 1


def test_a_second_signal_does_not_lose_what_the_first_was_draining(serve, upstream, key):
    proxy = serve("file")
    hold = Hold()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    proxy.signal(signal.SIGTERM)
    eventually(lambda: refused(proxy), what="new connections to be refused")
    proxy.signal(signal.SIGHUP)
    hold.release()
    expect.first_answer(first.result())
    assert proxy.ended_with() == 0


def test_who_connects_while_it_starts_is_refused_or_answered_never_cut_off(serve):
    proxy = serve()
    for _ in range(60):
        proxy.stop()
        proxy.spawn()
        for port in (proxy.port, proxy.api_port):
            while True:
                try:
                    connection = Connection(port)
                except ConnectionRefusedError:
                    continue
                break
            assert connection.send(request_bytes("GET", "/healthz")).read("GET").status in (200, 201)
            connection.close()
