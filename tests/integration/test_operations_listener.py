"""The API's own listener, as far as a proxy needs it: health, metrics, and what must not be in them."""

import json
import re
import stat
import subprocess

import pytest

from support import behaviours, expect
from support.behaviours import Hold
from support.onceward import Background, Onceward, metric_sum
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation


@pytest.fixture(scope="module", params=["memory", "file"])
def measured(request, serve_module):
    return serve_module(request.param, [operation("/counted", in_progress=WAIT_NOT), operation("/shared")])


@pytest.mark.parametrize("target", ["/healthz", "/readyz"])
def test_a_healthy_proxy_says_so_without_a_token(measured, target):
    assert measured.api(target, token=False).status == 200


def test_an_unknown_path_is_404(measured):
    assert measured.api("/no-such-thing").status == 404


@pytest.mark.parametrize("target", ["/v1/records", "/v1/stats"])
def test_records_need_a_token(measured, target):
    expect.problem(measured.api(target, token=False), 401, "UNAUTHENTICATED")
    expect.problem(measured.api(target, token="wrong"), 401, "UNAUTHENTICATED")


def test_metrics_are_in_prometheus_format(measured, key):
    measured.post("/counted", key=key)
    response = measured.api("/metrics")
    assert response.status == 200 and response.header("Content-Type", "").startswith("text/plain")
    assert measured.metrics()
    types = re.findall(r"^# TYPE (\S+) (\S+)$", response.body.decode(), re.MULTILINE)
    assert len(types) == len({name for name, _ in types}), "a metric is declared twice"
    for name in ("onceward_request_seconds", "onceward_store_seconds", "onceward_upstream_seconds"):
        assert (name, "histogram") in types
    for name in ("onceward_claims_total", "onceward_replays_total"):
        assert (name, "counter") in types


@pytest.mark.parametrize("name", [
    "onceward_claims_total", "onceward_replays_total", "onceward_fingerprint_mismatch_total", "onceward_in_progress",
    "onceward_in_progress_rejected_total", "onceward_unknown", "onceward_unknown_total", "onceward_records_active",
    "onceward_expired_total", "onceward_purge_lag_seconds", "onceward_key_quota_rejected_total",
    "onceward_suspected_duplicates_total", "onceward_request_seconds", "onceward_store_seconds",
    "onceward_upstream_seconds",
])
def test_every_metric_of_the_contract_is_declared(measured, name):
    assert re.search(rf"^# TYPE {name} ", measured.api("/metrics").body.decode(), re.MULTILINE)


def grows(proxy, name, by, action, **labels):
    before = metric_sum(proxy.metrics(), name, **labels)
    action()
    assert metric_sum(proxy.metrics(), name, **labels) - before == by, f"{name}{labels}"


def test_what_happens_is_counted(measured, upstream, key):
    where = {"operation": "counted"}

    def twice_over():
        measured.post("/counted", key=key)
        measured.post("/counted", key=key)

    grows(measured, "onceward_replays_total", 1, twice_over, **where)
    grows(measured, "onceward_fingerprint_mismatch_total", 1,
          lambda: measured.post("/counted", key=key, json={"other": 1}), **where)
    grows(measured, "onceward_unknown_total", 1,
          lambda: measured.post("/counted", key=key + "-lost", script=upstream.script(behaviours.reset())), **where)
    grows(measured, "onceward_upstream_seconds_count", 1, lambda: measured.post("/counted", key=key + "-3"), **where)
    assert metric_sum(measured.metrics(), "onceward_claims_total", **where) >= 3
    assert metric_sum(measured.metrics(), "onceward_store_seconds_count", verb="claim") >= 3


def test_records_are_counted_by_state(serve, upstream, key):
    """Read once, after everything has happened: such a gauge may be counted now and then only."""
    proxy = serve("file", [operation("/counted"), operation("/receipt", ttl="1s", receipt_ttl="1h")])
    for number in range(3):
        expect.first_answer(proxy.post("/counted", key=f"{key}-{number}"))
    proxy.post("/counted", key=f"{key}-lost", script=upstream.script(behaviours.reset()))
    proxy.post("/counted", key=f"{key}-free", script=upstream.script(behaviours.answer(503)))
    proxy.post("/receipt", key=key)
    eventually(lambda: proxy.post("/receipt", key=key).status == 410, every=0.05, what="the record to expire")
    metrics = proxy.metrics()
    assert metric_sum(metrics, "onceward_unknown", operation="counted") == 1
    for state, count in (("succeeded", 3), ("unknown", 1), ("released", 1)):
        assert metric_sum(metrics, "onceward_records_active", operation="counted", state=state) == count
    assert metric_sum(metrics, "onceward_expired_total", operation="receipt") == 1


