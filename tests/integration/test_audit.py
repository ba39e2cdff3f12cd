"""CONTRACT 7: every change by an operator leaves a trace, in the store, before it is made."""

import pytest

from support import expect
from support.api import Api, new_key
from support.failpoints import arm, needs_failpoints
from support.waiting import eventually


def about(api, claim):
    return api.audit(f"?operation_id={claim.id}")["entries"]


def test_a_resolution_is_written_down(api, key):
    claim = api.unknown(key)
    assert about(api, claim) == []
    api.resolve(claim.id, **{"as": "failed", "reason": "the bank says no \u2014 \"ada\""})
    (entry,) = about(api, claim)
    assert entry.pop("at")[:4].isdigit() and entry.pop("id")
    assert entry == {"actor": "admin", "action": "resolve", "operation_id": claim.id, "epoch": 1, "from": "unknown",
                     "as": "failed", "reason": "the bank says no \u2014 \"ada\"", "outcome": "applied"}


def test_a_purge_is_written_down_with_what_it_removed(api, key):
    api.claimed(key, tenant=key).complete()
    api.post("/v1/purge", {"tenant": key, "before": "2199-01-01T00:00:00Z", "reason": "left us"})
    entry = next(e for e in api.audit()["entries"] if e.get("tenant") == key)
    assert (entry["action"], entry["outcome"], entry["removed"], entry["reason"]) == ("purge", "applied", 1, "left us")


def test_what_was_refused_at_once_changed_nothing_and_is_not_there(api, key):
    claim = api.unknown(key)
    api.resolve(claim.id, epoch=9)
    api.resolve(claim.id, reason="")
    assert about(api, claim) == []


def test_entries_come_newest_first_in_pages(api):
    claims = [api.unknown(new_key()) for _ in range(7)]
    for claim in claims:
        assert api.resolve(claim.id, reason=claim.id).status == 200
    first = api.audit("?limit=3")
    assert [entry["reason"] for entry in first["entries"]] == [claim.id for claim in reversed(claims[-3:])]
    api.resolve(api.unknown(new_key()).id, reason="later")  # comes before what was shown
    second = api.audit(f"?limit=3&cursor={first['cursor']}")
    assert [entry["reason"] for entry in second["entries"]] == [claim.id for claim in reversed(claims[1:4])]
    everything = api.pages("/v1/audit?limit=2", "entries")
    assert len({entry["id"] for entry in everything}) == len(everything)
    assert [entry["at"] for entry in everything] == sorted((entry["at"] for entry in everything), reverse=True)


def test_the_trail_is_kept_apart_from_the_clients_records(api, key):
    claim = api.unknown(key)
    api.resolve(claim.id)
    (entry,) = about(api, claim)
    assert "onceward.audit" not in {record["operation"] for record in api.pages("/v1/records?limit=1000", "records")}
    assert api.get("/v1/records?operation=onceward.audit").json()["records"] == []
    expect.problem(api.get(f"/v1/records/{entry['id']}"), 404, "NOT_FOUND")
    expect.problem(api.resolve(entry["id"]), 404, "NOT_FOUND")
    assert "onceward.audit" not in api.get("/v1/stats").body.decode()
    assert "onceward.audit" not in api.proxy.api("/metrics").body.decode()
    well_known = api.proxy.get(f"/.well-known/onceward/operations/{entry['id']}")
    expect.problem(well_known, 404, "NOT_FOUND")


def test_the_trail_survives_a_restart(serve, key):
    proxy = serve("file")
    claim = Api(proxy).unknown(key)
    Api(proxy).resolve(claim.id, reason="kept")
    proxy.kill()
    proxy.restart()
    assert [entry["reason"] for entry in about(Api(proxy), claim)] == ["kept"]


def test_the_trail_is_kept_for_its_time(serve, key):
    proxy = serve("memory", audit_ttl="1s")
    claim = Api(proxy).unknown(key)
    Api(proxy).resolve(claim.id)
    assert len(about(Api(proxy), claim)) == 1
    eventually(lambda: about(Api(proxy), claim) == [], every=0.1)


@needs_failpoints
def test_without_a_trace_nothing_is_changed(serve, key):
    """The first claim is the test's own; the next two are both attempts to write the entry."""
    proxy = serve("memory", env=arm("claim.before:error@2-3"))
    claim = Api(proxy).unknown(key)
    expect.problem(Api(proxy).resolve(claim.id), 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
    assert claim.record()["state"] == "unknown"


@needs_failpoints
def test_an_entry_that_could_not_be_completed_says_unknown(serve, key):
    proxy = serve("memory", env=arm("complete.before:error@1-2"))
    claim = Api(proxy).unknown(key)
    assert Api(proxy).resolve(claim.id).status == 200
    (entry,) = about(Api(proxy), claim)
    assert (entry["outcome"], entry["action"], entry["reason"]) == ("unknown", "resolve", "test")


@pytest.mark.parametrize("name", ["onceward.audit", "onceward.mine"])
def test_no_operation_may_be_called_like_the_trail(tmp_path, name):
    from support.onceward import problems_of_config
    result = problems_of_config(tmp_path, f"operations: [{{name: {name}, match: POST /x}}]")
    assert result.returncode == 2 and "reserved" in result.stderr + result.stdout, result
