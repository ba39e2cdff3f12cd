"""CONTRACT 7: what operators see of records and what they may do to them."""

import threading

import pytest

from support import expect
from support.api import Api, b64, new_key
from support.behaviours import Hold
from support.onceward import Background
from support.waiting import eventually

LISTED = "/v1/records?operation=api.listed"


def ids(records):
    return [record["operation_id"] for record in records]


def test_records_are_listed_by_what_they_are(api, key):
    tenant = f"tenant {key}/&=ü"
    done = api.claimed(key + "-1", tenant=tenant)
    done.complete()
    failed = api.claimed(key + "-2", tenant=tenant)
    failed.complete(500)
    held = api.claimed(key + "-3", tenant=tenant, operation="api.listed")
    unknown = api.unknown(key + "-4", tenant=tenant)
    released = api.claimed(key + "-5", tenant=tenant)
    released.ok("release")
    from urllib.parse import quote
    of_tenant = f"/v1/records?tenant={quote(tenant)}"
    everything = {done.id, failed.id, held.id, unknown.id, released.id}
    assert set(ids(api.get(of_tenant).json()["records"])) == everything
    for state, wanted in (("succeeded", done), ("failed", failed), ("claimed", held), ("unknown", unknown),
                          ("released", released)):
        assert ids(api.get(f"{of_tenant}&state={state}").json()["records"]) == [wanted.id]
    assert ids(api.get(f"{of_tenant}&operation=api.listed").json()["records"]) == [held.id]
    assert api.get(f"{of_tenant}&operation=none").json() == {"records": [], "cursor": None}
    assert ids(api.get(f"{of_tenant}&older_than=1h").json()["records"]) == []
    eventually(lambda: len(api.get(f"{of_tenant}&older_than=50ms").json()["records"]) == 5)


def test_a_record_says_what_it_is_and_nothing_that_was_answered(api, key):
    claim = api.claimed(key, tenant="t", caller="secret-caller")
    claim.complete(201, [("Set-Thing", "secret-header")], b"secret-body")
    record = claim.record()
    assert (record["state"], record["epoch"], record["operation"], record["tenant"]) == ("succeeded", 1, "api.orders", "t")
    assert record["response"] == {"status": 201, "body_bytes": 11, "stored": True}
    listed = api.get("/v1/records?tenant=t&operation=api.orders&limit=1000").body.decode()
    for secret in ("secret-caller", "secret-header", "secret-body", key, claim.token):
        assert secret not in str(record) and secret not in listed
    assert claim.id in listed
    revealed = api.record(claim.id, reveal=True)["response"]
    assert revealed == {"status": 201, "headers": [["Set-Thing", "secret-header"]], "body": b64("secret-body")}


@pytest.mark.parametrize("query", [
    "state=done", "limit=0", "limit=1001", "limit=x", "limit=", "older_than=1", "older_than=-1s", "older_than=1w",
    "cursor=%00", "cursor=zz", "cursor=", "what=1", "state=unknown&state=failed", "tenant=%zz", "tenant=%4"])
def test_a_query_that_makes_no_sense_is_refused(api, query):
    expect.problem(api.get(f"/v1/records?{query}"), 400, "BAD_REQUEST")


@pytest.mark.parametrize("target", ["/v1/stats?x=1", "/v1/audit?limit=0", "/v1/audit?cursor=x", "/v1/audit?x=1"])
def test_the_other_lists_are_as_strict(api, target):
    expect.problem(api.get(target), 400, "BAD_REQUEST")


@pytest.mark.parametrize("target", ["/v1/records/00000000-0000-7000-8000-000000000000", "/v1/records/x"])
def test_what_does_not_exist_is_404(api, target):
    expect.problem(api.get(target), 404, "NOT_FOUND")
    expect.problem(api.post(target + "/resolve", {"as": "failed", "epoch": 1, "reason": "r"}), 404, "NOT_FOUND")


def test_pages_show_every_record_once_while_others_come_and_go(api):
    kept = {api.claimed(new_key(), operation="api.listed").id for _ in range(25)}
    seen, cursor = [], None
    while True:
        page = api.get(f"{LISTED}&limit=7" + (f"&cursor={cursor}" if cursor else "")).json()
        seen += ids(page["records"])
        assert len(page["records"]) <= 7
        cursor = page["cursor"]
        if cursor is None:
            break
        api.claimed(new_key(), operation="api.listed")
        gone = api.claimed(new_key(), operation="api.listed")
        gone.complete()
    assert len(seen) == len(set(seen)), "twice"
    assert kept <= set(seen)


