"""CONTRACT 7: the claims API. One store verb per call; the store decides, and repeating a call changes nothing."""

import base64
import hashlib
import json
import time

import pytest

from support import expect
from support.api import Api, b64
from support.behaviours import Hold
from support.client import Connection, build
from support.failpoints import arm, needs_failpoints
from support.onceward import Background, metric_sum
from support.waiting import eventually

STALE = "STALE_CLAIM"


def test_the_whole_life_of_a_claim(api, key):
    granted = api.claim(key, tenant="t", caller="c", lease_ms=5000, ttl_ms=60000)
    assert granted.status == 201 and granted.json()["decision"] == "proceed", granted
    assert granted.json()["epoch"] == 1
    claim = api.claimed(key + "-2")
    assert claim.ok("dispatch")["state"] == "processing"
    assert claim.ok("renew", lease_ms=20000)["lease_expires_at"] > claim.granted["lease_expires_at"][:-5]
    done = claim.complete(201, [("X-A", "1"), ("X-A", "2"), ("Location", "/orders/7")], b"\x00\xffdone")
    assert done.status == 200 and done.json()["state"] == "succeeded", done
    again = api.claim(key + "-2")
    assert again.status == 200, again
    assert again.json()["decision"] == "replay" and again.json()["operation_id"] == claim.id
    assert again.json()["response"] == {"status": 201, "body": b64(b"\x00\xffdone"),
                                        "headers": [["X-A", "1"], ["X-A", "2"], ["Location", "/orders/7"]]}


