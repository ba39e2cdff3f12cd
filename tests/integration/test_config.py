"""CONTRACT 5: one YAML file, errors that name the line, and what overrides it."""

import json
import re

import pytest
from ports import free_port

from support import expect
from support.client import Connection
from support.onceward import Onceward, problems_of_config, request_bytes, run
from support.waiting import eventually
from support.zoo import OPERATIONS

FULL = """\
listen: 127.0.0.1:8080
upstream: {url: "http://127.0.0.1:9000", connect_timeout: 2s, timeout: 30s, max_connections: 256}
store: memory
durability: disk
api: { listen: "127.0.0.1:9180" }
workers: 0
identity:
  tenant: { from: "header:X-Tenant-ID", required: false, format: any }
  caller: { from: authorization }
limits: { max_request: 1MiB, max_response: 10MiB, header_bytes: 32KiB, header_timeout: 10s, idle_timeout: 60s }
defaults:
  mode: enforce
  key: { header: Idempotency-Key, required: false, strict: false, max_length: 255, from: header }
  ttl: 24h
  receipt_ttl: 0s
  lease: 30s
  max_hold: 10m
  in_progress: { wait: 1s, max_wait: 30s, then: reject }
  mismatch_status: 422
  fingerprint: { mode: canonical, ignore: [], include: [], query: true, headers: [] }
  outcomes: { replay: [200], retry: [429, 503], unknown: [502, 504] }
  replay: { status: original, header: Idempotent-Replayed, keep_cookies: false }
  on_unknown: hold
  on_store_failure: closed
operations:
  - name: payments.create
    match: POST /payments
    key: { required: true }
    ttl: 7d
    receipt_ttl: 90d
    fingerprint: { ignore: [/description, /metadata] }
"""

VALID = [
    ("the whole example", FULL),
    ("nothing at all", ""),
    ("only comments", "# nothing\n"),
    ("a list of listeners", "listen: [127.0.0.1:8080, 127.0.0.1:8081]\n"),
    ("a plain upstream", "upstream: http://127.0.0.1:9000\n"),
    ("a file store", "store: file:./data\n"),
    ("milliseconds and days", "defaults: { lease: 500ms, ttl: 7d }\n"),
    ("the operations of these tests", json.dumps({"operations": OPERATIONS})),
]


@pytest.mark.parametrize("text", [text for _, text in VALID], ids=[name for name, _ in VALID])
def test_a_valid_config_is_accepted(tmp_path, text):
    result = problems_of_config(tmp_path, text)
    assert result.returncode == 0, result
    assert result.stdout.strip(), "the effective config is printed"


# (name, text, the line to be named)
INVALID = [
    ("an unknown key", "store: memory\nno_such_key: 1\n", 2),
    ("an unknown key deeper", "store: memory\ndefaults:\n  ttl: 1h\n  key:\n    requird: true\n", 5),
    ("an unknown key of an operation", "operations:\n  - name: a\n    match: POST /a\n    mathc: POST /b\n", 4),
    ("a bad duration", "defaults:\n  ttl: soon\n", 2),
    ("a duration without a unit", "defaults:\n  ttl: 30\n", 2),
    ("a ttl of zero", "store: memory\ndefaults:\n  ttl: 0s\n", 3),
    ("a negative ttl", "defaults:\n  ttl: -1s\n", 2),
    ("a lease of zero", "defaults:\n  lease: 0s\n", 2),
    ("a negative lease", "defaults:\n  lease: -5s\n", 2),
    ("a ttl of zero in an operation", "operations:\n  - name: a\n    match: POST /a\n    ttl: 0s\n", 4),
    ("a bad size", "limits:\n  max_request: large\n", 2),
    ("a bad mode", "defaults:\n  mode: enforced\n", 2),
    ("a bad mismatch status", "defaults:\n  mismatch_status: 404\n", 2),
    ("a bad boolean", "defaults:\n  key:\n    required: perhaps\n", 3),
    ("a mapping where a list belongs", "operations:\n  a: b\n", 2),
    ("a list where a mapping belongs", "defaults:\n  - a\n", 2),
    ("two operations with one name",
     "operations:\n  - name: a\n    match: POST /a\n  - name: a\n    match: POST /b\n", 4),
    ("a match without a path", "operations:\n  - name: a\n    match: POST\n", 3),
    ("a match with a bad pattern", "operations:\n  - name: a\n    match: POST /a/{id\n", 3),
    ("a key given twice", "store: memory\nworkers: 1\nstore: memory\n", 3),
    ("a bad address", "store: memory\nlisten: nowhere\n", 2),
    ("a port that is none", "store: memory\nlisten: 127.0.0.1:70000\n", 2),
    ("a bad upstream", "store: memory\nupstream: ftp://127.0.0.1\n", 2),
    ("a bad store", "workers: 1\nstore: mongodb://x\n", 2),
    ("a bad outcome", "defaults:\n  outcomes:\n    retry: [9xx]\n", 3),
    ("a bad pointer", "defaults:\n  fingerprint:\n    ignore: [no-slash]\n", 3),
    ("a bad replay status", "defaults:\n  replay:\n    status: 204\n", 3),
    ("YAML that does not parse", "store: memory\ndefaults: {ttl: 1h\nworkers: 1\n", None),
    ("a tab for indentation", "defaults:\n\tttl: 1h\n", 2),
]