def test_a_limit_counts_what_is_shown(api):
    for _ in range(3):
        api.resolve(api.unknown(new_key()).id)  # each leaves an audit entry among the records
    assert len(api.get("/v1/records?limit=3").json()["records"]) == 3


def test_an_operator_says_what_became_of_it(api, key):
    claim = api.unknown(key)
    response = {"status": 201, "headers": [["X-A", "b"]], "json": {"id": 7}}
    resolved = api.resolve(claim.id, response=response)
    assert resolved.status == 200 and resolved.json()["state"] == "succeeded", resolved
    replay = api.claim(key).json()["response"]
    assert replay["status"] == 201 and replay["body"] == b64('{"id": 7}')
    expect.problem(claim.complete(), 409, "STALE_CLAIM")


def test_a_resolution_without_an_answer_keeps_the_key_from_running(api, key):
    claim = api.unknown(key)
    assert api.resolve(claim.id, **{"as": "failed"}).json()["state"] == "failed"
    expect.problem(api.claim(key), 409, "IDEMPOTENCY_RESPONSE_NOT_STORED")


def test_a_released_record_runs_again(api, key):
    claim = api.unknown(key)
    assert api.resolve(claim.id, **{"as": "released"}).json()["state"] == "released"
    expect.problem(api.resolve(claim.id, **{"as": "released"}), 409, "CONFLICT")
    assert api.claimed(key).epoch == 2
    expect.problem(claim.complete(), 409, "STALE_CLAIM")


@pytest.mark.parametrize("fields", [
    {"epoch": None}, {"reason": None}, {"reason": ""}, {"as": None}, {"as": "unknown"}, {"as": "expired"}, {"as": 7},
    {"epoch": 0}, {"epoch": "1"}, {"epoch": 1.5}, {"reason": "r" * 1001}, {"as": "released", "response": {"status": 200}},
    {"response": {"status": 1000}}, {"extra": 1}])
def test_a_resolution_needs_an_epoch_and_a_reason(api, key, fields):
    claim = api.unknown(key)
    before = claim.record()
    expect.problem(api.resolve(claim.id, **fields), 400, "BAD_REQUEST")
    assert claim.record() == before


def test_malformed_json_changes_nothing(api, key):
    claim = api.unknown(key)
    for body in (b"", b"{", b"[]", b'{"as":"failed","epoch":1,"reason":"r","reason":"s"}', b"\xff"):
        expect.problem(api.post(f"/v1/records/{claim.id}/resolve", body=body), 400, "BAD_REQUEST")
        expect.problem(api.post("/v1/purge", body=body), 400, "BAD_REQUEST")
    assert claim.record()["state"] == "unknown"


def test_a_record_that_has_changed_or_is_final_refuses(api, key):
    claim = api.unknown(key)
    expect.problem(api.resolve(claim.id, epoch=2), 409, "CONFLICT")
    assert claim.record()["state"] == "unknown"
    claim.complete(body=b"late, but first")
    expect.problem(api.resolve(claim.id), 409, "CONFLICT")
    assert api.claim(key).json()["response"]["body"] == b64("late, but first")


def test_of_two_operators_at_once_one_wins(api):
    for _ in range(10):
        key = new_key()
        claim = api.unknown(key)
        start = threading.Barrier(4)

        def resolve(number):
            start.wait()
            return api.resolve(claim.id, response={"status": 200, "body": b64(str(number))})

        answers = [Background(lambda n=n: resolve(n)) for n in range(4)]
        winners = [n for n, answer in enumerate(answers) if answer.result().status == 200]
        assert len(winners) == 1, [answer.result() for answer in answers]
        assert all(answer.result().status in (200, 409) for answer in answers)
        assert api.claim(key).json()["response"]["body"] == b64(str(winners[0]))


@pytest.mark.parametrize("decision", ["released", "failed"])
def test_of_two_operators_at_two_proxies_one_wins(serve, empty_store, decision):
    store = empty_store("postgres")
    apis = [Api(serve(store)) for _ in range(2)]
    for _ in range(10):
        claim = apis[0].unknown(new_key())
        start = threading.Barrier(2)
        answers = [Background(lambda api=api: (start.wait(), api.resolve(claim.id, **{"as": decision}))[1]) for api in apis]
        assert sorted(answer.result().status for answer in answers) == [200, 409]
        assert claim.record()["state"] == decision
    audited = [entry["outcome"] for entry in apis[0].audit()["entries"] if entry["action"] == "resolve"]
    assert audited.count("applied") == 10, audited


