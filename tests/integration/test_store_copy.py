"""onceward store copy: a service moves from one store to another and its keys go on as if nothing had happened."""

import contextlib
import json
import os
import pty
import signal
import subprocess

import postgres_server
import psycopg2
import pytest

from support import expect
from support.api import Api
from support.behaviours import Hold, reset
from support.client import Connection
from support.onceward import binary, environment, request_bytes, run
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation

UNKNOWN = "IDEMPOTENCY_OUTCOME_UNKNOWN"
OPERATIONS = [operation("/moved", lease="30s", in_progress=WAIT_NOT), operation("/short", lease="2s", in_progress=WAIT_NOT)]
# Each kind of store is once where records come from and once where they go.
MOVES = [("file", "postgres"), ("postgres", "redis"), ("redis", "file")]


@pytest.fixture
def store_url(request, tmp_path, empty_store):
    made = []

    def make(kind):
        made.append(kind)
        if kind == "file":
            return f"file:{tmp_path / f'store{len(made)}'}"
        if kind == "redis":
            return request.getfixturevalue("redis").url + f"?prefix={tmp_path.name}-{len(made)}:"
        return empty_store(kind)

    return make


def copy(source, target, *options):
    done = run("store", "copy", source, target, "--json", *options, within=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, lines[-1] if lines else None, done.stderr


@pytest.mark.parametrize("source,target", MOVES, ids=["-".join(move) for move in MOVES])
def test_every_key_goes_on_where_it_was(serve, upstream, store_url, key, source, target):
    origin, destination = store_url(source), store_url(target)
    before = serve(origin, OPERATIONS)
    answers = {name: expect.first_answer(before.post("/moved", key=name, tenant="acme", json={"n": name}))
               for name in (f"{key}-{n}" for n in range(20))}
    lost = before.post("/moved", key=f"{key}-lost", script=upstream.script(reset()))
    assert lost.status == 502
    claim = Api(before).claimed(f"{key}-claimed", operation="moved", lease_ms=3_600_000)
    before.stop()
    code, counts, told = copy(origin, destination, "--verify")
    assert code == 0, (counts, told)
    assert counts["read"] == counts["written"] == 22 and counts["present"] == counts["different"] == 0, counts
    after = serve(destination, OPERATIONS)
    for name, first in answers.items():
        expect.replay_of(after.post("/moved", key=name, tenant="acme", json={"n": name}), first)
        assert upstream.effects(name) == 1
    name = next(iter(answers))
    expect.problem(after.post("/moved", key=name, tenant="acme", json={"n": 0}), 422,
                   "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")
    problem = expect.problem(after.post("/moved", key=f"{key}-lost"), 409, UNKNOWN)
    assert Api(after).record(problem["operationId"])["evidence"]["cause"] == "reset"
    assert upstream.effects(f"{key}-lost") == 1
    if target != "file":  # which knows at its start that whoever held a claim is gone
        claim.api = Api(after)
        assert claim.complete(201).status == 200, "the owner's token is good at the new store"


def test_running_it_again_brings_what_changed_and_undoes_nothing(serve, upstream, store_url, key):
    origin, destination = store_url("postgres"), store_url("file")
    before = serve(origin, OPERATIONS)
    for number in range(5):
        expect.first_answer(before.post("/moved", key=f"{key}-{number}"))
    hold = Hold()
    running = before.post_in_background("/moved", key=key, script=upstream.script(hold))
    hold.wait_reached()
    code, counts, _ = copy(origin, destination)
    assert code == 0 and counts["written"] == 6 and counts["held"] == 1, counts
    hold.release()
    first = expect.first_answer(running.result())
    before.stop()
    code, counts, _ = copy(origin, destination, "--verify")
    assert code == 0 and counts["written"] == 1 and counts["present"] == 5 and counts["held"] == 0, counts
    after = serve(destination, OPERATIONS)
    expect.replay_of(after.post("/moved", key=key), first)
    newer = expect.first_answer(after.post("/moved", key=f"{key}-newer"))
    after.stop()
    code, counts, _ = copy(origin, destination)
    assert code == 0 and counts["written"] == 0 and counts["present"] == 6, counts
    again = serve(destination, OPERATIONS)
    expect.replay_of(again.post("/moved", key=f"{key}-newer"), newer)
    assert upstream.effects(key) == 1


def test_an_interrupted_copy_is_finished_by_the_next(serve, store_url, key):
    origin, destination = store_url("file"), store_url("postgres")
    before = serve(origin, OPERATIONS, durability="process")
    with Connection(before.port) as connection:
        for number in range(1200):  # more than a page
            connection.send(request_bytes("POST", "/moved", key=f"{key}-{number}", json={}))
            assert connection.read("POST").status == 201
    before.stop()
    interrupted = subprocess.Popen([binary(), "store", "copy", origin, destination, "--json"], stdout=subprocess.PIPE,
                                   env=environment(), text=True)
    assert "copied" in json.loads(interrupted.stdout.readline())  # the first page is there, the second is not
    interrupted.send_signal(signal.SIGKILL)
    interrupted.wait()
    code, counts, told = copy(origin, destination, "--verify")
    assert code == 0, told
    assert counts["read"] == counts["written"] + counts["present"] == 1200 and counts["present"] >= 1000, counts
    assert counts["different"] == 0


def test_a_claim_without_an_owner_becomes_unknown_when_its_lease_ends(serve, upstream, store_url, key):
    origin, destination = store_url("postgres"), store_url("redis")
    before = serve(origin, OPERATIONS)
    hold = Hold()
    before.post_in_background("/short", key=key, script=upstream.script(hold))
    hold.wait_reached()
    before.kill()
    assert copy(origin, destination)[0] == 0
    after = serve(destination, OPERATIONS)
    eventually(lambda: after.post("/short", key=key).json()["code"] == UNKNOWN, what="the lease to end")
    assert upstream.effects(key) == 1


def test_a_folder_in_use_or_missing_and_a_wrong_address_are_refused_with_the_reason(serve, tmp_path, store_url):
    in_use = serve("file").config["store"]
    target = f"file:{tmp_path / 'target'}"
    code, _, told = copy(in_use, target)
    assert code == 1 and "FROM" in told and "use" in told, told
    for source, destination, words in [("memory", target, "memory"), (target, "memory", "FROM"), (target, target, "same"),
                                       (f"file:{tmp_path / 'nowhere'}", target, "no such folder"),
                                       ("mysql://x", target, "expected"), ("redis://h?odd=1", target, "odd")]:
        code, _, told = copy(source, destination)
        assert code == 2 and words in told, (source, destination, code, told)
    assert not (tmp_path / "nowhere").exists()


def test_a_record_that_cannot_be_read_is_not_lost_silently(serve, postgres, store_url, key):
    origin, destination = store_url("postgres"), store_url("file")
    before = serve(origin, OPERATIONS)
    for number in range(3):
        expect.first_answer(before.post("/moved", key=f"{key}-{number}"))
    before.stop()
    postgres.sql("UPDATE onceward.records SET format = 9 WHERE scope = (SELECT scope FROM onceward.records ORDER BY scope LIMIT 1)",
                 origin.rpartition("/")[2])
    code, counts, _ = copy(origin, destination)
    assert code == 1 and counts["written"] == 2 and counts["unreadable"] == 1, counts


@pytest.mark.parametrize("source,target", MOVES, ids=["-".join(move) for move in MOVES])
def test_a_fact_that_has_outlived_its_record_is_not_forgotten(serve, upstream, store_url, key, source, target):
    paid_once = operation("/pay", in_progress=WAIT_NOT, unique={"name": "pay", "fields": ["/order"], "keep": "365d"})
    origin, destination = store_url(source), store_url(target)
    before = serve(origin, [paid_once | {"ttl": "100ms"}])
    first = expect.first_answer(before.post("/pay", key=key, json={"order": key}))
    eventually(lambda: not Api(before).get("/v1/records?operation=pay").json()["records"], what="the record to be over")
    before.stop()
    code, counts, told = copy(origin, destination, "--verify")
    assert code == 0 and counts["marks"] == counts["marks_written"] == 1 and counts["different"] == 0, (counts, told)
    code, counts, _ = copy(origin, destination, "--verify")
    assert code == 0 and counts["marks"] == 1 and counts["marks_written"] == 0, counts
    after = serve(destination, [paid_once])
    members = expect.problem(after.post("/pay", key=f"{key}-2", json={"order": key}), 409, "DUPLICATE_BUSINESS_OPERATION")
    assert members["operationId"] == first.operation_id
    assert upstream.effects(f"{key}-2") == 0
    expect.first_answer(after.post("/pay", key=f"{key}-3", json={"order": f"{key}-3"}))


@contextlib.contextmanager
def locked(postgres, table, database):
    """Holds up whoever reads the table."""
    session = subprocess.Popen([postgres_server.BIN / "psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-U", "postgres",
                                "-p", str(postgres.port), "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    session.stdin.write(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
    session.stdin.flush()
    assert session.stdout.readline().strip() == "locked"
    yield
    session.stdin.write("COMMIT;\n")
    session.communicate()


def asked(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def test_an_event_that_comes_while_it_copies_is_not_forgotten(serve, postgres, store_url, key):
    origin, destination = store_url("postgres"), store_url("file")
    before = serve(origin, OPERATIONS)
    expect.first_answer(before.post("/moved", key=key))
    before.stop()
    database = origin.rpartition("/")[2]
    watcher = psycopg2.connect(origin)
    watcher.autocommit = True
    with locked(postgres, "onceward.marks", database):  # which are read behind the records
        copying = subprocess.Popen([binary(), "store", "copy", origin + "?timeout=60s", destination, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True)
        eventually(lambda: asked(watcher, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                                 "query LIKE '%onceward.marks%' AND datname = current_database()") == 1,
                   what="the copy to reach the marks")
        asked(watcher, "INSERT INTO onceward.outbox (id, scope, type, content_type, payload, created_at, due_at, ready_at) "
                       "VALUES ('late', sha256('late'), 'late', 'text/plain', '', now(), now(), now()) RETURNING 1")
    watcher.close()
    out, told = copying.communicate(timeout=60)
    assert copying.returncode == 1 and "1 events wait in FROM's outbox" in told, (out, told)
    assert json.loads(out.splitlines()[-1])["written"] == 1, "it waited when the records had been copied"


def test_progress_is_drawn_on_a_terminal(serve, store_url, key):
    origin, destination = store_url("file"), store_url("file")
    before = serve(origin, OPERATIONS)
    expect.first_answer(before.post("/moved", key=key))
    before.stop()
    ours, theirs = pty.openpty()
    with subprocess.Popen([binary(), "store", "copy", origin, destination], stdout=subprocess.PIPE, stderr=theirs,
                          env=environment(), text=True) as copying:
        os.close(theirs)
        assert "1 records: 1 written, 0 there already" in copying.stdout.read()
    drawn = os.read(ours, 4096).decode()
    os.close(ours)
    assert "[####" in drawn.replace(".", "#") and "1 copied" in drawn, drawn
