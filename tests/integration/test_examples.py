"""The example services: a ladder of three order services, and payments behind the proxy. The production service is held
to the same list on every store."""

import pathlib
import sys
import threading

import pytest

from support import expect
from support.example import Example, program
from support.onceward import Onceward, RefusedToStart
from support.waiting import PATIENCE, eventually

SERVERS = pathlib.Path(__file__).resolve().parents[1] / "servers"
ACME = "0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b10"
OTHER = "0190b5a3-6f3e-7c2e-9d1a-2f6c1a7e4b11"

pytestmark = pytest.mark.skipif(not program("orders-easy").exists(), reason="the examples are not built")


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    started = []

    def run(name, *arguments, **options):
        example = Example(name, tmp_path_factory.mktemp(name), *arguments, **options).start()
        started.append(example)
        return example

    yield run
    for example in started:
        example.stop()


def all_at_once(count, action):
    """Runs `action` in so many threads that begin together; their results."""
    results = [None] * count
    together = threading.Barrier(count)

    def one(index):
        together.wait(PATIENCE)
        results[index] = action(index)

    threads = [threading.Thread(target=one, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    assert None not in results
    return results


# -- orders-easy --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def easy(start):
    return start("orders-easy")


def test_easy_gives_a_retry_the_same_order(easy, key):
    first, retry = easy.post("/orders", key), easy.post("/orders", key)
    assert (first.status, retry.status) == (201, 200)
    assert retry.body == first.body


def test_easy_creates_one_order_for_twenty_at_once(easy, key):
    before = len(easy.orders())
    answers = all_at_once(20, lambda _: easy.post("/orders", key))
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.body for answer in answers}) == 1
    assert len(easy.orders()) == before + 1


def test_easy_lacks_what_its_readme_says(easy, key):
    """No tenants and no check of the payload: whoever uses the key gets the first order."""
    first = easy.post("/orders", key, tenant=ACME)
    assert easy.post("/orders", key, json={"item": "pen"}, tenant=OTHER).body == first.body


def test_easy_needs_a_key_and_an_order(easy, key):
    assert easy.post("/orders").status == 400
    assert easy.post("/orders", key, json=["no order"]).status == 400


# -- orders-mature ------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def mature(start):
    return start("orders-mature")


def test_mature_replays_within_a_tenant_and_isolates_tenants(mature, key):
    first = mature.post("/orders", key, tenant=ACME)
    retry = mature.post("/orders", key, tenant=ACME.upper())
    other = mature.post("/orders", key, tenant=OTHER)
    assert (first.status, retry.status, other.status) == (201, 200, 201)
    assert retry.body == first.body != other.body


def test_mature_refuses_another_payload(mature, key):
    mature.post("/orders", key, tenant=ACME)
    before = mature.orders()
    assert mature.post("/orders", key, json={"item": "pen"}, tenant=ACME).status == 409
    assert mature.orders() == before


@pytest.mark.parametrize("tenant, sent_key", [(None, "k"), ("not-a-uuid", "k"), (ACME, None), (ACME, "k" * 256)])
def test_mature_needs_a_tenant_and_a_key(mature, tenant, sent_key):
    assert mature.post("/orders", sent_key, tenant=tenant).status == 400


def test_mature_creates_one_order_for_twenty_at_once(mature, key):
    before = len(mature.orders())
    answers = all_at_once(20, lambda _: mature.post("/orders", key, tenant=ACME))
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len(mature.orders()) == before + 1


# -- orders-production --------------------------------------------------------------------------------