def test_of_a_late_answer_and_an_operator_one_wins(api):
    for _ in range(10):
        key = new_key()
        claim = api.unknown(key)
        start = threading.Barrier(2)
        late = Background(lambda: (start.wait(), claim.complete(200, body=b"late"))[1])
        operator = Background(lambda: (start.wait(), api.resolve(claim.id, response={"status": 200, "body": b64("op")}))[1])
        statuses = {"late": late.result().status, "op": operator.result().status}
        winners = [name for name, status in statuses.items() if status == 200]
        assert len(winners) == 1 and set(statuses.values()) == {200, 409}, statuses
        assert api.claim(key).json()["response"]["body"] == b64(winners[0])


def test_an_operator_overrules_a_request_that_still_runs(api, upstream, key):
    hold = Hold()
    first = api.proxy.post_in_background("/api/orders", key=key, tenant=key, script=upstream.script(hold))
    hold.wait_reached()
    (record,) = api.get(f"/v1/records?state=processing&tenant={key}").json()["records"]
    answer = {"status": 200, "body": b64("by hand")}
    assert api.resolve(record["operation_id"], response=answer).status == 200
    hold.release()
    assert first.result().body == b"by hand", "the stored outcome is everybody's"
    assert api.proxy.post("/api/orders", key=key, tenant=key).body == b"by hand"
    assert upstream.effects(key) == 1


def purge(api, **what):
    removed, cursor = 0, None
    while True:
        response = api.post("/v1/purge", what | ({"cursor": cursor} if cursor else {}))
        assert response.status == 200, response
        removed += response.json()["removed"]
        cursor = response.json()["cursor"]
        if cursor is None:
            return removed


def test_only_final_records_are_purged(api, key):
    kept = [api.claimed(f"{key}-{n}", operation="api.purged") for n in range(3)]
    kept[1].ok("dispatch")
    kept[2].ok("unknown")
    for number in range(4):
        claim = api.claimed(f"{key}-done-{number}", operation="api.purged")
        claim.complete(200 if number % 2 else 500)
    other = api.claimed(key, operation="api.purged-too")
    other.complete()
    assert purge(api, operation="api.purged", before="1h") == 0
    assert purge(api, operation="api.purged") == 4
    left = api.pages("/v1/records?operation=api.purged", "records")
    assert set(ids(left)) == {claim.id for claim in kept}
    assert [claim.complete().status for claim in kept] == [200] * 3
    assert other.record()["state"] == "succeeded"


def test_a_tenants_records_are_purged_and_nobody_elses(api, key):
    for number in range(5):
        api.claimed(f"{key}-{number}", tenant="leaving").complete()
    stays = api.claimed(key, tenant="staying")
    stays.complete()
    assert purge(api, tenant="leaving") == 5
    assert api.get("/v1/records?tenant=leaving").json()["records"] == []
    assert stays.record()["state"] == "succeeded"


def test_everything_final_may_be_purged_but_not_the_audit_trail(serve, empty_store):
    for store in ("memory", "file", "postgres"):
        api = Api(serve(empty_store(store)))
        for number in range(30):
            api.claimed(f"{number}", operation=f"op-{number % 3}", tenant="t" if number % 2 else None).complete()
        held = api.claimed("held", operation="op-1")
        assert purge(api, tenant="") == 15
        assert purge(api) == 15
        assert ids(api.pages("/v1/records", "records")) == [held.id]
        assert [entry["action"] for entry in api.audit()["entries"]] == ["purge", "purge"]


@pytest.mark.parametrize("what", [
    {"before": "yesterday"}, {"before": 7}, {"operation": "onceward.audit"}, {"everything": True}, {"cursor": "x"},
    {"tenant": 1}])
def test_a_purge_that_makes_no_sense_is_refused(api, what):
    expect.problem(api.post("/v1/purge", what), 400, "BAD_REQUEST")


def test_statistics_count_what_is_there(serve):
    api = Api(serve("file"))
    api.claimed("a", operation="x").complete()
    api.claimed("b", operation="x").complete()
    api.unknown("c", operation="y")
    api.resolve(api.unknown("d", operation="y").id)
    stats = api.get("/v1/stats").json()
    assert stats["records"] == 4 and stats["complete"] is True
    assert stats["states"] == {"succeeded": 3, "unknown": 1}
    assert {(row["operation"], row["state"]): row["count"] for row in stats["operations"]} == {
        ("x", "succeeded"): 2, ("y", "succeeded"): 1, ("y", "unknown"): 1}
    assert stats["stored_bytes"] > 0
