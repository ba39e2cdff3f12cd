"""CONTRACT 6: `onceward call` - one durable key per intent, safe retries, and exit codes that tell success, definite
failure and doubt apart."""

import json
import os
import random
import signal
import stat
import threading
import time

import pytest
from ports import free_port

from support.behaviours import Hold, answer, close, never, numbered_answer
from support.calling import Caller
from support.gate import Gate
from support.waiting import PATIENCE, eventually

BODY = '{"amount": 100}'


@pytest.fixture
def caller(tmp_path):
    return Caller(tmp_path / "intents")


def problem(status, code, *headers, **members):
    body = json.dumps({"code": code, **members}).encode()
    return answer(status, [("Content-Type", "application/problem+json"), *headers], body)


def keys_of(upstream, script):
    return [request.key for request in upstream.of_script(script)]


def test_an_answer_is_printed_as_it_came_and_exits_0(caller, upstream):
    script = upstream.script(answer(201, [("X-A", "1")], b"created \xff\n"))
    result = caller.run(upstream.url + "/orders?a=b", "-d", BODY, "-H", f"X-Script: {script}")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"created \xff\n", b"")
    request, = upstream.of_script(script)
    assert (request.method, request.target, request.body) == ("POST", "/orders?a=b", BODY.encode())
    assert request.headers.get("Content-Type") == "application/json"
    assert caller.files() == [], "an intent that nobody named and that has ended is not kept"


def test_it_takes_what_curl_takes(caller, upstream, tmp_path):
    (tmp_path / "body").write_bytes(b"a=1&b=2")
    script = upstream.script(answer(200, [("X-B", "2")], b"ok"))
    mark = ("-H", f"X-Script: {script}")
    assert caller.run(upstream.url + "/f", "-d", f"@{tmp_path / 'body'}", *mark).returncode == 0
    assert caller.run(upstream.url + "/s", "-X", "PUT", "-d", "@-", *mark, stdin=b"piped").returncode == 0
    assert caller.run(upstream.url + "/g", *mark).returncode == 0
    head = caller.run(upstream.url + "/i", "-X", "DELETE", "-i", *mark).stdout
    assert head.startswith(b"HTTP/1.1 200\r\n") and b"X-B: 2\r\n" in head and head.endswith(b"\r\n\r\nok")
    seen = [(r.method, r.target, r.body, r.headers.get("Content-Type")) for r in upstream.of_script(script)]
    form = "application/x-www-form-urlencoded"
    assert seen == [("POST", "/f", b"a=1&b=2", form), ("PUT", "/s", b"piped", form), ("GET", "/g", b"", None),
                    ("DELETE", "/i", b"", None)]
    assert len(set(keys_of(upstream, script))) == 4


def test_json_says_all_there_is_to_say(caller, serve, upstream):
    proxy = serve()
    code, said = caller.json(proxy.url + "/orders", "-d", BODY, "--intent", "one")
    assert code == 0 and said["outcome"] == "succeeded" and said["final"] and not said["fromIntent"]
    assert said["status"] == 201 and said["attempts"] == 1 and said["intent"] == "one"
    assert ["Onceward-Operation-Id", said["operationId"]] in said["headers"]
    assert json.loads(said["body"])["target"] == "/orders"
    assert upstream.effects(said["key"]) == 1


