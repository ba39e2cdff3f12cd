"""The PostgreSQL store as an operator meets it: restarts, crashes, poolers, roles, TLS."""

import threading

import pytest

import postgres_server
from support import expect
from support import onceward as process
from support.behaviours import Hold, reset
from support.onceward import metric_sum
from support.waiting import eventually

UNAVAILABLE = "IDEMPOTENCY_STORE_UNAVAILABLE"


@pytest.fixture(scope="module")
def server():
    """One for this file; synced, because some tests crash it."""
    with postgres_server.running(durable=True) as own:
        yield own


def ready(proxy):
    return proxy.api("/readyz").json()


def is_ready(proxy):
    return proxy.api("/readyz").status == 200


# -- starting ----------------------------------------------------------------------------------------


def test_a_server_that_cannot_be_reached_does_not_stop_serve(serve, server, upstream, key):
    server.stop("fast")
    proxy = serve(server.url.replace("postgres@", "postgres:geheim@"))
    assert proxy.api("/readyz").status == 503
    eventually(lambda: "refused" in ready(proxy)["message"], what="the reason to be known")
    expect.problem(proxy.post(key=key), 503, UNAVAILABLE)
    assert upstream.effects(key) == 0
    assert proxy.post("/unguarded").status == 201
    server.start()
    eventually(lambda: is_ready(proxy), what="the proxy to find the server")
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    assert ready(proxy) == {"ready": True, "store": "postgres", "durability": "disk"}
    assert "geheim" not in proxy.logs()


def test_a_schema_may_be_made_by_another_role_than_the_one_that_uses_it(serve, server, key):
    url = server.new_database("apart")
    server.sql("CREATE ROLE app LOGIN", "apart")
    theirs = url.replace("postgres@", "app@")
    proxy = serve(theirs)
    assert proxy.api("/readyz").status == 503
    eventually(lambda: "store migrate" in ready(proxy)["message"], what="the reason to be known")
    assert process.run("store", "migrate", url).returncode == 0
    again = process.run("store", "migrate", url)
    assert again.returncode == 0 and "up to date" in again.stdout
    server.sql("GRANT USAGE ON SCHEMA onceward TO app; GRANT SELECT ON onceward.schema_versions TO app; "
               "GRANT SELECT, INSERT, UPDATE, DELETE ON onceward.records, onceward.watches, "
               "onceward.marks, onceward.outbox TO app", "apart")
    eventually(lambda: is_ready(proxy), what="the proxy to find the schema")
    expect.first_answer(proxy.post(key=key))


def test_wrong_options_of_the_address_are_named_by_check_and_serve(tmp_path):
    problems = process.problems_of_config(tmp_path, "store: postgres://u:geheim@h/d?connections=none\n")
    assert problems.returncode == 2 and "connections" in problems.stderr and "geheim" not in problems.stderr
    assert process.problems_of_config(tmp_path, "store: postgres://u@h/d?connections=2&sslmode=verify-full\n").returncode == 0


def test_a_person_can_read_a_record(serve, server, key):
    proxy = serve(server.url)
    answer = proxy.post(key=key, tenant="acme")
    row = server.sql("SELECT state, tenant, operation, epoch, response_status FROM onceward.readable WHERE operation_id = "
                     f"'{answer.header('Onceward-Operation-Id')}'")
    assert row == "succeeded|acme|POST /orders|1|201"


# -- losing the server and getting it back ---------------------------------------------------------------


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_records_survive_a_restart_and_service_comes_back(serve, server, upstream, key, mode):
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    server.restart(mode)
    eventually(lambda: is_ready(proxy), what="the proxy to reconnect")
    expect.replay_of(proxy.post(key=key), first)
    expect.first_answer(proxy.post(key=f"{key}-new"))
    assert upstream.effects(key) == 1


def test_an_outcome_that_cannot_be_stored_yet_is_told_and_stored_later(serve, server, upstream, key):
    proxy = serve(server.url)
    hold = Hold()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    server.stop("immediate")
    hold.release()
    answer = first.result()
    server.start()
    assert answer.status == 201 and answer.header("Onceward-Stored") == "false", answer
    eventually(lambda: proxy.post(key=key).header("Idempotent-Replayed") == "true", what="the outcome to be stored")
    assert upstream.effects(key) == 1


def test_requests_while_sessions_are_killed_have_one_effect_each(serve, server, upstream, key):
    proxy = serve(server.url)
    done = threading.Event()

    def kill():
        while not done.wait(0.05):
            server.kill_backends()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for number in range(40):
            eventually(lambda n=number: proxy.post(key=f"{key}-{n}").status == 201, what="the key to be answered")
    finally:
        done.set()
        killer.join()
    assert all(upstream.effects(f"{key}-{number}") == 1 for number in range(40))


# -- another proxy, a pooler, TLS -----------------------------------------------------------------


def test_a_waiter_on_another_proxy_is_woken_by_a_notification(serve, server, upstream, key):
    leading, waiting = serve(server.url), serve(server.url)
    server.sql("DELETE FROM onceward.watches")
    eventually(lambda: is_ready(waiting), what="the waiter's proxy to listen")
    hold = Hold()
    first = leading.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    second = waiting.post_in_background(key=key, headers=[("Prefer", "wait=20")])
    eventually(lambda: server.sql("SELECT count(*) FROM onceward.watches") == "1", what="the waiter to ask for it")
    hold.release()
    expect.replay_of(second.result(), first.result())
    assert upstream.effects(key) == 1


def test_through_a_pooler_of_transactions(serve, server, upstream, key):
    folder = server.folder / "pooler"
    folder.mkdir()
    pooler = postgres_server.Pooler(folder, server)
    try:
        proxy = serve(pooler.url)
        first = expect.first_answer(proxy.post(key=key))
        expect.replay_of(proxy.post(key=key), first)
        eventually(lambda: is_ready(proxy), what="the last connection to stand")
    finally:
        pooler.stop()


def test_tls_with_the_right_name_and_never_with_another(serve, server, key):
    url = server.use_tls()
    eventually(lambda: server.sql("SHOW ssl") == "on", what="the server to speak TLS")
    proxy = serve(url)
    expect.first_answer(proxy.post(key=key))
    encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'onceward'"
    assert server.sql(encrypted) == "t"
    misled = serve(url.replace("@localhost", "@127.0.0.1"))
    expect.problem(misled.post(key=key), 503, UNAVAILABLE)
    eventually(lambda: "certificate" in ready(misled)["message"], what="the reason to be known")


def test_gauges_count_open_and_ended_records(serve, server, upstream, key):
    proxy = serve(server.new_database("counted"))
    for number in range(3):
        expect.first_answer(proxy.post(key=f"{key}-{number}"))
    assert proxy.post(key=f"{key}-lost", script=upstream.script(reset())).status == 502
    hold = Hold()
    running = proxy.post_in_background(key=f"{key}-running", script=upstream.script(hold))
    hold.wait_reached()
    counted = proxy.metrics()
    hold.release()
    running.result()
    for state, count in (("succeeded", 3), ("unknown", 1), ("processing", 1)):
        assert metric_sum(counted, "onceward_records_active", state=state) == count, state
    assert metric_sum(counted, "onceward_unknown") == 1