def test_a_duplicate_of_a_claim_is_in_progress_and_of_another_request_a_mismatch(api, key):
    claim = api.claimed(key)
    for state in ("claimed", "processing"):
        problem = expect.problem(api.claim(key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
        assert problem["decision"] == "in_progress" and problem["operationId"] == claim.id
        problem = expect.problem(api.claim(key, fingerprint="f2"), 422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
        assert problem["decision"] == "mismatch"
        assert claim.record()["state"] == state, "a rejected duplicate changes nothing"
        claim.ok("dispatch")
    assert claim.complete().status == 200


def test_a_mismatch_names_what_changed_and_has_the_operations_status(api, key):
    api.claimed(key, request={"method": "POST", "path": "/p", "json": {"a": 1, "b": {"c": 2}, "note": "x"}})
    problem = expect.problem(
        api.claim(key, request={"method": "POST", "path": "/p", "json": {"a": 1, "b": {"c": 3}, "note": "y"}}), 422,
        "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    assert problem["changed"] == ["/b/c"], "what the operation ignores does not count"
    api.claimed(key, operation="api.mismatch-400")
    expect.problem(api.claim(key, operation="api.mismatch-400", fingerprint="f2"), 400,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")


def test_scopes_do_not_meet(api, key):
    seen = {api.claimed(key, **scope).id for scope in (
        {}, {"tenant": ""}, {"tenant": "a"}, {"tenant": "b"}, {"caller": ""}, {"caller": "a"},
        {"tenant": "a", "caller": "a"}, {"operation": "api.listed"})}
    assert len(seen) == 8


@pytest.mark.parametrize("verb, fields", [
    ("dispatch", {}), ("renew", {"lease_ms": 10000}), ("release", {}), ("unknown", {"cause": "reset"}),
    ("complete", {"response": {"status": 500, "json": {"why": "no"}}})])
def test_a_repeated_call_is_answered_the_same_and_changes_nothing(api, key, verb, fields):
    claim = api.claimed(key)
    first = claim.ok(verb, **fields)
    record = claim.record()
    second = claim.ok(verb, **fields)
    assert {**first, "lease_expires_at": None} == {**second, "lease_expires_at": None}
    assert claim.record()["updated_at"] == record["updated_at"]
    assert claim.record()["state"] == record["state"]


def test_another_outcome_than_the_stored_one_is_refused(api, key):
    claim = api.claimed(key)
    assert claim.complete(201, body=b"one").status == 200
    expect.problem(claim.complete(201, body=b"two"), 409, "CONFLICT")
    expect.problem(claim.verb("release"), 409, "CONFLICT")
    expect.problem(claim.verb("dispatch"), 409, "CONFLICT")
    assert api.claim(key).json()["response"]["body"] == b64(b"one")


def test_an_outcome_by_its_status_or_by_name(api, key):
    for number, (status, fields, state) in enumerate([(399, {}, "succeeded"), (400, {}, "failed"),
                                                      (200, {"as": "failed"}, "failed"),
                                                      (500, {"as": "succeeded"}, "succeeded")]):
        claim = api.claimed(f"{key}-{number}")
        assert claim.complete(status, **fields).json()["state"] == state


@pytest.mark.parametrize("prepare", [[], ["dispatch"], ["dispatch", "unknown"], ["unknown"]])
def test_the_last_token_completes_from_every_open_state(api, key, prepare):
    claim = api.claimed(key)
    for verb in prepare:
        claim.ok(verb)
    assert claim.complete().json()["state"] == "succeeded"


def test_an_unknown_outcome_is_held(api, key):
    claim = api.claimed(key)
    claim.ok("dispatch")
    claim.ok("unknown", cause="upstream_status", status_seen=502, bytes_seen=17)
    problem = expect.problem(api.claim(key), 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert problem["decision"] == "unknown" and problem["operationId"] == claim.id
    assert claim.record()["evidence"] == {"cause": "upstream_status", "status_seen": 502, "bytes_seen": 17}


def test_an_outcome_that_was_declared_unknown_is_counted_once(api, key):
    def counted():
        return metric_sum(api.proxy.metrics(), "onceward_unknown_total", operation="api.orders", cause="half_answer")

    before, claim = counted(), api.claimed(key)
    for _ in range(2):
        claim.ok("unknown", cause="half_answer", status_seen=200, bytes_seen=3)
    assert counted() == before + 1


def test_forward_takes_an_unknown_claim_again_with_a_higher_epoch(api, key):
    claim = api.unknown(key, operation="api.forward")
    second = api.claimed(key, operation="api.forward")
    assert (second.id, second.epoch) == (claim.id, 2)
    expect.problem(claim.complete(), 409, STALE)


def test_a_released_key_runs_again_as_the_same_operation(api, key):
    claim = api.claimed(key)
    assert claim.ok("release")["state"] == "released"
    second = api.claimed(key)
    assert (second.id, second.epoch) == (claim.id, 2)
    for verb in ("dispatch", "renew", "release", "unknown"):
        expect.problem(claim.verb(verb), 409, STALE)
    expect.problem(claim.complete(), 409, STALE)
    assert second.record()["state"] == "claimed" and second.record()["epoch"] == 2


def tampered(token):
    raw = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    for at in (0, 1, 33, 49, 56, 57, 72):
        changed = bytearray(raw)
        changed[at] ^= 1
        yield base64.urlsafe_b64encode(changed).decode().rstrip("=")
    yield base64.urlsafe_b64encode(raw[:57] + bytes(16)).decode().rstrip("=")
    yield token[:-1]
    yield token + "A"
    yield "nonsense"


@pytest.mark.parametrize("verb", ["dispatch", "renew", "complete", "release", "unknown"])
def test_a_wrong_token_is_stale_and_changes_nothing(api, key, verb):
    claim = api.claimed(key)
    before = claim.record()
    fields = {"response": {"status": 200}} if verb == "complete" else {}
    for token in [*tampered(claim.token), api.claimed(key + "-other").token]:
        expect.problem(claim.verb(verb, token=token, **fields), 409, STALE)
    assert claim.record() == before
    expect.problem(api.post(f"/v1/claims/00000000-0000-7000-8000-000000000000/{verb}",
                            {"token": claim.token} | fields), 409, STALE)
    expect.problem(api.post(f"/v1/claims/not-an-id/{verb}", {"token": claim.token} | fields), 409, STALE)


def test_a_lapsed_claim_goes_to_the_next_caller(api, key):
    claim = api.claimed(key, lease_ms=1000)
    second = eventually(lambda: (r := api.claim(key)).status == 201 and r.json(), every=0.02)
    assert (second["operation_id"], second["epoch"]) == (claim.id, 2)
    expect.problem(claim.verb("dispatch"), 409, STALE)


def test_a_lapsed_dispatch_is_unknown_until_its_owner_speaks(api, key):
    claim = api.claimed(key, lease_ms=1000)
    claim.ok("dispatch")
    eventually(lambda: api.claim(key).json()["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN", every=0.02)
    assert claim.record()["evidence"]["cause"] == "owner_lost"
    expect.problem(claim.verb("renew", lease_ms=1000), 409, "CONFLICT")
    assert claim.complete(body=b"late").status == 200
    assert api.claim(key).json()["response"]["body"] == b64(b"late")


def test_renewals_keep_a_claim_but_not_beyond_the_longest_hold(api, key):
    claim = api.claimed(key, operation="api.short-hold", lease_ms=2000)
    claim.ok("dispatch")
    began = time.monotonic()
    while time.monotonic() - began < 2.5:
        claim.ok("renew", lease_ms=2000)
        time.sleep(0.05)
    assert claim.record()["state"] == "processing", "longer than a lease"
    last = claim.ok("renew", lease_ms=86400000)["lease_expires_at"]
    assert claim.ok("renew", lease_ms=86400000)["lease_expires_at"] == last
    eventually(lambda: claim.record()["state"] == "unknown", every=0.05)


def test_an_expired_answer_is_said_to_be_so(api, key):
    api.claimed(key, operation="api.receipt").complete()
    expired = eventually(lambda: (r := api.claim(key, operation="api.receipt")).status == 410 and r, every=0.05)
    assert expect.problem(expired, 410, "IDEMPOTENCY_RECORD_EXPIRED")["decision"] == "expired"


def test_a_named_attempt_may_be_repeated_when_its_answer_was_lost(api, key):
    first = api.claimed(key, claim_id="attempt-1")
    second = api.claimed(key, claim_id="attempt-1")
    assert second.granted == first.granted
    expect.problem(api.claim(key, claim_id="attempt-2"), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    expect.problem(api.claim(key), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    first.ok("release")
    expect.problem(api.claim(key, claim_id="attempt-1"), 409, STALE)
    assert api.claimed(key, claim_id="attempt-2").epoch == 2


def test_one_of_many_claims_at_once_is_granted(api, key):
    answers = [Background(lambda: api.claim(key)) for _ in range(20)]
    assert sorted(answer.result().status for answer in answers) == [201] + [409] * 19


def test_the_proxy_and_the_api_share_a_key(api, upstream, key):
    proxy = api.proxy
    caller = hashlib.sha256(b"Bearer x").hexdigest()
    who = {"tenant": "t1", "caller": caller}
    parts = {"method": "POST", "path": "/api/orders", "query": "a=1", "json": {"amount": 100}}

    def post():
        return proxy.post("/api/orders?a=1", key=key, json={"amount": 100.0}, tenant="t1", authorization="Bearer x")

    claim = api.claimed(key, request=parts, **who)
    expect.problem(post(), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    claim.complete(202, [("X-From", "worker")], b"by a worker")
    replay = post()
    assert (replay.status, replay.body, replay.replayed) == (202, b"by a worker", True), replay
    assert replay.operation_id == claim.id and replay.header("X-From") == "worker"
    assert upstream.effects(key) == 0

    other = key + "-proxy"
    hold = Hold()
    first = proxy.post_in_background("/api/orders", key=other, json={"amount": 1}, script=upstream.script(hold))
    hold.wait_reached()
    parts = {"method": "POST", "path": "/api/orders", "json": {"amount": 1}}
    expect.problem(api.claim(other, request=parts), 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS")
    hold.release()
    assert first.result().status == 201
    assert api.claim(other, request=parts).json()["response"]["body"] == b64(first.result().body)


def test_a_request_at_the_proxy_waits_for_a_claim_of_the_api(api, key):
    claim = api.claimed(key, request={"method": "POST", "path": "/api/orders", "json": {"amount": 100}})
    waiting = api.proxy.post_in_background("/api/orders", key=key, headers=[("Prefer", "wait=30")])
    claim.ok("dispatch")
    time.sleep(0.1)
    claim.complete(200, body=b"soon")
    assert waiting.result().body == b"soon"


def test_an_answer_cannot_smuggle_headers_into_a_replay(api, key):
    claim = api.claimed(key, request={"method": "POST", "path": "/api/orders", "json": {"amount": 100}})
    for headers in ([["X", "a\r\nSet-Cookie: b"]], [["X\r\nY", "a"]], [["X Y", "a"]], [["", "a"]], [["X", "\x00"]]):
        expect.problem(claim.verb("complete", response={"status": 200, "headers": headers}), 400, "BAD_REQUEST")
    claim.ok("complete", response={"status": 200, "body": b64("ok"), "headers": [
        ["Content-Length", "999"], ["Transfer-Encoding", "chunked"], ["Connection", "close"], ["X", "kept"]]})
    replay = api.proxy.post("/api/orders", key=key)
    assert replay.body == b"ok" and replay.header("X") == "kept" and replay.header("Content-Length") == "2"


BROKEN = [b"", b" ", b"null", b"[]", b"1", b'"x"', b"{", b"{}x", b'{"a":1,}', b"{'a':1}", b'{"token":"a","token":"b"}',
          b'{"token":"\xff"}', b"\xef\xbb\xbf{}", b'{"token":"\x01"}', b'{"a":' * 3000, b"\x00" * 10, b'{"token":1}',
          b'{"token":null}', b'{"token":""}', b'{"other":1}']


@pytest.mark.parametrize("where", ["", "/{id}/dispatch", "/{id}/renew", "/{id}/complete", "/{id}/release",
                                   "/{id}/unknown"])
def test_malformed_json_is_refused_and_nothing_is_lost(api, key, where):
    claim = api.claimed(key)
    before = claim.record()
    for body in BROKEN:
        expect.problem(api.post("/v1/claims" + where.replace("{id}", claim.id), body=body), 400, "BAD_REQUEST")
    assert claim.record() == before
    claim.ok("dispatch")
    assert claim.complete().status == 200


@pytest.mark.parametrize("fields, code", [
    ({"key": None}, "MISSING_IDEMPOTENCY_KEY"), ({"key": ""}, "INVALID_IDEMPOTENCY_KEY"),
    ({"key": "k" * 256}, "INVALID_IDEMPOTENCY_KEY"), ({"key": "\u00e9"}, "INVALID_IDEMPOTENCY_KEY"),
    ({"operation": ""}, "BAD_REQUEST"), ({"operation": "onceward.audit"}, "BAD_REQUEST"),
    ({"operation": "onceward.x"}, "BAD_REQUEST"), ({"fingerprint": None}, "BAD_REQUEST"),
    ({"request": {}}, "BAD_REQUEST"), ({"lease_ms": 0}, "BAD_REQUEST"), ({"lease_ms": 10**12}, "BAD_REQUEST"),
    ({"ttl_ms": -1}, "BAD_REQUEST"), ({"ttl_ms": "1"}, "BAD_REQUEST"), ({"tennant": "t"}, "BAD_REQUEST")])
def test_a_claim_that_makes_no_sense_is_refused(api, fields, code):
    body = {"operation": "api.orders", "key": "k", "fingerprint": "f"} | fields
    expect.problem(api.post("/v1/claims", body), 400, code)


def announced(api, target, length):
    """Says how long its body will be and sends only the first bytes: what is too long is refused at once."""
    headers = [("Authorization", f"Bearer {api.proxy.token}"), ("Content-Length", length)]
    with Connection(api.proxy.api_port) as connection:
        connection.send(build("POST", target, headers, b"{", host="127.0.0.1"))
        return connection.read("POST")


def test_bodies_have_a_limit(api, key):
    claim = api.claimed(key)
    before = claim.record()
    verb = f"/v1/claims/{claim.id}/"
    for target, length in ((verb + "dispatch", 70 << 10), (verb + "release", 70 << 10), ("/v1/claims", 2 << 20),
                           (verb + "complete", 15 << 20), ("/v1/purge", 70 << 10),
                           (f"/v1/records/{claim.id}/resolve", 15 << 20)):
        expect.problem(announced(api, target, length), 413, "REQUEST_TOO_LARGE")
    assert claim.record() == before
    assert claim.complete(body=b"x" * (3 << 20)).status == 200, "an answer may be as large as one that is kept"


def test_a_claim_survives_a_restart(serve, key):
    proxy = serve("file")
    claim = Api(proxy).claimed(key)
    done = Api(proxy).claimed(key + "-done")
    done.complete(body=b"kept")
    proxy.kill()
    proxy.restart()
    assert Api(proxy).claim(key + "-done").json()["response"]["body"] == b64("kept")
    assert claim.complete().status == 200, "the token outlives the process"


@needs_failpoints
def test_a_store_that_fails_is_503_and_the_call_may_be_repeated(serve, key):
    proxy = serve("memory", env=arm("claim.after:error@1-2"))
    api = Api(proxy)
    expect.problem(api.claim(key, claim_id="a"), 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
    claim = api.claimed(key, claim_id="a")
    assert claim.epoch == 1, "it had been written, and is found by its owner"


@needs_failpoints
def test_a_lost_reply_is_asked_for_again(serve, key):
    proxy = serve("memory", env=arm("claim.after:error@1,complete.after:error@1"))
    claim = Api(proxy).claimed(key)
    assert claim.complete().status == 200


def test_the_api_is_served_on_a_socket_of_its_owner_only(serve, tmp_path, key):
    path = tmp_path / "api.sock"
    proxy = serve("memory", **{"api": {"listen": "off", "socket": str(path)}})
    eventually(lambda: "onceward ready" in proxy.logs())
    assert path.stat().st_mode & 0o777 == 0o600
    token = eventually(lambda: next((json.loads(line)["token"] for line in proxy.logs().splitlines()
                                     if line.startswith("{") and '"token"' in line), None))
    with unix_connection(path) as connection:
        body = json.dumps({"operation": "o", "key": key, "fingerprint": "f"}).encode()
        connection.send(build("POST", "/v1/claims", [("Authorization", f"Bearer {token}")], body, host="any"))
        assert connection.read("POST").status == 201
        connection.send(build("GET", "/v1/records"))
        assert connection.read("GET").status == 401, "a token is needed here too"
    proxy.stop()
    assert not path.exists()
    path.touch()
    proxy.expect_exit = 1
    proxy.write_config()
    assert proxy.spawn().ended_with() == 1, "a file that is no socket is not replaced"
    proxy.expect_exit = 0


def test_a_socket_that_was_left_behind_is_replaced(serve, tmp_path):
    path = tmp_path / "api.sock"
    proxy = serve("memory", **{"api": {"listen": "off", "socket": str(path)}})
    eventually(lambda: "onceward ready" in proxy.logs())
    proxy.kill()
    assert path.exists()
    proxy.restart()
    eventually(lambda: proxy.logs().count("onceward ready") == 2)
    with unix_connection(path) as connection:
        connection.send(build("GET", "/healthz"))
        assert connection.read("GET").status == 200


def unix_connection(path):
    import socket

    class Local(Connection):
        def __init__(self):
            from support.wire import Reader
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(20.0)
            self.sock.connect(str(path))
            self.reader = Reader(self.sock)

    return Local()
