"""A service that commits its effect, its answer and its events in one transaction of its own: killed at every step, it has
done all or nothing, and a retry is told the truth. Effects are rows of the service's table."""

import json
import pathlib
import random
import subprocess
import sys
import time

import psycopg2
import pytest

import postgres_server
from ports import free_port

from support import behaviours, expect
from support.onceward import environment
from support.waiting import PATIENCE, eventually

SERVICE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "orders-transaction" / "service.py"
UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
OPERATIONS = [
    {"name": "orders.create", "match": "POST /orders"},
    {"name": "orders.again", "match": "POST /again", "on_unknown": "forward", "lease": "1s", "max_hold": "1s"},
    {"name": "orders.short", "match": "POST /short", "lease": "1s", "max_hold": "1s"},
]


class Shop:
    """The database that the proxy and the service share, and the service's own role in it."""

    def __init__(self, server):
        self.server = server
        server.sql("CREATE ROLE shop LOGIN")
        server.sql("GRANT CREATE ON SCHEMA public TO shop")
        self.dsn = f"postgresql://shop@127.0.0.1:{server.port}/postgres"

    def allow(self):
        self.server.sql("SELECT onceward.allow_service('shop')")

    def connect(self):
        return psycopg2.connect(self.dsn)

    def orders(self, operation_id):
        return int(self.server.sql(f"SELECT count(*) FROM orders WHERE operation_id = '{operation_id}'"))

    def events(self, operation_id):
        return self.server.sql(f"SELECT id, convert_from(payload, 'UTF8') FROM onceward.outbox WHERE id LIKE '{operation_id}%' ORDER BY sequence")

    def state(self, operation_id):
        return self.server.sql(f"SELECT state FROM onceward.readable WHERE operation_id = '{operation_id}'")


@pytest.fixture(scope="module")
def shop():
    with postgres_server.running() as server:
        yield Shop(server)


@pytest.fixture(scope="module")
def proxy(shop, serve_module):
    """In front of the scripted upstream: tests play the service."""
    started = serve_module(shop.server.url, OPERATIONS)
    eventually(lambda: started.api("/readyz").status == 200, what="the schema")
    shop.allow()
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                       "operation_id uuid NOT NULL, item text NOT NULL)")
    connection.close()
    return started


def token_of(exchange):
    return exchange.request.headers.get("Onceward-Token")


def insert(cursor, exchange):
    cursor.execute("INSERT INTO orders (operation_id, item) VALUES (%s, 'book')", (exchange.request.operation_id,))


def finish(cursor, token, status=201, body='{"id": 1}', headers='{"Content-Type": "application/json", "X-Row": "1"}'):
    cursor.execute("SELECT onceward.finish(%s, %s, %s, %s)", (token, status, headers, body))


def commits(shop, then, status=201, body='{"id": 1}'):
    """A service that commits an order and its answer, and then behaves otherwise on the wire."""

    def behave(exchange):
        connection = shop.connect()
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT decision FROM onceward.begin(%s)", (token_of(exchange),))
            assert cursor.fetchone() == ("proceed",)
            insert(cursor, exchange)
            finish(cursor, token_of(exchange), status, body)
        connection.close()
        return then(exchange)

    return behave


# -- the example service, killed at every step ----------------------------------------------------------