@pytest.fixture(scope="module", params=["memory", "file", "redis"])
def store(request, tmp_path_factory):
    if request.param != "redis":
        yield request.param if request.param == "memory" else f"file:{tmp_path_factory.mktemp('store')}"
        return
    sys.path.insert(0, str(SERVERS))
    import redis_server
    server = redis_server.start(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def production(start, store):
    return start("orders-production", "--store", store, "--store.max-response-bytes", "400")


def test_production_executes_the_first_and_replays_the_retry(production, key):
    first = production.post("/orders", key, tenant=ACME)
    assert first.status == 201
    assert first.header("Idempotent-Replayed") is None
    retry = production.post("/orders", key, tenant=ACME)
    assert retry.status == 200
    assert retry.header("Idempotent-Replayed") == "true"
    assert retry.body == first.body
    assert retry.header("Location") == first.header("Location")


def test_production_refuses_another_payload(production, key):
    production.post("/orders", key, tenant=ACME)
    before = production.orders()
    expect.problem(production.post("/orders", key, json={"item": "pen"}, tenant=ACME), 409,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert production.orders() == before


def test_production_keeps_keys_and_tenants_apart(production, key, other_key):
    answers = [production.post("/orders", *one[:1], tenant=one[1]) for one in
               [(key, ACME), (other_key, ACME), (key, OTHER)]]
    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.body for answer in answers}) == 3