@pytest.mark.parametrize("text,line", [(text, line) for _, text, line in INVALID], ids=[name for name, _, _ in INVALID])
def test_a_bad_config_is_exit_2_and_names_the_line(tmp_path, text, line):
    result = problems_of_config(tmp_path, text)
    assert result.returncode == 2, result
    said = result.stdout + result.stderr
    lines = {int(number) for number in re.findall(r"(?:checked\.yaml:|line )(\d+)", said)}
    assert lines, f"no line number in: {said}"
    assert line is None or line in lines, said


def test_serve_refuses_a_bad_config_with_exit_2(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("store: memory\nno_such_key: 1\n")
    result = run("serve", "--config", path)
    assert result.returncode == 2 and "no_such_key" in result.stdout + result.stderr


@pytest.mark.parametrize("command", ["serve", "check"])
def test_a_missing_file_is_exit_2(tmp_path, command):
    path = tmp_path / "absent.yaml"
    result = run(*(["serve", "--config", path] if command == "serve" else ["check", path]))
    assert result.returncode == 2 and "absent.yaml" in result.stdout + result.stderr


def test_an_override_in_the_environment_is_checked_too(tmp_path):
    result = problems_of_config(tmp_path, "store: memory\n", env={"ONCEWARD_DEFAULTS_TTL": "soon"})
    assert result.returncode == 2 and "ONCEWARD_DEFAULTS_TTL" in result.stdout + result.stderr


def test_check_prints_the_effective_config(tmp_path):
    result = problems_of_config(tmp_path, "store: memory\ndefaults: {lease: 7s}\n",
                                env={"ONCEWARD_DEFAULTS_TTL": "42m"})
    assert result.returncode == 0
    assert re.search(r"lease\W+7s", result.stdout) and re.search(r"ttl\W+42m", result.stdout), result.stdout


def test_what_check_prints_is_a_valid_config_again(tmp_path):
    printed = problems_of_config(tmp_path, FULL).stdout
    again = problems_of_config(tmp_path, printed)
    assert again.returncode == 0, again
    assert again.stdout == printed


def test_the_environment_overrides_the_file(serve, upstream, key):
    proxy = serve(env={"ONCEWARD_DEFAULTS_TTL": "1s"}, defaults={"ttl": "24h"})
    expect.first_answer(proxy.post(key=key))
    eventually(lambda: not proxy.post(key=key).replayed, every=0.05, what="the ttl of the environment")
    assert upstream.effects(key) == 2


def test_the_environment_overrides_the_store(tmp_path, upstream, key):
    data = tmp_path / "from-environment"
    proxy = Onceward(tmp_path / "proxy", upstream, "memory", env={"ONCEWARD_STORE": f"file:{data}"}).start()
    expect.first_answer(proxy.post(key=key))
    proxy.stop()
    assert data.is_dir() and any(data.iterdir())


def test_flags_override_the_file_and_the_environment(serve, own_upstream, key):
    proxy = serve(to="http://127.0.0.1:1", env={"ONCEWARD_UPSTREAM": "http://127.0.0.1:2"},
                  arguments=["--upstream", own_upstream.url])
    expect.first_answer(proxy.post(key=key))
    assert own_upstream.effects(key) == 1


def test_the_store_and_the_listener_can_be_flags(tmp_path, upstream, key):
    data = tmp_path / "from-flag"
    proxy = Onceward(tmp_path / "proxy", upstream, "memory")
    proxy.config["listen"] = "127.0.0.1:1"
    proxy.arguments = ["--listen", f"127.0.0.1:{proxy.port}", "--store", f"file:{data}"]
    proxy.start()
    expect.first_answer(proxy.post(key=key))
    proxy.stop()
    assert data.is_dir()


def test_a_reload_keeps_flags_and_environment(serve, own_upstream, key):
    proxy = serve(to="http://127.0.0.1:1", arguments=["--upstream", own_upstream.url])
    proxy.config["operations"] = [{"name": "m", "match": "POST /m", "replay": {"header": "X-Reloaded"}}]
    proxy.write_config()
    proxy.reload()
    eventually(lambda: proxy.post("/m", key=key).headers.has("X-Reloaded"), what="the reload")
    assert own_upstream.effects(key) >= 1


def test_several_listeners_share_the_records(serve, upstream, key):
    proxy = serve()
    second = free_port()
    proxy.stop()
    proxy.config["listen"] = [f"127.0.0.1:{proxy.port}", f"127.0.0.1:{second}"]
    proxy.restart()
    first = expect.first_answer(proxy.post(key=key))
    with Connection(second) as connection:
        connection.send(request_bytes("POST", "/orders", key=key, json={"amount": 100}))
        expect.replay_of(connection.read("POST"), first)


# -- the store's folder -------------------------------------------------------------------------------------

def test_a_folder_that_another_process_owns_stops_serve(serve, key):
    proxy = serve("file")
    second = Onceward(proxy.folder / "second", proxy.config["upstream"], f"file:{proxy.folder / 'data'}")
    second.write_config()
    second.spawn()
    assert second.ended_with() in (1, 2)
    assert "data" in second.logs()
    expect.first_answer(proxy.post(key=key))


def test_a_folder_that_is_not_ours_stops_serve_and_is_left_alone(tmp_path, upstream):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    proxy = Onceward(tmp_path / "proxy", upstream, f"file:{folder}")
    proxy.write_config()
    proxy.spawn()
    assert proxy.ended_with() in (1, 2)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
    assert (folder / "thesis.txt").read_text() == "years of work"


def test_files_of_the_store_are_readable_by_their_owner_only(serve, key):
    proxy = serve("file")
    proxy.post(key=key)
    folder = proxy.folder / "data"
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, f"{path} has mode {path.stat().st_mode:o}"