def test_many_may_ask_for_the_metrics_at_once_under_load(measured, key):
    requests = [measured.post_in_background("/counted", key=f"{key}-{number}") for number in range(30)]
    pages = [Background(lambda: measured.api("/metrics")) for _ in range(10)]
    assert {page.result().status for page in pages} == {200}
    assert {request.result().status for request in requests} == {201}


def test_requests_in_progress_are_counted(measured, upstream, key):
    hold = Hold()
    first = measured.post_in_background("/counted", key=key, script=upstream.script(hold))
    hold.wait_reached()
    assert metric_sum(measured.metrics(), "onceward_in_progress", operation="counted") == 1
    grows(measured, "onceward_in_progress_rejected_total", 1, lambda: measured.post("/counted", key=key),
          operation="counted")
    hold.release()
    assert first.result().status == 201
    assert metric_sum(measured.metrics(), "onceward_in_progress", operation="counted") == 0


def test_requests_without_an_entry_do_not_make_labels_without_end(serve, key):
    """Contract silent: an operation without an entry is named by its path; a scanner must not fill the memory."""
    proxy = serve()
    for number in range(300):
        proxy.post(f"/path-{number}", key=f"{key}-{number}")
    labels = {value for (_, having) in proxy.metrics() for name, value in having if name == "operation"}
    assert len(labels) < 300


def test_no_secret_is_in_metrics_logs_or_policy(serve, upstream, key):
    secrets = {"key": key, "tenant": "tenant-s3cr3t", "caller": "caller-s3cr3t", "body": "body-s3cr3t",
               "answer": "answer-s3cr3t", "cookie": "cookie-s3cr3t", "query": "query-s3cr3t"}
    proxy = serve("file", [operation("/orders", in_progress=WAIT_NOT)])
    script = upstream.script(behaviours.answer(201, [("Set-Cookie", secrets["cookie"])], secrets["answer"].encode()))

    def post(key=key, body=secrets["body"], script=script):
        return proxy.post(f"/orders?q={secrets['query']}", key=key, json={"text": body}, script=script,
                          tenant=secrets["tenant"], authorization="Bearer " + secrets["caller"])

    expect.first_answer(post())
    assert post().replayed
    assert post(body=secrets["body"] + "2").status == 422
    post(key=key + "-reset", script=upstream.script(behaviours.reset()))
    assert post(key=key + "-reset").status == 409
    assert post(key=f'"{key}').status == 400
    seen = proxy.api("/metrics").body.decode() + proxy.get("/.well-known/onceward/policy").body.decode()
    proxy.stop()
    seen += proxy.logs()
    for name, secret in secrets.items():
        assert secret not in seen, f"the {name} is in the metrics, the policy or the logs"
    assert proxy.token not in seen


def test_without_a_token_file_a_token_is_kept_in_the_stores_folder(serve, upstream):
    proxy = serve("file")
    proxy.stop()
    del proxy.config["api"]["token_file"]
    proxy.restart()
    path = proxy.folder / "data" / "admin.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = path.read_text().strip()
    assert len(token) >= 16 and token not in proxy.logs()
    assert proxy.api("/v1/records", token=token).status == 200
    assert proxy.api("/v1/records").status == 401, "the token of the file is not one any more"
    proxy.stop()
    proxy.restart()
    assert path.read_text().strip() == token


def test_another_address_without_tls_and_a_token_is_refused(tmp_path, upstream):
    proxy = Onceward(tmp_path, upstream)
    proxy.config["api"] = {"listen": f"0.0.0.0:{proxy.api_port}"}
    proxy.write_config()
    proxy.spawn()
    assert proxy.ended_with() in (1, 2)


def test_the_proxys_port_does_not_serve_the_api(measured):
    for target in ("/metrics", "/healthz", "/v1/records"):
        assert measured.get(target).json()["target"] == target, "it is the upstream's"


def test_the_api_is_described(measured):
    response = measured.api("/openapi.json", token=False)
    assert json.loads(response.body)["openapi"].startswith("3.")


def test_promtool_accepts_the_metrics(measured):
    try:
        result = subprocess.run(["promtool", "check", "metrics"], input=measured.api("/metrics").body,
                                capture_output=True)
    except FileNotFoundError:
        pytest.skip("promtool is not installed")
    assert result.returncode == 0, result