def test_production_lets_pass_what_has_no_key(production):
    answers = [production.post("/orders", tenant=ACME) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body != answers[1].body


@pytest.mark.parametrize("tenant, sent_key, code", [
    (None, "k", "MISSING_TENANT"),
    ("not-a-uuid", "k", "INVALID_TENANT"),
    (ACME, "", "INVALID_IDEMPOTENCY_KEY"),
    (ACME, "k" * 256, "INVALID_IDEMPOTENCY_KEY"),
])
def test_production_refuses_before_the_service(production, tenant, sent_key, code):
    before = production.orders()
    refused = production.post("/orders", tenant=tenant, headers=[("Idempotency-Key", sent_key)])
    expect.problem(refused, 400, code)
    assert production.orders() == before


def test_production_leaves_reading_alone(production, key):
    answers = [production.request("GET", "/orders", key=key, headers=[("X-Tenant-ID", "nobody")]) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    assert all(answer.header("Idempotent-Replayed") is None for answer in answers)


def test_production_creates_one_order_for_twenty_at_once_and_tells_the_others(production, key):
    before = len(production.orders())
    slow = [("Simulate-Work-Ms", "1500")]
    answers = all_at_once(20, lambda _: production.post("/orders", key, tenant=ACME, headers=slow))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 19
    for answer in answers:
        if answer.status == 409:
            expect.problem(answer, 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    assert len(production.orders()) == before + 1


def test_production_does_not_keep_an_answer_that_is_too_large(production, key):
    order = {"item": "x" * 500}
    first = production.post("/orders", key, json=order, tenant=ACME)
    assert first.status == 201 and len(first.body) > 400
    again = expect.problem(production.post("/orders", key, json=order, tenant=ACME), 409,
                           "IDEMPOTENCY_RESPONSE_NOT_STORED")
    assert again["originalStatus"] == 201


def test_production_keeps_its_outcomes_in_a_folder_over_a_restart(start, tmp_path, key):
    folder = tmp_path / "orders-data"
    first = start("orders-production", "--store", f"file:{folder}")
    created = first.post("/orders", key, tenant=ACME)
    first.stop()
    retry = start("orders-production", "--store", f"file:{folder}").post("/orders", key, tenant=ACME)
    assert (retry.status, retry.body) == (200, created.body)


def test_production_reads_its_settings_from_a_file_and_flags_win(start, tmp_path, key):
    settings = tmp_path / "settings.yaml"
    settings.write_text("store:\n  type: memory\n  ttl: 1h\n  lock-ttl: 5s\n  max-response-bytes: 10\n")
    small = start("orders-production", "--settings", settings)
    small.post("/orders", key, tenant=ACME)
    expect.problem(small.post("/orders", key, tenant=ACME), 409, "IDEMPOTENCY_RESPONSE_NOT_STORED")
    large = start("orders-production", "--settings", settings, "--store.max-response-bytes", "1MiB")
    large.post("/orders", key, tenant=ACME)
    assert large.post("/orders", key, tenant=ACME).status == 200
    settings.write_text("store: { tlt: 1h }\n")
    with pytest.raises(RefusedToStart, match="store.tlt"):
        Example("orders-production", tmp_path / "wrong", "--settings", settings).start()


def test_production_keeps_the_lock_when_storing_fails(start, key):
    """Only builds with failpoints can fail on demand; the library's own tests cover it everywhere."""
    try:
        service = start("orders-production", "--store.lock-ttl", "3s",
                        env={"ONCEWARD_FAILPOINT": "complete.before:error@1-9"})
    except RefusedToStart as refusal:
        assert "no failpoints" in str(refusal)
        pytest.skip("this build has no failpoints")
    first = service.post("/orders", key, tenant=ACME)
    assert (first.status, first.header("Onceward-Stored")) == (201, "false")
    assert service.post("/orders", key, tenant=ACME).status == 409
    assert len(service.orders()) == 1


# -- payments -----------------------------------------------------------------------------------------

def payment_operations():
    probe = {"request": "GET /payments/by-operation/{operation_id}", "applied": [200], "not_applied": [404],
             "every": "200ms", "give_up": "1m"}
    charge, refund = [{"name": name, "match": match, "key": {"required": True}, "on_unknown": "probe", "probe": probe}
                      for name, match in [("payments.charge", "POST /payments"), ("payments.refund", "POST /refunds")]]
    return [charge | {"unique": {"name": "charge-per-order", "fields": ["/order"], "keep": "365d"}}, refund]


@pytest.fixture(scope="module")
def payments(start):
    return start("payments", "--slow-ms", "3000")


@pytest.fixture(scope="module")
def guarded_payments(payments, tmp_path_factory):
    proxy = Onceward(tmp_path_factory.mktemp("payments"), {"url": payments.url, "timeout": "500ms"}, "memory",
                     payment_operations())
    proxy.start()
    yield proxy
    proxy.stop()


def movements(payments, transaction):
    return [one for one in payments.get("/provider/movements").json() if one["id"] == transaction]


def test_payments_takes_the_operation_id_as_the_providers_key(payments):
    headers = [("Onceward-Operation-Id", "0190b5a3-0000-7000-8000-000000000001")]
    answers = [payments.post("/payments", json={"amount": 5}, headers=headers) for _ in range(2)]
    assert answers[0].json()["transaction"] == answers[1].json()["transaction"]
    refund = payments.post("/refunds", json={"amount": 5}, headers=headers)
    assert refund.json()["transaction"] != answers[0].json()["transaction"]


def test_payments_tells_a_probe_what_happened(payments):
    operation = "0190b5a3-0000-7000-8000-000000000002"
    assert payments.get(f"/payments/by-operation/{operation}").status == 404
    payments.post("/payments", json={"amount": 7}, headers=[("Onceward-Operation-Id", operation)])
    found = payments.get(f"/payments/by-operation/{operation}")
    assert (found.status, found.json()["amount"]) == (200, 7)


def test_a_refund_under_the_key_of_its_charge_is_another_operation(payments, guarded_payments, key):
    charge = guarded_payments.post("/payments", key, json={"amount": 5})
    refund = guarded_payments.post("/refunds", key, json={"amount": 5})
    assert (charge.json()["kind"], refund.json()["kind"]) == ("charge", "refund")
    assert guarded_payments.post("/payments", key, json={"amount": 5}).body == charge.body
    assert len(movements(payments, charge.json()["transaction"])) == 1


def test_an_order_is_charged_once_whatever_the_key(payments, guarded_payments, key):
    charge = guarded_payments.post("/payments", key, json={"order": key, "amount": 5})
    again = guarded_payments.post("/payments", key + "-2", json={"order": key, "amount": 5})
    assert expect.problem(again, 409, "DUPLICATE_BUSINESS_OPERATION")["operationId"] == charge.operation_id
    assert len(movements(payments, charge.json()["transaction"])) == 1


def test_a_lost_answer_of_a_charge_is_found_by_the_probe(payments, guarded_payments, key):
    order = {"amount": 5, "simulate": "lost-answer"}
    expect.problem(guarded_payments.post("/payments", key, json=order), 504, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    settled = eventually(lambda: answered(guarded_payments.post("/payments", key, json=order)), 10.0)
    assert settled.status < 300
    assert len([one for one in payments.get("/provider/movements").json() if one["key"].endswith(settled.operation_id)]) == 1


def answered(response):
    return response if response.status < 400 else None
