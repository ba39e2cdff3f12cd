"""CONTRACT 6: `onceward verify URL`, a black-box check of any server, and `onceward bench`, load with duplicates."""

import json
import threading

import pytest
from ports import free_port

from support.behaviours import answer, message
from support.onceward import run

BODY = '{"amount": 100}'


def verify(url, *arguments, within=60):
    result = run("verify", "--json", "-d", BODY, *arguments, url, within=within)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return result.returncode, {line["check"]: line["result"] for line in lines if "check" in line}, lines


def failed(checks):
    return {name for name, result in checks.items() if result == "failed"}


def test_the_proxy_conforms(serve, upstream):
    proxy = serve(defaults={"key": {"required": True}})
    code, checks, lines = verify(proxy.url + "/orders")
    assert code == 0 and failed(checks) == set(), lines
    assert lines[-1]["conforms"] is True and len(checks) >= 15
    result = run("verify", "-d", BODY, proxy.url + "/orders")
    assert result.returncode == 0 and "FAIL" not in result.stdout and "It does all" in result.stdout


def test_a_server_that_ignores_keys_does_not_conform(upstream):
    code, checks, _ = verify(upstream.url + "/orders")
    assert code == 1
    assert {"the same request again gets the first answer", "a different request under the same key is refused",
            "duplicates at the same time are one execution",
            "a client that leaves and comes back gets one outcome"} <= failed(checks)


class Deduplicating:
    """A service of somebody else: keeps answers by key, and has one fault."""

    def __init__(self, fault=None):
        self.fault, self.kept, self.count, self.lock = fault, {}, 0, threading.Lock()

    def __call__(self, exchange):
        request = exchange.request
        lines = request.headers.all("Idempotency-Key")
        key = lines[0].strip('"') if lines else None
        with self.lock:
            exchange.send(self.decide(key, lines, request.body))
        return True

    def decide(self, key, lines, body):
        if lines and (not 0 < len(key) < 256 or len(lines) > 1 or '"' in key):
            return message(400)
        if key in self.kept and self.fault != "runs again":
            first_body, first = self.kept[key]
            if body != first_body and self.fault != "ignores the payload":
                return message(422, [("Content-Type", "application/problem+json")], b"{}")
            return first
        self.count += 1
        text = b"{}" if self.fault == "answers alike" else b'{"id": %d}' % self.count
        first = message(201, [], text)
        if key:
            self.kept[key] = (body, first)
        return first


@pytest.mark.parametrize("fault, code, missing", [
    (None, 0, None),
    ("runs again", 1, "the same request again gets the first answer"),
    ("ignores the payload", 1, "a different request under the same key is refused"),
])
def test_faults_of_other_servers_are_found(own_upstream, fault, code, missing):
    own_upstream.default = Deduplicating(fault)
    found, checks, lines = verify(own_upstream.url)
    assert found == code, lines
    assert missing is None or checks[missing] == "failed"


def test_what_cannot_be_seen_is_not_called_good(own_upstream):
    own_upstream.default = Deduplicating("answers alike")
    code, checks, _ = verify(own_upstream.url)
    assert code == 1 and checks["the same request again gets the first answer"] == "unclear"


def test_a_request_that_is_refused_ends_the_checks(own_upstream):
    own_upstream.default = answer(404)
    code, checks, _ = verify(own_upstream.url)
    assert code == 1 and checks == {"a first request is accepted": "failed"}
    assert verify(f"http://127.0.0.1:{free_port()}/")[0] == 1


@pytest.mark.parametrize("command", ["verify", "bench"])
@pytest.mark.parametrize("arguments", [["nonsense"], ["-H", "nocolon", "http://127.0.0.1:1/"], ["--nope"]])
def test_wrong_usage_is_exit_2(command, arguments):
    assert run(command, *arguments).returncode == 2


@pytest.mark.parametrize("arguments", [["--duplicates", "1.5"], ["-n", "0"], ["-c", "100000"], ["--time", "soon"],
                                       ["--store", "nonsense:"]])
def test_bench_refuses_what_makes_no_sense(arguments):
    assert run("bench", *arguments).returncode == 2


def test_bench_needs_nothing_and_counts_what_happened():
    result = run("bench", "--json", "-n", "400", "-c", "8", "--duplicates", "0.5", within=60)
    assert result.returncode == 0, result
    report = json.loads(result.stdout)
    outcomes = report["outcomes"]
    assert report["requests"] == outcomes["all"]["count"] == 400
    assert report["contradictions"] == 0
    assert 100 < report["duplicates"] < 300
    # Whoever came second got a replay or, on a slow machine, was told to wait.
    told_to_wait = outcomes.get("in_progress", {"count": 0})["count"]
    assert outcomes["first"]["count"] == 400 - report["duplicates"]
    assert outcomes["replay"]["count"] + told_to_wait == report["duplicates"]
    assert outcomes["all"]["p50_us"] <= outcomes["all"]["p99_us"] <= outcomes["all"]["max_us"]


def test_bench_finds_a_server_that_runs_duplicates_again(upstream):
    script = upstream.script(lambda exchange: upstream.default(exchange))
    result = run("bench", "--json", "-n", "100", "-H", f"X-Script: {script}", "-d", '{"n": "{n}"}', upstream.url + "/b")
    report = json.loads(result.stdout)
    assert result.returncode == 1 and report["contradictions"] == report["duplicates"] > 0
    bodies = {request.body for request in upstream.of_script(script)}
    assert b'{"n": "0"}' in bodies and len(bodies) == 100 - report["duplicates"]


def test_bench_in_words_and_against_nothing():
    words = run("bench", "-n", "50")
    assert words.returncode == 0 and "50 requests in" in words.stdout and "p99" in words.stdout
    nothing = run("bench", "--json", "-n", "5", f"http://127.0.0.1:{free_port()}/")
    assert nothing.returncode == 1 and json.loads(nothing.stdout)["outcomes"]["lost"]["count"] == 5
