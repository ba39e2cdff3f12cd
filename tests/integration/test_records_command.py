"""CONTRACT 6: `onceward records …`, the operators' view through the API."""

import json
import signal
import subprocess

import pytest

from support.api import Api, new_key
from support.onceward import binary, environment, run
from support.waiting import PATIENCE, eventually


@pytest.fixture(scope="module")
def proxy(serve_module):
    return serve_module("file")


def records(proxy, *arguments, **options):
    return run("records", *arguments, "--config", proxy.path, **options)


def lines(result):
    assert result.returncode == 0, result
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_records_are_listed_as_a_table_and_as_json(proxy):
    tenant = new_key()
    claims = [Api(proxy).unknown(new_key(), tenant=tenant) for _ in range(3)]
    table = records(proxy, "list", "--tenant", tenant)
    assert table.returncode == 0 and table.stdout.splitlines()[0].startswith("OPERATION ID"), table
    assert len(table.stdout.splitlines()) == 4 and "timeout" in table.stdout
    assert "\x1b" not in table.stdout, "no colours in a pipe"
    listed = lines(records(proxy, "list", "--tenant", tenant, "--json"))
    assert {record["operation_id"] for record in listed} == {claim.id for claim in claims}
    assert len(lines(records(proxy, "list", "--tenant", tenant, "--json", "--limit", "2"))) == 2
    assert lines(records(proxy, "list", "--tenant", tenant, "--state", "failed", "--json")) == []
    assert lines(records(proxy, "list", "--tenant", tenant, "--older-than", "1h", "--json")) == []


def test_the_api_may_be_asked_over_its_socket(serve, tmp_path):
    path, token = tmp_path / "api.sock", tmp_path / "operators-token"
    token.write_text("secret-" + "x" * 30)
    token.chmod(0o600)
    proxy = serve("memory", api={"socket": str(path), "listen": "off", "token_file": str(token)})
    eventually(path.exists, what="the socket")
    listed = run("records", "list", "--api", f"unix:{path}", "--token-file", token)
    assert listed.returncode == 0 and listed.stdout.startswith("OPERATION ID"), listed
    proxy.stop()
    gone = run("records", "list", "--api", f"unix:{path}", "--token-file", token)
    assert gone.returncode == 1 and str(path) in gone.stderr, gone


def test_all_of_them_means_every_page(proxy):
    operation = new_key()
    for _ in range(5):
        Api(proxy).claimed(new_key(), operation=operation)
    assert len(lines(records(proxy, "list", "--operation", operation, "--all", "--json"))) == 5


def test_one_record_is_shown_and_revealed(proxy):
    claim = Api(proxy).claimed(new_key())
    claim.complete(body=b"hidden")
    shown = records(proxy, "show", claim.id)
    assert shown.returncode == 0 and "succeeded" in shown.stdout and "aGlkZGVu" not in shown.stdout
    assert lines(records(proxy, "show", claim.id, "--json"))[0]["operation_id"] == claim.id
    assert "aGlkZGVu" in records(proxy, "show", claim.id, "--reveal").stdout
    missing = records(proxy, "show", "00000000-0000-7000-8000-000000000000")
    assert missing.returncode == 1 and "404 NOT_FOUND" in missing.stderr


def test_a_record_is_resolved_with_an_answer(proxy, tmp_path):
    key = new_key()
    claim = Api(proxy).unknown(key)
    answer = tmp_path / "answer.json"
    answer.write_text('{"status": 201, "json": {"id": 7}}')
    where = ("resolve", claim.id, "--as", "succeeded", "--reason", "found it")
    other = records(proxy, *where, "--epoch", "2")
    assert other.returncode == 1 and "CONFLICT" in other.stderr
    done = records(proxy, *where, "--epoch", "1", "--response", answer)
    assert done.returncode == 0 and "succeeded" in done.stdout, done
    assert Api(proxy).claim(key).json()["response"]["status"] == 201
    again = records(proxy, *where, "--epoch", "1", "--json")
    assert again.returncode == 1 and json.loads(again.stderr)["code"] == "CONFLICT"
    (entry,) = lines(records(proxy, "audit", claim.id, "--json"))
    assert (entry["reason"], entry["outcome"]) == ("found it", "applied")
    assert "found it" in records(proxy, "audit", claim.id).stdout


