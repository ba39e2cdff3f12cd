"""Command operations: key → operation → result. The business reference of a request and what its answer came to, as
the caller and the operators see them."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from support import expect, onceward
from support.api import Api
from support.behaviours import answer
from support.waiting import eventually
from support.zoo import operation

OPERATIONS = [
    operation("/orders", reference="/order/no"),
    operation("/by-header", reference="header:X-Order"),
    operation("/receipt", reference="/order/no", ttl="1s", receipt_ttl="1h"),
    operation("/probed", on_unknown="probe",
              probe={"request": "GET /found/{operation_id}?script={/script}", "every": "100ms"}),
]
PROBLEM = [("Content-Type", "application/problem+json")]


def order(number):
    return {"order": {"no": number}, "amount": 5}


def operation_of(proxy, response, **options):
    found = proxy.get(f"/.well-known/onceward/operations/{response.operation_id}", **options)
    assert found.status == 200, found
    return found.json()


def test_an_operation_is_found_by_its_reference_and_says_what_it_came_to(proxy, upstream, key, other_key):
    script = upstream.script(answer(201, [("Location", "/v1/orders/42"), ("X-A", "b")], b"made"))
    first = expect.first_answer(proxy.post("/orders", key=key, json=order(key), script=script))
    assert first.header("Location") == "/v1/orders/42"
    expect.first_answer(proxy.post("/orders", key=other_key, json=order(other_key)))
    shown = operation_of(proxy, first)
    assert shown["reference"] == key
    assert shown["result"] == {"resourceType": "orders", "resourceId": "42"}
    assert proxy.get(f"/.well-known/onceward/operations/{first.operation_id}", tenant="other").status == 404
    api = Api(proxy)
    found, = api.get(f"/v1/records?reference={key}").json()["records"]
    assert found["operation_id"] == first.operation_id
    assert found["reference"] == key
    assert found["result"] == {"resource_type": "orders", "resource_id": "42"}
    assert api.record(first.operation_id)["result"] == found["result"]
    assert api.get(f"/v1/records?reference={key}x").json()["records"] == []
    assert api.get(f"/v1/records?reference={key}&state=failed").json()["records"] == []
    expect.replay_of(proxy.post("/orders", key=key, json=order(key)), first)
    assert upstream.effects(key) == 1


def test_a_failure_has_a_code(proxy, upstream, key):
    script = upstream.script(answer(409, PROBLEM, b'{"type":"/taken","code":"TAKEN"}'))
    first = proxy.post("/orders", key=key, json=order(key), script=script)
    assert first.status == 409
    assert operation_of(proxy, first)["result"] == {"failureCode": "TAKEN"}
    found, = Api(proxy).get(f"/v1/records?reference={key}").json()["records"]
    assert (found["state"], found["result"]) == ("failed", {"failure_code": "TAKEN"})


def test_the_receipt_still_knows(proxy, upstream, key):
    script = upstream.script(answer(201, [("Onceward-Resource", "order/42")]))
    proxy.post("/receipt", key=key, json=order(key), script=script)
    gone = eventually(lambda: (lambda r: r if r.status == 410 else None)(proxy.post("/receipt", key=key, json=order(key))))
    assert operation_of(proxy, gone)["result"] == {"resourceType": "order", "resourceId": "42"}
    found, = Api(proxy).get(f"/v1/records?reference={key}").json()["records"]
    assert (found["state"], found["reference"]) == ("expired", key)


@pytest.mark.parametrize("guarded", [True, False])
def test_what_the_service_says_to_us_is_not_for_the_client(memory_proxy, upstream, key, guarded):
    says = [("Onceward-Resource", "order/7"), ("onceward-failure", "NO"), ("Location", "/v1/orders/42"), ("X-A", "b")]
    script = upstream.script(answer(201, says))
    options = {"key": key} if guarded else {}
    first = memory_proxy.post("/orders", json=order(key), script=script, **options)
    for response in [first] + ([memory_proxy.post("/orders", key=key, json=order(key))] if guarded else []):
        assert not response.headers.has("Onceward-Resource") and not response.headers.has("Onceward-Failure")
        assert response.header("X-A") == "b" and response.header("Location") == "/v1/orders/42"
    if guarded:
        assert operation_of(memory_proxy, first)["result"] == {"resourceType": "order", "resourceId": "7"}


def test_a_reference_may_be_a_header_and_may_be_missing(memory_proxy, key, other_key):
    named = memory_proxy.post("/by-header", key=key, headers=[("X-Order", "A 17")])
    assert operation_of(memory_proxy, named)["reference"] == "A 17"
    assert len(Api(memory_proxy).get("/v1/records?reference=A%2017").json()["records"]) == 1
    nameless = expect.first_answer(memory_proxy.post("/by-header", key=other_key))
    assert "reference" not in operation_of(memory_proxy, nameless)
    too_long = memory_proxy.post("/by-header", key=key + "-long", headers=[("X-Order", "x" * 256)])
    assert "reference" not in operation_of(memory_proxy, expect.first_answer(too_long))


def test_what_is_no_outcome_has_no_result(memory_proxy, upstream, key, other_key):
    released = memory_proxy.post("/orders", key=key, json=order(key),
                                 script=upstream.script(answer(503, [("Onceward-Failure", "BUSY")])))
    assert "result" not in operation_of(memory_proxy, released)
    unknown = memory_proxy.post("/orders", key=other_key, json=order(other_key),
                                script=upstream.script(answer(502, [("Onceward-Failure", "GONE")])))
    assert "result" not in operation_of(memory_proxy, unknown)


def test_a_probe_can_tell_the_result(memory_proxy, upstream, key):
    script = upstream.script(answer(502), answer(200, [("Onceward-Resource", "order/9")], b"found"))
    body = {"script": script}
    memory_proxy.post("/probed", key=key, json=body, script=script)
    found = eventually(lambda: (lambda r: r if r.status == 200 else None)(
        memory_proxy.post("/probed", key=key, json=body)))
    assert operation_of(memory_proxy, found)["result"] == {"resourceType": "order", "resourceId": "9"}


def test_an_operator_can_tell_the_result(memory_proxy, upstream, key):
    unknown = memory_proxy.post("/orders", key=key, json=order(key), script=upstream.script(answer(502)))
    api = Api(memory_proxy)
    result = {"resource_type": "order", "resource_id": "11"}
    expect.problem(api.resolve(unknown.operation_id, **{"as": "released"}, result=result), 400, "BAD_REQUEST")
    assert api.resolve(unknown.operation_id, response={"status": 201}, result=result).status == 200
    assert api.record(unknown.operation_id)["result"] == result


@pytest.mark.parametrize("store", ["memory", "file"])
def test_claims_have_references_and_results(serve, key, other_key, store):
    api = Api(serve(store))
    claim = api.claimed(key, operation="invoices.send", reference="INV-42")
    result = {"resource_type": "invoice", "resource_id": "42"}
    assert claim.complete(result=result).status == 200
    assert claim.record()["reference"] == "INV-42" and claim.record()["result"] == result
    replay = api.claim(key, operation="invoices.send")
    assert replay.json()["decision"] == "replay" and replay.json()["result"] == result
    failed = api.claimed(other_key, operation="invoices.send", reference="INV-42")
    assert failed.complete(422, result={"failure_code": "NO_ADDRESS"}).status == 200
    assert len(api.get("/v1/records?reference=INV-42").json()["records"]) == 2
    expect.problem(api.claim(key + "x", reference="a\nb"), 400, "BAD_REQUEST")
    expect.problem(api.claim(key + "x", reference="x" * 256), 400, "BAD_REQUEST")
    other = api.claimed(key + "y")
    expect.problem(other.complete(result={"resource_id": "1"}), 400, "BAD_REQUEST")


def test_the_command_line_finds_by_reference(memory_proxy, key):
    first = memory_proxy.post("/orders", key=key, json=order(key))
    token = memory_proxy.folder / "token"
    listed = onceward.run("records", "list", "--reference", key, "--json", "--api",
                          f"http://127.0.0.1:{memory_proxy.api_port}", "--token-file", token)
    assert listed.returncode == 0, listed.stderr
    record = json.loads(listed.stdout)
    assert (record["operation_id"], record["reference"]) == (first.operation_id, key)
    shown = onceward.run("records", "show", first.operation_id, "--api",
                         f"http://127.0.0.1:{memory_proxy.api_port}", "--token-file", token)
    assert re.search(rf"reference +{re.escape(key)}", shown.stdout), shown.stdout


# -- examples/cases: what docs/bulk.md and docs/operations.md show ---------------------------------------------------

@pytest.fixture
def cases(tmp_path):
    example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "cases"
    service = subprocess.Popen([sys.executable, str(example / "service.py"), "--port", "0"], stdout=subprocess.PIPE,
                               text=True)
    url = re.search(r"http://\S+", service.stdout.readline())[0]
    proxy = onceward.Onceward(tmp_path, url)
    text = (example / "onceward.yaml").read_text()
    proxy.write_config(text.replace("127.0.0.1:8080", f"127.0.0.1:{proxy.port}").replace("http://127.0.0.1:9000", url)
                       + "api: " + json.dumps(proxy.config["api"]) + "\n")
    proxy.spawn()
    eventually(proxy.accepts, 15, what=proxy.logs)
    yield proxy
    proxy.stop()
    service.kill()
    service.wait()


def test_the_example_does_what_the_docs_say(cases, key):
    opened = [cases.post("/cases", key=f"{key}-{order}", json={"order": order}) for order in ("A-17", "A-18")]
    found, = cases.api("/v1/records?reference=A-17").json()["records"]
    assert found["operation_id"] == opened[0].operation_id
    assert found["result"] == {"resource_type": "cases", "resource_id": "C-1"}
    body = {"items": [{"id": "a", "case": "C-1"}, {"id": "b", "case": "C-2"}, {"id": "c", "case": "C-9"}]}
    first = cases.post("/cases:approve", key=key, json=body, headers=[("X-Batch", "friday")])
    told = first.json()
    assert [(item["id"], item["state"], item["status"]) for item in told["items"]] == [
        ("a", "succeeded", 200), ("b", "succeeded", 200), ("c", "failed", 404)]
    assert told["items"][0]["body"] == {"case": "C-1", "approved": True}
    assert told["summary"] == {"total": 3, "succeeded": 2, "failed": 1, "retryable": 0, "unknown": 0, "expired": 0}
    expect.replay_of(cases.post("/cases:approve", key=key, json=body), first)
    assert cases.get("/cases").json() == {"C-1": 1, "C-2": 1}
    results = {record["operation"]: record.get("result") for record in
               cases.api("/v1/records?reference=friday").json()["records"] if record["state"] == "failed"}
    assert results == {"cases.approve-many.item": {"failure_code": "NO_SUCH_CASE"}}