@pytest.mark.parametrize("lost", [close(), close(b"HTTP/1.1 201 Created\r\nContent-Le"),
                                  close(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf")],
                         ids=["no answer", "half a head", "half a body"])
def test_a_lost_answer_is_asked_for_again_with_the_same_key(caller, upstream, lost):
    script = upstream.script(lost, answer(201, body=b"done"))
    code, said = caller.json(upstream.url, "-d", BODY, "-H", f"X-Script: {script}")
    assert code == 0 and said["attempts"] == 2 and said["body"] == "done"
    assert keys_of(upstream, script) == [said["key"]] * 2


def test_through_the_proxy_a_lost_answer_is_one_effect(caller, serve, upstream):
    proxy = serve()
    gate = Gate(proxy.port)
    gate.cut_down_after = 20
    call = caller.start(gate.url + "/orders", "-d", BODY, "--intent", "x", "--json", "--attempts", "50")
    eventually(lambda: counted(proxy, "onceward_replays_total") >= 1, what="a retry to be answered, and lost as well")
    gate.heal()
    out, err = call.communicate(timeout=PATIENCE)
    said = json.loads(out)
    gate.close()
    assert call.returncode == 0 and said["status"] == 201, err
    assert ["Idempotent-Replayed", "true"] in said["headers"]
    assert upstream.effects(said["key"]) == 1


def counted(proxy, name):
    return sum(value for (sample, _), value in proxy.metrics().items() if sample == name)


def test_it_waits_for_a_request_that_is_still_running(caller, serve, upstream):
    proxy = serve(defaults={"in_progress": {"wait": "10ms"}})
    hold = Hold()
    mark = ("-H", f"X-Script: {upstream.script(hold)}")
    first = caller.start(proxy.url + "/orders", "-d", BODY, "--key", "k-running", "--json", *mark)
    hold.wait_reached()
    other = Caller(caller.folder.parent / "elsewhere")
    second = other.start(proxy.url + "/orders", "-d", BODY, "--key", "k-running", "--json", "--attempts", "1", *mark)
    eventually(lambda: counted(proxy, "onceward_in_progress_rejected_total") >= 2, what="the second to be told twice that the first is running")
    hold.release()
    answers = [json.loads(call.communicate(timeout=PATIENCE)[0]) for call in (first, second)]
    assert [said["outcome"] for said in answers] == ["succeeded"] * 2
    assert answers[0]["body"] == answers[1]["body"]
    assert upstream.effects("k-running") == 1


def test_retry_after_is_honoured(caller, upstream):
    script = upstream.script(answer(503, [("Retry-After", "1")]), answer(201))
    started = time.monotonic()
    code, said = caller.json(upstream.url, "-d", BODY, "-H", f"X-Script: {script}")
    assert code == 0 and said["attempts"] == 2
    assert time.monotonic() - started >= 1.0


def test_a_retry_after_beyond_the_deadline_ends_at_once(caller, upstream):
    script = upstream.script(answer(503, [("Retry-After", "90")]))
    code, said = caller.json(upstream.url, "-d", BODY, "--deadline", "50s", "-H", f"X-Script: {script}", within=40)
    assert code == 1 and said["outcome"] == "failed" and not said["final"] and "deadline" in said["reason"]
    assert len(upstream.of_script(script)) == 1


def test_the_deadline_ends_everything(caller, upstream):
    script = upstream.script(never())
    started = time.monotonic()
    code, said = caller.json(upstream.url, "-d", BODY, "--deadline", "2s", "-H", f"X-Script: {script}")
    assert code == 3 and said["outcome"] == "unknown"
    assert 1.9 < time.monotonic() - started < 25


def test_attempts_are_counted(caller, upstream):
    script = upstream.script(close())
    code, said = caller.json(upstream.url, "-d", BODY, "--attempts", "3", "-H", f"X-Script: {script}")
    assert code == 3 and said["attempts"] == 3 and len(set(keys_of(upstream, script))) == 1
    assert len(upstream.of_script(script)) == 3


@pytest.mark.parametrize("step, code", [
    (answer(400, body=b"no"), 1),
    (answer(404), 1),
    (answer(500), 1),
    (answer(303, [("Location", "/there")]), 0),
    (problem(422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST"), 1),
    (problem(409, "DUPLICATE_BUSINESS_OPERATION"), 1),
    (problem(409, "IDEMPOTENCY_OUTCOME_UNKNOWN", operationId="op"), 3),
    (problem(410, "IDEMPOTENCY_RECORD_EXPIRED"), 3),
    (problem(409, "IDEMPOTENCY_RESPONSE_NOT_STORED", originalStatus=201), 0),
])
def test_answers_that_end_it_are_asked_for_once(caller, upstream, step, code):
    script = upstream.script(step)
    result = caller.run(upstream.url, "-d", BODY, "-H", f"X-Script: {script}")
    assert result.returncode == code, result
    assert len(upstream.of_script(script)) == 1
    assert (result.stderr != b"") == (code != 0)


def test_a_key_that_stands_for_another_request_stops(caller, serve, upstream, key):
    proxy = serve()
    proxy.post(key=key, json={"amount": 1})
    code, said = caller.json(proxy.url + "/orders", "-d", '{"amount": 2}', "--key", key)
    assert code == 1 and said["status"] == 422 and said["attempts"] == 1 and said["final"]
    assert json.loads(said["body"])["changed"] == ["/amount"]
    assert upstream.effects(key) == 1


def test_nothing_sent_is_a_definite_failure(caller):
    code, said = caller.json(f"http://127.0.0.1:{free_port()}/", "-d", BODY, "--attempts", "2", "--intent", "x")
    assert code == 1 and said["outcome"] == "failed" and not said["final"] and "status" not in said


def test_an_intent_goes_on_with_its_key_when_it_is_run_again(caller, upstream):
    script = upstream.script(close(), close(), answer(201, body=b"first"))
    mark = ("-d", BODY, "--intent", "order 17/a", "-H", f"X-Script: {script}")
    code, said = caller.json(upstream.url, "--attempts", "2", *mark)
    assert code == 3
    code, again = caller.json(upstream.url, *mark)
    assert code == 0 and again["key"] == said["key"]
    assert keys_of(upstream, script) == [said["key"]] * 3


def test_a_finished_intent_shows_its_outcome_and_sends_nothing(caller, upstream):
    script = upstream.script(answer(201, body=b"first"), answer(201, body=b"second"))
    mark = ("-d", BODY, "--intent", "x", "-H", f"X-Script: {script}")
    assert caller.run(upstream.url, *mark).stdout == b"first"
    result = caller.run(upstream.url, *mark)
    assert (result.returncode, result.stdout) == (0, b"first")
    assert caller.json(upstream.url, *mark)[1]["fromIntent"]
    assert len(upstream.of_script(script)) == 1
    assert caller.run(upstream.url, "--new", *mark).stdout == b"second"
    first, second = keys_of(upstream, script)
    assert first != second


def test_a_finished_failure_stays_one(caller, upstream):
    script = upstream.script(answer(400, body=b"no"))
    mark = ("-d", BODY, "--intent", "x", "-H", f"X-Script: {script}")
    assert caller.run(upstream.url, *mark).returncode == 1
    again = caller.run(upstream.url, *mark)
    assert again.returncode == 1 and again.stdout == b"no" and b"--new" in again.stderr
    assert len(upstream.of_script(script)) == 1


def test_another_request_under_an_intent_is_refused_and_not_sent(caller, upstream):
    script = upstream.script(close())
    mark = ("--intent", "x", "-H", f"X-Script: {script}", "--attempts", "1")
    assert caller.run(upstream.url, "-d", BODY, *mark).returncode == 3
    for other in (["-d", '{"amount": 101}'], ["-d", BODY, "-X", "PUT"], ["-d", BODY, "-H", "Authorization: other"]):
        result = caller.run(upstream.url, *other, *mark)
        assert result.returncode == 2 and b"another" in result.stderr, result
    assert caller.run(upstream.url, "-d", BODY, "--key", "another", *mark).returncode == 2
    assert len(upstream.of_script(script)) == 1


def test_beginning_anew_in_doubt_needs_a_second_word(caller, upstream):
    script = upstream.script(close(), answer(201))
    mark = ("-d", BODY, "--intent", "x", "-H", f"X-Script: {script}", "--attempts", "1")
    assert caller.run(upstream.url, *mark).returncode == 3
    refused = caller.run(upstream.url, "--new", *mark)
    assert refused.returncode == 3 and b"may have happened" in refused.stderr
    assert len(upstream.of_script(script)) == 1
    assert caller.run(upstream.url, "--new", "--although-in-doubt", *mark).returncode == 0
    first, second = keys_of(upstream, script)
    assert first != second


def test_two_processes_cannot_send_one_intent(caller, upstream):
    hold = Hold()
    mark = ("-d", BODY, "--intent", "x", "-H", f"X-Script: {upstream.script(hold)}")
    first = caller.start(upstream.url, *mark)
    hold.wait_reached()
    second = caller.run(upstream.url, *mark)
    assert second.returncode == 3 and b"somebody else" in second.stderr
    hold.release()
    assert first.wait(PATIENCE) == 0
    first.communicate()


def test_files_are_for_their_owner_only(caller, upstream):
    assert caller.run(upstream.url, "-d", BODY, "--intent", "x").returncode == 0
    assert caller.files() == ["x.intent"]
    assert stat.S_IMODE(os.stat(caller.folder / "x.intent").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(caller.folder).st_mode) == 0o700


def test_a_damaged_intent_is_not_a_new_one(caller, upstream):
    script = upstream.script(close())
    mark = ("-d", BODY, "--intent", "x", "-H", f"X-Script: {script}", "--attempts", "1")
    caller.run(upstream.url, *mark)
    path = caller.folder / "x.intent"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    assert caller.run(upstream.url, *mark).returncode == 3
    assert len(upstream.of_script(script)) == 1


def test_an_interrupt_tells_the_truth(caller, upstream):
    hold = Hold()
    call = caller.start(upstream.url, "-d", BODY, "--intent", "x", "-H", f"X-Script: {upstream.script(hold)}")
    hold.wait_reached()
    call.send_signal(signal.SIGINT)
    _, err = call.communicate(timeout=PATIENCE)
    assert call.returncode == 3 and b"may have happened" in err
    hold.release()


@pytest.mark.parametrize("arguments", [
    [], ["nonsense"], ["ftp://127.0.0.1/"], ["-H", "no colon", "http://127.0.0.1:1/"],
    ["-H", "Idempotency-Key: mine", "http://127.0.0.1:1/"], ["-H", "Content-Length: 3", "http://127.0.0.1:1/"],
    ["-d", "@/no/such/file", "http://127.0.0.1:1/"], ["--deadline", "soon", "http://127.0.0.1:1/"],
    ["--attempts", "0", "http://127.0.0.1:1/"], ["--key", "", "--nope", "http://127.0.0.1:1/"],
    ["--key", "k" * 256, "http://127.0.0.1:1/"],
])
def test_wrong_usage_is_exit_2_and_leaves_no_intent(caller, arguments):
    url = arguments[-1] if arguments else ""
    result = caller.run(url, *arguments[:-1]) if arguments else caller.run("--json")
    assert result.returncode == 2 and result.stderr, result
    assert caller.files() == []


def kill_and_rerun(caller, url, name, wait):
    """Runs the intent, kills it after `wait` seconds, and again, until one run ends by itself."""
    for pause in (*wait, None):
        call = caller.start(url, "-d", BODY, "--intent", name, "--json", "--attempts", "30")
        if pause is not None:
            try:
                call.wait(pause)
            except Exception:
                call.kill()
        out, _ = call.communicate(timeout=PATIENCE)
        if call.returncode >= 0:
            return call.returncode, json.loads(out)
    raise AssertionError("every run was killed")


def test_kill_9_at_any_moment_and_a_rerun_is_one_effect(caller, serve, own_upstream):
    """The answer takes as long as a kill may, so that kills fall before, between and after."""
    proxy = serve(to=own_upstream, defaults={"in_progress": {"wait": "50ms"}})
    chance = random.Random(7)

    def slow(exchange):
        time.sleep(chance.random() * 0.05)
        return numbered_answer(exchange)

    own_upstream.default = slow
    outcomes = {}

    def one(number):
        waits = [chance.random() * 0.15 for _ in range(3)]
        outcomes[number] = kill_and_rerun(caller, proxy.url + "/orders", f"intent-{number}", waits)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
    assert len(outcomes) == 12
    for number, (code, said) in outcomes.items():
        assert code == 0 and said["status"] == 201, (number, said)
        assert own_upstream.effects(said["key"]) == 1, (number, said)
        stored = caller.json(proxy.url + "/orders", "-d", BODY, "--intent", f"intent-{number}")[1]
        assert stored["body"] == said["body"]
    assert len(own_upstream.requests) == 12


def test_a_call_through_a_network_that_loses_answers_is_one_effect(caller, serve, own_upstream):
    """Whatever is cut on the way there or back during the first moments of a call: one effect, and its answer."""
    proxy = serve(to=own_upstream)
    gate = Gate(proxy.port)
    chance = random.Random(11)
    ends = []
    for number in range(8):
        gate.cut_down_after, gate.cut_up_after = chance.choice([(1, None), (100, None), (250, None), (None, 10), (None, 150)])
        cuts = gate.cuts
        call = caller.start(gate.url + "/orders", "-d", BODY, "--intent", f"i{number}", "--json", "--attempts", "50")
        eventually(lambda: gate.cuts > cuts + 1, what="the network to lose something twice")
        gate.heal()
        out, err = call.communicate(timeout=PATIENCE)
        assert call.returncode == 0, err
        ends.append(json.loads(out))
    gate.close()
    assert sum(said["attempts"] for said in ends) > 8, "the network lost nothing: the test shows nothing"
    assert [own_upstream.effects(said["key"]) for said in ends] == [1] * 8