def test_a_release_must_be_forced_and_says_what_it_risks(proxy):
    key = new_key()
    claim = Api(proxy).unknown(key)
    where = ("release", claim.id, "--epoch", "1", "--reason", "never left")
    refused = records(proxy, *where)
    assert refused.returncode == 2 and "second" in refused.stderr and "--force" in refused.stderr
    assert claim.record()["state"] == "unknown"
    done = records(proxy, *where, "--force")
    assert done.returncode == 0 and "second" in done.stderr
    assert Api(proxy).claimed(key).epoch == 2


def test_a_purge_must_say_of_what(proxy):
    tenant = new_key()
    for _ in range(4):
        Api(proxy).claimed(new_key(), tenant=tenant).complete()
    assert records(proxy, "purge").returncode == 2
    assert "0 records" in records(proxy, "purge", "--tenant", tenant, "--before", "1h").stdout
    assert "4 records" in records(proxy, "purge", "--tenant", tenant, "--reason", "left").stdout
    assert lines(records(proxy, "purge", "--tenant", tenant, "--json"))[-1] == {"removed": 0, "done": True}


def test_a_watch_tells_what_changes(proxy):
    operation = new_key()
    watch = subprocess.Popen([binary(), "records", "list", "--operation", operation, "--watch", "--json", "--config",
                              str(proxy.path)], stdout=subprocess.PIPE, text=True, env=environment())
    try:
        claim = Api(proxy).claimed(new_key(), operation=operation)
        assert json.loads(watch.stdout.readline())["state"] == "claimed"
        claim.complete()
        assert json.loads(watch.stdout.readline())["state"] == "succeeded"
        watch.send_signal(signal.SIGINT)
        assert watch.wait(PATIENCE) == 0
    finally:
        watch.kill()
        watch.wait()


def test_the_api_is_found_by_its_address_and_a_token(proxy, tmp_path):
    url = f"http://127.0.0.1:{proxy.api_port}"
    token_file = tmp_path / "token"
    token_file.write_text(proxy.token + "\n")
    assert run("records", "list", "--api", url, "--token-file", token_file, cwd=tmp_path).returncode == 0
    assert run("records", "list", "--api", url, env={"ONCEWARD_TOKEN": proxy.token}, cwd=tmp_path).returncode == 0
    wrong = run("records", "list", "--api", url, env={"ONCEWARD_TOKEN": "wrong"}, cwd=tmp_path)
    assert wrong.returncode == 1 and "UNAUTHENTICATED" in wrong.stderr
    assert run("records", "list", "--api", url, cwd=tmp_path).returncode == 2, "no token at all"


def test_the_token_that_was_kept_is_found(serve):
    proxy = serve("file")
    proxy.stop()
    del proxy.config["api"]["token_file"]
    proxy.restart()
    assert records(proxy, "list").returncode == 0


def test_nobody_there_is_a_failure_and_not_a_usage_error(tmp_path):
    gone = run("records", "list", "--api", "http://127.0.0.1:1", env={"ONCEWARD_TOKEN": "t"}, cwd=tmp_path)
    assert gone.returncode == 1 and gone.stderr


@pytest.mark.parametrize("arguments", [
    [], ["lists"], ["show"], ["resolve", "x"], ["resolve", "x", "--as", "released", "--epoch", "1", "--reason", "r"],
    ["resolve", "x", "--as", "failed", "--epoch", "one", "--reason", "r"], ["list", "--state", "done"],
    ["list", "--config", "/does/not/exist"], ["list", "--token-file", "/does/not/exist"], ["list", "--api", "ftp://x"]])
def test_wrong_usage_is_exit_2(arguments, tmp_path):
    result = run("records", *arguments, env={"ONCEWARD_TOKEN": "t"}, cwd=tmp_path)
    assert result.returncode == 2, result
