"""What watches the proxy: metrics that Prometheus accepts, with the names and labels of the contract; alerts that fire
when they should; a dashboard and a runbook that speak of things that exist."""

import json
import re
import shutil
import subprocess

import pytest

from support import expect
from support.behaviours import reset
from support.onceward import ROOT
from support.zoo import operation

ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
ALERT_TESTS = ROOT / "deploy/prometheus/alerts_test.yaml"
DASHBOARD = ROOT / "deploy/grafana/dashboard.json"
RUNBOOK = ROOT / "docs/runbook.md"

needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")

# CONTRACT 7, and below the line what is there besides.
METRICS = {
    "onceward_claims_total": ("counter", {"operation", "outcome"}),
    "onceward_replays_total": ("counter", {"operation"}),
    "onceward_fingerprint_mismatch_total": ("counter", {"operation"}),
    "onceward_in_progress": ("gauge", {"operation"}),
    "onceward_in_progress_rejected_total": ("counter", {"operation"}),
    "onceward_unknown": ("gauge", {"operation"}),
    "onceward_unknown_total": ("counter", {"operation", "cause"}),
    "onceward_records_active": ("gauge", {"operation", "state"}),
    "onceward_expired_total": ("counter", {"operation"}),
    "onceward_purge_lag_seconds": ("gauge", set()),
    "onceward_key_quota_rejected_total": ("counter", set()),
    "onceward_suspected_duplicates_total": ("counter", {"operation"}),
    "onceward_request_seconds": ("histogram", {"operation", "outcome"}),
    "onceward_store_seconds": ("histogram", {"verb"}),
    "onceward_upstream_seconds": ("histogram", {"operation"}),
    # ---
    "onceward_outbox_pending": ("gauge", set()),
    "onceward_outbox_set_aside": ("gauge", set()),
    "onceward_outbox_oldest_seconds": ("gauge", set()),
    "onceward_outbox_sent_total": ("counter", set()),
    "onceward_outbox_failed_total": ("counter", set()),
    "onceward_probes_total": ("counter", {"operation", "answer"}),
    "onceward_store_errors_total": ("counter", {"verb"}),
}


@pytest.fixture(scope="module")
def page(serve_module, upstream):
    """A scrape after a little of everything, also of the machinery's own records."""
    probe = {"request": "GET /payments/{operation_id}", "every": "100ms"}
    proxy = serve_module("memory", [operation("/payments", on_unknown="probe", probe=probe)])
    key = "monitoring"
    expect.first_answer(proxy.post("/payments", key=key))
    assert proxy.post("/payments", key=key).replayed
    assert proxy.post("/payments", key=key, json={"other": 1}).status == 422
    proxy.post("/payments", key=key + "-lost", script=upstream.script(reset()))
    return proxy.api("/metrics").body.decode()


def samples(page):
    for line in page.splitlines():
        if line and not line.startswith("#"):
            name, labels = re.match(r"([a-z_]+)(?:\{(.*)\})? ", line).groups()
            yield name, set(re.findall(r'([a-z_]+)="', labels or ""))


def test_the_metrics_are_those_of_the_contract_with_its_labels(page):
    declared = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    assert declared == {name: kind for name, (kind, _) in METRICS.items()}
    seen = set()
    for name, labels in samples(page):
        family = name if name in METRICS else re.sub(r"_(bucket|sum|count)$", "", name)
        assert labels - {"le"} == METRICS[family][1], f"{name}{labels}"
        seen.add(family)
    assert seen == set(METRICS), "a metric without a sample"
    assert 'operation="onceward.' not in page, "the machinery's own records are nobody's requests"


def test_every_metric_has_a_help_text(page):
    assert set(re.findall(r"^# HELP (\S+) \S", page, re.MULTILINE)) == set(METRICS)


@needs_promtool
def test_promtool_accepts_the_page_without_a_complaint(page):
    result = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
    assert result.returncode == 0 and not result.stdout + result.stderr, result


@needs_promtool
def test_promtool_accepts_the_alerts_and_they_fire_when_they_should():
    for command in (["check", "rules", ALERTS.name], ["test", "rules", ALERT_TESTS.name]):
        result = subprocess.run(["promtool", *command], cwd=ALERTS.parent, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr


def alert_names():
    return re.findall(r"- alert: (\w+)", ALERTS.read_text())


def test_every_alert_is_tested_both_ways():
    tested = ALERT_TESTS.read_text()
    quiet, bad = tested.split("- name: a bad day")
    for name in alert_names():
        assert f"alertname: {name}}}" in quiet, f"{name} is not shown to be silent"
        assert re.search(rf"alertname: {name}\n\s+exp_alerts:", bad), f"{name} is not shown to fire"


def metrics_named_in(text):
    names = set(re.findall(r"\bonceward_[a-z_]+", text))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


@pytest.mark.parametrize("file", [ALERTS, DASHBOARD, RUNBOOK], ids=lambda file: file.name)
def test_what_is_named_exists(file):
    named = metrics_named_in(file.read_text())
    assert named and named <= set(METRICS), named - set(METRICS)


def test_the_dashboard_is_whole():
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert metrics_named_in(" ".join(expressions)) == set(METRICS), "a metric that nobody would see"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for expression in expressions:
        assert expression.count("(") == expression.count(")"), expression


def test_the_runbook_has_a_section_for_every_alert_and_every_link_to_it_works():
    headings = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
                for line in RUNBOOK.read_text().splitlines() if line.startswith("#")}
    links = re.findall(r"docs/runbook\.md#(\S+)", ALERTS.read_text())
    assert len(links) == len(alert_names()) and set(links) <= headings, set(links) - headings