class Orders:
    """The example as a process; started again on the same port."""

    def __init__(self, shop):
        self.shop, self.port, self.process = shop, free_port(), None
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self, *arguments):
        command = [sys.executable, SERVICE, "--database", self.shop.dsn, "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        assert "http://" in self.process.stdout.readline()

    def ended(self):
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.ended()


@pytest.fixture(scope="module")
def orders(shop):
    service = Orders(shop)
    yield service
    service.stop()


@pytest.fixture(scope="module", params=["hold", "forward"])
def shop_front(request, shop, orders, serve_module):
    """The proxy in front of the example, under either rule for unknown outcomes."""
    rules = [{"name": f"orders.{request.param}", "match": "POST /orders", "on_unknown": request.param}]
    proxy = serve_module(shop.server.url, rules, to=orders.url)
    eventually(lambda: proxy.api("/readyz").status == 200, what="the schema")
    shop.allow()
    proxy.forwards = request.param == "forward"
    return proxy


def is_replay_of(retry, first):
    """What was committed: the headers that the example's server adds by itself are not part of it."""
    assert (retry.status, retry.body, retry.header("Idempotent-Replayed")) == (first.status, first.body, "true")
    for name in ("Content-Type", "Location", "Onceward-Operation-Id"):
        assert retry.header(name) == first.header(name)


@pytest.mark.parametrize("step", ["begin", "insert", "emit", "finish", "commit"])
def test_killed_before_its_commit_the_service_has_done_nothing(shop_front, shop, orders, key, step):
    orders.start("--die-at", step)
    first = shop_front.post("/orders", key=key, json={"item": "book"})
    operation_id = expect.problem(first, 502, UNKNOWN)["operationId"]
    orders.ended()
    orders.start()
    assert shop.orders(operation_id) == 0 and shop.events(operation_id) == ""
    retry = shop_front.post("/orders", key=key, json={"item": "book"})
    if shop_front.forwards:
        answer = expect.first_answer(retry)
        assert answer.header("Onceward-Operation-Id") == operation_id
        is_replay_of(shop_front.post("/orders", key=key, json={"item": "book"}), answer)
        assert shop.orders(operation_id) == 1 and shop.events(operation_id).count("order.created") == 1
    else:
        expect.problem(retry, 409, UNKNOWN)
        assert shop.orders(operation_id) == 0
    orders.stop()


@pytest.mark.parametrize("step", ["answer", "half-answer"])
def test_killed_after_its_commit_the_service_has_done_all_and_everybody_is_told(shop_front, shop, orders, key, step):
    orders.start("--die-at", step)
    first = shop_front.post("/orders", key=key, json={"item": "book"})
    assert first.status == 201 and first.json()["item"] == "book", first
    assert first.header("Idempotent-Replayed") is None and first.header("Location").startswith("/orders/")
    operation_id = first.header("Onceward-Operation-Id")
    orders.ended()
    retry = shop_front.post("/orders", key=key, json={"item": "book"})  # without the service
    assert (retry.status, retry.body, retry.header("Idempotent-Replayed")) == (201, first.body, "true")
    assert shop.orders(operation_id) == 1
    assert shop.events(operation_id) == f"{operation_id}:order.created|" + first.body.decode()


def test_the_example_answers_like_any_other_service(shop_front, shop, orders, key):
    orders.start()
    first = expect.first_answer(shop_front.post("/orders", key=key, json={"item": "pen"}))
    is_replay_of(shop_front.post("/orders", key=key, json={"item": "pen"}), first)
    expect.problem(shop_front.post("/orders", key=key, json={"item": "ink"}), 422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert shop.orders(first.header("Onceward-Operation-Id")) == 1
    orders.stop()


def test_killed_at_random_under_load_every_order_is_made_once(shop, orders, shop_front, key):
    """Under `forward` every key ends in one order, one event and one answer; under `hold` none has two."""
    chance = random.Random(7)
    keys = [f"{key}-{number}" for number in range(24)]
    answers = {}
    orders.start()
    for round_of in range(4):
        waiting = {one: shop_front.post_in_background("/orders", key=one, json={"item": one}) for one in keys}
        time.sleep(chance.uniform(0.0, 0.15))  # the kill comes at any moment: that is the test
        orders.stop()
        for one, sent in waiting.items():
            answer = sent.result()
            if answer.status == 201:
                assert answers.setdefault(one, answer.body) == answer.body
        orders.start()
    for one in keys:
        answer = shop_front.post("/orders", key=one, json={"item": one})
        if shop_front.forwards:
            assert answer.status == 201, answer
        if answer.status == 201:
            assert answers.setdefault(one, answer.body) == answer.body
    orders.stop()
    made = shop.server.sql(f"SELECT item, count(*) FROM orders WHERE item LIKE '{key}-%' GROUP BY item").split()
    assert sorted(made) == sorted(f"{one}|1" for one in answers)
    events = shop.server.sql(f"SELECT count(*) FROM onceward.outbox WHERE convert_from(payload, 'UTF8') LIKE '%{key}-%'")
    assert int(events) == len(answers)
    if shop_front.forwards:
        assert len(answers) == len(keys)


# -- the committed row against the wire ------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["another answer", "a retryable status", "an unknown status", "a reset", "half an answer"])
def test_what_was_committed_is_what_everybody_is_told(proxy, shop, upstream, key, wire):
    then = {"another answer": behaviours.answer(200, [("X-Wire", "1")], b"something else"),
            "a retryable status": behaviours.answer(503, [], b"busy"),
            "an unknown status": behaviours.answer(504, [], b"gateway"),
            "a reset": behaviours.reset(),
            "half an answer": behaviours.close(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")}[wire]
    script = upstream.script(commits(shop, then))
    first = proxy.post(key=key, script=script)
    assert (first.status, first.body) == (201, b'{"id": 1}'), first
    assert first.header("X-Row") == "1" and first.header("X-Wire") is None
    assert first.header("Idempotent-Replayed") is None
    retry = proxy.post(key=key, script=script)
    assert (retry.status, retry.body, retry.header("Idempotent-Replayed")) == (201, first.body, "true")
    assert upstream.effects(key) == 1 and shop.orders(first.header("Onceward-Operation-Id")) == 1


def test_an_answer_that_says_the_same_is_passed_on_untouched(proxy, shop, upstream, key):
    wire = behaviours.answer(201, [("Content-Type", "application/json"), ("Set-Cookie", "a=b")], b'{"id": 1}')
    first = proxy.post(key=key, script=upstream.script(commits(shop, wire)))
    assert first.header("Set-Cookie") == "a=b" and first.body == b'{"id": 1}'
    retry = proxy.post(key=key)
    assert retry.header("Set-Cookie") is None and retry.header("X-Row") == "1" and retry.body == first.body


def test_a_committed_failure_is_final_too(proxy, shop, upstream, key):
    first = proxy.post(key=key, script=upstream.script(commits(shop, behaviours.reset(), 402, "no money")))
    assert (first.status, first.body) == (402, b"no money")
    assert shop.state(first.header("Onceward-Operation-Id")) == "failed"
    assert proxy.post(key=key).status == 402 and upstream.effects(key) == 1


def test_a_proxy_killed_before_the_answer_finds_the_outcome_when_it_is_back(shop, upstream, serve, key):
    own = serve(shop.server.url, OPERATIONS)
    eventually(lambda: own.api("/readyz").status == 200, what="the schema")
    shop.allow()
    hold = behaviours.Hold()
    waiting = own.post_in_background(key=key, script=upstream.script(commits(shop, hold)))
    hold.wait_reached()
    own.kill()
    with pytest.raises(Exception):
        waiting.result()
    hold.release()
    own.restart()
    eventually(lambda: own.api("/readyz").status == 200, what="the store")
    retry = own.post(key=key)
    assert (retry.status, retry.body, retry.header("Idempotent-Replayed")) == (201, b'{"id": 1}', "true")
    assert upstream.effects(key) == 1


def test_duplicates_are_answered_as_soon_as_the_service_has_committed(proxy, shop, upstream, key):
    """Although the first caller's answer is still on its way. The proxy learns of it when it renews its lease."""
    hold = behaviours.Hold()
    first = proxy.post_in_background("/short", key=key, script=upstream.script(commits(shop, hold)))
    hold.wait_reached()
    eventually(lambda: proxy.post("/short", key=key).header("Idempotent-Replayed") == "true", what="a replay")
    hold.release()
    assert first.result().status == 201


# -- fencing -------------------------------------------------------------------------------------------


class Played:
    """A service whose steps the test takes one by one, in a transaction of its own."""

    def __init__(self, shop, upstream, proxy, path, key):
        self.hold = behaviours.Hold()
        self.connection = shop.connect()
        self.cursor = self.connection.cursor()
        self.answer = proxy.post_in_background(path, key=key, script=upstream.script(self.hold, behaviours.numbered_answer))
        self.hold.wait_reached()
        self.request = upstream.of_key(key)[-1]
        self.token = self.request.headers.get("Onceward-Token")

    def begin(self):
        self.cursor.execute("SELECT decision FROM onceward.begin(%s)", (self.token,))
        return self.cursor.fetchone()[0]

    def insert(self):
        self.cursor.execute("INSERT INTO orders (operation_id, item) VALUES (%s, 'book')", (self.request.operation_id,))


@pytest.fixture
def play(shop, upstream, proxy):
    played = []

    def start(path, key):
        played.append(Played(shop, upstream, proxy, path, key))
        return played[-1]

    yield start
    for service in played:
        service.connection.close()
        service.hold.release()


def test_an_operators_decision_fences_the_service_out(proxy, shop, play, key):
    service = play("/orders", key)
    assert service.begin() == "proceed"
    service.insert()
    decided = proxy.api(f"/v1/records/{service.request.operation_id}/resolve", "POST",
                        json={"as": "released", "epoch": 1, "reason": "test"})
    assert decided.status == 200, decided
    with pytest.raises(psycopg2.Error) as refused:
        finish(service.cursor, service.token)
    assert refused.value.pgcode == "OW002" and "no longer the current one" in str(refused.value)
    service.connection.rollback()
    assert shop.orders(service.request.operation_id) == 0


def test_a_takeover_fences_the_earlier_attempt_out(proxy, shop, upstream, play, key):
    """Its lease ends while its transaction is open; the next attempt executes, and only that one counts."""
    service = play("/again", key)
    assert service.begin() == "proceed"
    service.insert()
    eventually(lambda: shop.state(service.request.operation_id) == "unknown", what="the lease to end")
    script = upstream.script(commits(shop, behaviours.answer(201, [], b'{"id": 1}')))
    second = proxy.post_in_background("/again", key=key, script=script)
    eventually(lambda: len(upstream.of_key(key)) == 2, what="the second attempt")
    assert upstream.of_key(key)[1].epoch == "2" and not second.done  # its begin() waits for our transaction
    with pytest.raises(psycopg2.Error) as refused:
        finish(service.cursor, service.token)
    assert refused.value.pgcode == "OW002"
    service.connection.rollback()
    assert second.result().body == b'{"id": 1}'
    assert shop.orders(service.request.operation_id) == 1


def test_a_lapsed_lease_that_nobody_took_over_may_still_be_finished(proxy, shop, play, key):
    service = play("/short", key)
    assert service.begin() == "proceed"
    service.insert()
    eventually(lambda: shop.state(service.request.operation_id) == "unknown", what="the lease to end")
    expect.problem(proxy.post("/short", key=key), 409, UNKNOWN)
    finish(service.cursor, service.token)
    service.connection.commit()
    retry = proxy.post("/short", key=key)
    assert (retry.status, retry.body) == (201, b'{"id": 1}') and shop.orders(service.request.operation_id) == 1


def test_a_copy_of_the_request_waits_and_is_told_that_it_is_finished(shop, play, key):
    service = play("/orders", key)
    service.begin()
    with shop.connect() as other, other.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg2.errors.LockNotAvailable):
            cursor.execute("SELECT onceward.begin(%s)", (service.token,))
    finish(service.cursor, service.token)
    service.connection.commit()
    with other, other.cursor() as cursor:
        cursor.execute("SELECT decision, status, body FROM onceward.begin(%s)", (service.token,))
        decision, status, body = cursor.fetchone()
    other.close()
    assert (decision, status, bytes(body)) == ("finished", 201, b'{"id": 1}')


def test_a_service_that_stops_before_its_commit_holds_up_its_own_key_only(proxy, shop, upstream, play, key):
    """Its row is locked; verbs of that key are refused after a moment, and those of others go on."""
    service = play("/short", key)
    service.begin()
    finish(service.cursor, service.token)
    began = time.monotonic()
    while time.monotonic() - began < 2.5:  # its lease is renewed and ends meanwhile
        asked = time.monotonic()
        expect.first_answer(proxy.post(key=f"{key}-{asked}"))
        assert time.monotonic() - asked < 10
    service.connection.rollback()
    service.hold.release()
    assert service.answer.result().status in (201, 502)
    eventually(lambda: proxy.post("/short", key=key).status in (201, 409), what="the key to be answered")


# -- rights and arguments -------------------------------------------------------------------------------


def test_a_service_sees_no_record_and_needs_the_grant(proxy, shop, play, key):
    service = play("/orders", key)
    for sql in ("SELECT * FROM onceward.records", "SELECT * FROM onceward.readable", "SELECT * FROM onceward.outbox",
                f"SELECT onceward.record_of('{service.token}')"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            service.cursor.execute(sql)
        service.connection.rollback()
    shop.server.sql("CREATE ROLE stranger LOGIN")
    stranger = psycopg2.connect(shop.dsn.replace("shop@", "stranger@"))
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        stranger.cursor().execute("SELECT onceward.begin(%s)", (service.token,))
    stranger.close()


@pytest.mark.parametrize("spoil, code", [
    (lambda token: "nonsense", "OW001"), (lambda token: None, "OW001"), (lambda token: token[:-1], "OW001"),
    (lambda token: token[:-1] + ("0" if token[-1] != "0" else "1"), "OW002"),
    (lambda token: token.replace(".1.", ".2."), "OW002"),
], ids=["nonsense", "null", "short", "guessed", "another epoch"])
def test_another_token_is_refused(play, key, spoil, code):
    service = play("/orders", key)
    for sql in ("SELECT onceward.begin(%s)", "SELECT onceward.finish(%s, 201, '{}', '')", "SELECT onceward.emit(%s, 'a', '{}')"):
        with pytest.raises(psycopg2.Error) as refused:
            service.cursor.execute(sql, (spoil(service.token),))
        assert refused.value.pgcode == code
        service.connection.rollback()


def test_what_an_operator_decided_has_no_token(proxy, play, key):
    """Its record has no owner: what would be made of that must open nothing, or any service could read the answer."""
    service = play("/orders", key)
    operation = service.request.operation_id
    decided = proxy.api(f"/v1/records/{operation}/resolve", "POST", json={
        "as": "succeeded", "epoch": 1, "reason": "test", "response": {"status": 200, "json": {"for": "one caller"}}})
    assert decided.status == 200, decided
    service.cursor.execute("SELECT encode(substr(sha256('onceward.token' || decode(repeat('00', 16), 'hex')), 1, 16), 'hex')")
    proof = service.cursor.fetchone()[0]
    with pytest.raises(psycopg2.Error) as refused:
        service.cursor.execute("SELECT * FROM onceward.begin(%s)", (f"{operation}.1.{proof}",))
    assert refused.value.pgcode == "OW002"


@pytest.mark.parametrize("given", [("t" * 129, "i", "f"), ("t", "i" * 513, "f"), ("t", "i", "f" * 256), ("t\n", "i", "f")])
def test_a_result_that_is_too_long_to_show_is_refused(play, key, given):
    service = play("/orders", key)
    with pytest.raises(psycopg2.Error) as refused:
        service.cursor.execute("SELECT onceward.finish(%s, 409, NULL, '', NULL, %s, %s, %s)", (service.token, *given))
    assert refused.value.pgcode == "OW004"


@pytest.mark.parametrize("status, headers, body", [
    (99, "{}", ""), (600, "{}", ""), (None, "{}", ""), (204, "{}", "body"), (201, '"text"', ""), (201, '{"A B": "c"}', ""),
    (201, '{"A": "b\\r\\nC: d"}', ""), (201, '{"A": {}}', ""), (201, '[["A"]]', ""), (201, '["A"]', "")])
def test_an_answer_that_cannot_be_replayed_is_refused(play, key, status, headers, body):
    service = play("/orders", key)
    with pytest.raises(psycopg2.Error) as refused:
        finish(service.cursor, service.token, status, body, headers)
    assert refused.value.pgcode == "OW004"


def test_headers_are_replayed_in_their_order_and_without_what_belongs_to_a_connection(proxy, shop, play, key):
    service = play("/orders", key)
    lines = [["X-B", "1"], ["Connection", "close"], ["X-A", "ä"], ["X-B", "2"], ["Set-Cookie", "a=b"], ["Content-Length", "999"],
             ["Transfer-Encoding", "chunked"], ["Onceward-Stored", "false"]]
    finish(service.cursor, service.token, 200, "body", json.dumps(lines))
    service.connection.commit()
    service.hold.release()
    service.answer.result()
    retry = proxy.post("/orders", key=key)
    assert retry.status == 200 and retry.body == b"body"
    assert [value for name, value in retry.headers if name.lower() == "x-b"] == ["1", "2"]
    for name in ("Set-Cookie", "Transfer-Encoding", "Onceward-Stored"):
        assert retry.header(name) is None


def test_bytes_a_ttl_and_a_result_can_be_given(shop, play, key):
    service = play("/orders", key)
    service.cursor.execute("SELECT onceward.finish(%s, 200, NULL, %s, interval '7 days', 'order', %s)",
                           (service.token, psycopg2.Binary(b"\x00\xff"), "back\\slash"))
    service.connection.commit()
    row = shop.server.sql("SELECT response_body, (extract(epoch FROM ttl) / 86400)::integer, resource_type, resource_id FROM onceward.records "
                          f"WHERE operation_id = '{service.request.operation_id}'")
    assert row == "\\x00ff|7|order|back\\x5cslash"


@pytest.mark.parametrize("status, headers, result", [
    (201, '{"Location": "https://h/v1/orders/17/?a=b"}', "orders|17|"),
    (201, '[["Location", "/orders/17"], ["Onceward-Resource", "invoice/2026/4"]]', "invoice|2026/4|"),
    (201, '{"Location": "/17"}', "||"), (303, '{"Location": "/orders/17"}', "||"), (201, "[]", "||"),
    (402, '{"Onceward-Failure": "no_money", "Onceward-Resource": "order/17"}', "order|17|no_money"),
    (201, '{"Onceward-Failure": "no_money"}', "||")])
def test_an_answer_says_what_it_came_to_as_it_would_on_the_wire(proxy, shop, play, key, status, headers, result):
    service = play("/orders", key)
    finish(service.cursor, service.token, status, "", headers)
    service.connection.commit()
    row = shop.server.sql("SELECT resource_type, resource_id, failure_code FROM onceward.records "
                          f"WHERE operation_id = '{service.request.operation_id}'")
    assert row == result
    service.hold.release()
    service.answer.result()
    retry = proxy.post("/orders", key=key)
    assert retry.status == status and retry.header("Onceward-Resource") is None and retry.header("Onceward-Failure") is None


def test_events_are_emitted_once_per_type_and_before_the_end(shop, play, key):
    service = play("/orders", key)
    emit = "SELECT onceward.emit(%s, 'order.created', %s)"
    service.cursor.execute(emit, (service.token, '{"id": 1}'))
    service.cursor.execute(emit, (service.token, '{"id": 1}'))
    service.cursor.execute("SAVEPOINT s")
    with pytest.raises(psycopg2.Error) as refused:
        service.cursor.execute(emit, (service.token, '{"id": 2}'))
    assert refused.value.pgcode == "OW004"
    service.cursor.execute("ROLLBACK TO s")
    service.cursor.execute("SELECT onceward.emit(%s, 'order.raw', %s, 'text/plain')", (service.token, psycopg2.Binary(b"raw")))
    assert shop.events(service.request.operation_id) == ""  # nothing is seen before the commit
    finish(service.cursor, service.token)
    service.cursor.execute("SAVEPOINT s")
    with pytest.raises(psycopg2.Error) as refused:
        service.cursor.execute(emit, (service.token, '{"id": 1}'))
    assert refused.value.pgcode == "OW003"
    service.cursor.execute("ROLLBACK TO s")
    service.connection.commit()
    operation_id = service.request.operation_id
    assert shop.events(operation_id).splitlines() == [f'{operation_id}:order.created|{{"id": 1}}', f"{operation_id}:order.raw|raw"]


# -- who gets a token ------------------------------------------------------------------------------------


def test_only_a_database_hands_out_tokens_and_clients_cannot_send_one(proxy, memory_zoo, upstream, key, other_key):
    proxy.post(key=key, headers=[("Onceward-Token", "mine")])
    sent = upstream.of_key(key)[0]
    token = sent.headers.all("Onceward-Token")
    assert len(token) == 1 and token[0].startswith(f"{sent.operation_id}.{sent.epoch}.")
    memory_zoo.post(key=other_key, headers=[("Onceward-Token", "mine")])
    assert upstream.of_key(other_key)[0].headers.get("Onceward-Token") is None
    answer = proxy.post("/unguarded-here")
    assert answer.status == 201 and upstream.requests[-1].headers.get("Onceward-Token") is None


def test_with_a_cache_in_front_the_committed_row_counts_too(shop, redis, upstream, serve, key):
    own = serve(shop.server.url, OPERATIONS, cache=redis.url)
    eventually(lambda: own.api("/readyz").status == 200, what="the schema")
    shop.allow()
    first = own.post(key=key, script=upstream.script(commits(shop, behaviours.reset())))
    assert (first.status, first.body, first.header("Idempotent-Replayed")) == (201, b'{"id": 1}', None)
    retry = own.post(key=key)
    assert (retry.status, retry.body, retry.header("Idempotent-Replayed")) == (201, first.body, "true")
    assert upstream.effects(key) == 1


# -- the outbox ------------------------------------------------------------------------------------------


def test_an_emitted_event_is_sent_by_the_relay_once(shop, own_upstream, upstream, serve, key):
    """Of a database of its own: the relay sends whatever waits there."""
    own = serve(shop.server.new_database("relayed"), OPERATIONS, outbox={"sink": f"{own_upstream.url}/hook", "poll": "100ms"})
    eventually(lambda: own.api("/readyz").status == 200, what="the schema")
    shop.server.sql("SELECT onceward.allow_service('shop')", "relayed")

    def emits(exchange):
        connection = psycopg2.connect(shop.dsn.replace("/postgres", "/relayed"))
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT onceward.emit(%s, 'order.created', %s)", (token_of(exchange), '{"id": 1}'))
            finish(cursor, token_of(exchange))
        connection.close()
        return behaviours.reset()(exchange)

    first = own.post(key=key, script=upstream.script(emits))
    assert first.status == 201
    event = f"{first.header('Onceward-Operation-Id')}:order.created"
    eventually(lambda: own_upstream.of_key(event), what="the event")
    assert own.post(key=key).header("Idempotent-Replayed") == "true"
    eventually(lambda: shop.server.sql("SELECT count(*) FROM onceward.outbox", "relayed") == "0", what="the outbox to be empty")
    assert [request.body for request in own_upstream.of_key(event)] == [b'{"id": 1}']
