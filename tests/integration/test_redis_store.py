"""The Redis store as an operator meets it: TLS, ACL users, eviction, restarts, failovers, full memory."""

import re
import time

import pytest

import redis_server
from support import expect
from support.behaviours import Hold
from support.onceward import RefusedToStart
from support.waiting import eventually

UNAVAILABLE = "IDEMPOTENCY_STORE_UNAVAILABLE"


def ready(proxy):
    return proxy.api("/readyz").json()


def is_ready(proxy):
    return proxy.api("/readyz").status == 200


def when_ready(proxy):
    eventually(lambda: is_ready(proxy), what="the proxy to find the server")
    return ready(proxy)


def record_keys(server, pattern="onceward:*"):
    return server.main.cli("KEYS", pattern).split()


# -- starting ----------------------------------------------------------------------------------------


def test_a_server_that_would_evict_records_stops_serve(serve, own_redis):
    server = own_redis(settings=("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru", "--save", ""))
    with pytest.raises(RefusedToStart, match="(?s)ended with 2.*allkeys-lru.*noeviction"):
        serve(server.url)


def test_a_server_that_cannot_be_reached_does_not_stop_serve(serve, own_redis, upstream, key):
    server = own_redis()
    server.main.kill()
    proxy = serve(server.url)
    assert proxy.api("/readyz").status == 503
    expect.problem(proxy.post(key=key), 503, UNAVAILABLE)
    assert upstream.effects(key) == 0
    assert proxy.post("/unguarded").status == 201
    server.main.start()
    eventually(lambda: is_ready(proxy), what="the proxy to find the server")
    expect.first_answer(proxy.post(key=key))


def test_readyz_tells_the_durability_and_warns_without_an_append_only_file(serve, own_redis):
    durable = when_ready(serve(own_redis().url))
    assert durable["ready"] and durable["store"] == "redis" and durable["durability"] == "aof everysec", durable
    assert "message" not in durable
    proxy = serve(own_redis(settings=("--save", "")).url)
    told = when_ready(proxy)
    assert told["ready"] and "none" in told["durability"] and "appendonly" in told["message"], told
    assert "appendonly" in proxy.logs()


def test_an_acl_user_with_the_documented_rights_and_its_password_in_no_log(serve, own_redis, upstream, key):
    server = own_redis()
    text = (redis_server.pathlib.Path(__file__).parents[2] / "docs" / "stores.md").read_text()
    rights = re.search(r"needs: `([^`]+)`", text).group(1).split()
    assert server.main.cli("ACL", "SETUSER", "app", "on", ">hunter2", *rights) == "OK"
    assert server.main.cli("ACL", "SETUSER", "default", "off") == "OK"
    place = f"127.0.0.1:{server.main.port}"
    proxy = serve(f"redis://app:hunter2@{place}")
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    assert ready(proxy)["ready"] and proxy.metrics()
    stranger = serve(f"redis://app:wrong-hunter2@{place}")
    expect.problem(stranger.post(key=key), 503, UNAVAILABLE)
    eventually(lambda: "WRONGPASS" in ready(stranger)["message"], what="the reason to be known")
    for one in (proxy, stranger):
        assert "hunter2" not in one.logs() and "hunter2" not in one.api("/readyz").body.decode()


def test_a_user_that_may_not_look_at_the_configuration_is_warned_of(serve, own_redis, key):
    server = own_redis()
    assert server.main.cli("ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-info", "-config") == "OK"
    proxy = serve(f"redis://app:pw@127.0.0.1:{server.main.port}")
    assert "could not be checked" in when_ready(proxy)["message"]
    expect.first_answer(proxy.post(key=key))


def test_tls_with_a_ca_of_ones_own_and_never_with_another(serve, own_redis, key):
    server = own_redis(redis_server.start_tls)
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    distrusting = serve(server.url.split("?")[0])
    expect.problem(distrusting.post(key=key), 503, UNAVAILABLE)
    eventually(lambda: "TLS" in ready(distrusting)["message"], what="the reason to be known")


def test_prefixes_and_databases_keep_services_apart(serve, own_redis, upstream, key):
    server = own_redis()
    for url in (server.url, server.url + "?prefix=shop:", server.url + "/1"):
        expect.first_answer(serve(url).post(key=key))
    assert upstream.effects(key) == 3
    assert len(record_keys(server, "shop:*")) == 1 and len(record_keys(server)) == 1


def test_a_person_can_read_a_record(serve, own_redis, key):
    server = own_redis()
    proxy = serve(server.url)
    proxy.post(key=key, tenant="acme")
    [name] = record_keys(server)
    fields = server.main.cli("HMGET", name, "state", "tenant", "operation", "epoch", "status").split("\n")
    assert fields == ["succeeded", "acme", "POST /orders", "1", "201"]


# -- losing the server and getting it back ---------------------------------------------------------------


def test_records_survive_a_killed_server_and_service_comes_back(serve, own_redis, upstream, key):
    server = own_redis(settings=("--appendonly", "yes", "--appendfsync", "always", "--save", ""))
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    server.main.kill()
    expect.problem(proxy.post(key=key), 503, UNAVAILABLE)
    expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    assert proxy.api("/readyz").status == 503
    server.main.start()
    eventually(lambda: is_ready(proxy), what="the proxy to reconnect")
    expect.replay_of(proxy.post(key=key), first)
    expect.first_answer(proxy.post(key=f"{key}-new"))
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-new") == 1


def test_an_outcome_that_cannot_be_stored_yet_is_told_and_stored_later(serve, own_redis, upstream, key):
    server = own_redis(settings=("--appendonly", "yes", "--appendfsync", "always", "--save", ""))
    proxy = serve(server.url)
    hold = Hold()
    first = proxy.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    server.main.kill()
    hold.release()
    answer = first.result()
    assert answer.status == 201 and answer.header("Onceward-Stored") == "false", answer
    server.main.start()
    eventually(lambda: proxy.post(key=key).header("Idempotent-Replayed") == "true", what="the outcome to be stored")
    assert upstream.effects(key) == 1


def test_scripts_that_the_server_forgot_are_sent_again(serve, own_redis, upstream, key):
    server = own_redis()
    proxy = serve(server.url)
    for number in range(3):
        first = expect.first_answer(proxy.post(key=f"{key}-{number}"))
        assert server.main.cli("SCRIPT", "FLUSH") == "OK"
        expect.replay_of(proxy.post(key=f"{key}-{number}"), first)
        assert server.main.cli("SCRIPT", "FLUSH") == "OK"


def test_flushall_loses_what_the_docs_say_and_nothing_breaks(serve, own_redis, upstream, key):
    server = own_redis()
    proxy = serve(server.url)
    hold = Hold()
    expect.first_answer(proxy.post(key=key))
    running = proxy.post_in_background(key=f"{key}-running", script=upstream.script(hold))
    hold.wait_reached()
    assert server.main.cli("FLUSHALL") == "OK"
    hold.release()
    assert running.result().header("Onceward-Stored") == "false"
    expect.first_answer(proxy.post(key=key))
    assert upstream.effects(key) == 2


def test_a_full_server_refuses_claims_and_still_replays(serve, own_redis, upstream, key):
    server = own_redis()
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    assert server.main.cli("CONFIG", "SET", "maxmemory", "1") == "OK"
    expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    assert upstream.effects(f"{key}-new") == 0
    expect.replay_of(proxy.post(key=key), first)
    assert server.main.cli("CONFIG", "SET", "maxmemory", "0") == "OK"
    expect.first_answer(proxy.post(key=f"{key}-new"))


def test_a_server_that_says_nothing_is_given_up_and_tried_again(serve, own_redis, upstream, key):
    server = own_redis()
    proxy = serve(server.url + "?timeout=2s&connect_timeout=2s")
    expect.first_answer(proxy.post(key=key))
    server.main.pause()
    expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    server.main.resume()
    # Its commands may have waited in the paused server's socket; whatever it did with them, one effect comes of it.
    eventually(lambda: proxy.post(key=f"{key}-new").status == 201, what="service to be back")
    assert upstream.effects(f"{key}-new") == 1


# -- another proxy, replicas, sentinels -------------------------------------------------------------------


def test_a_waiter_on_another_proxy_is_woken_by_a_message(serve, own_redis, upstream, key):
    server = own_redis()
    leading, waiting = serve(server.url), serve(server.url)
    hold = Hold()
    first = leading.post_in_background(key=key, script=upstream.script(hold), headers=[("Prefer", "wait=20")])
    hold.wait_reached()
    second = waiting.post_in_background(key=key, headers=[("Prefer", "wait=20")])
    eventually(lambda: server.main.cli("PUBSUB", "CHANNELS") != "", what="the waiter to subscribe")
    before = int(re.search(r"cmdstat_evalsha:calls=(\d+)", server.main.cli("INFO", "commandstats")).group(1))
    began = time.monotonic()
    hold.release()
    expect.replay_of(second.result(), first.result())
    polls = 2 + 2 * (time.monotonic() - began)
    calls = int(re.search(r"cmdstat_evalsha:calls=(\d+)", server.main.cli("INFO", "commandstats")).group(1))
    assert calls - before <= 2 + polls  # the completion and the waiter's look; a poll or two may fall in between
    assert upstream.effects(key) == 1


def test_too_few_replicas_mean_503_and_nothing_sent(serve, own_redis, upstream, key):
    server = own_redis(redis_server.start_replicated)
    primary, replica = server.processes
    proxy = serve(server.url + "?wait_replicas=1&wait_timeout=3s")
    assert when_ready(proxy)["durability"] == "aof everysec, 1 replica waited for"
    first = expect.first_answer(proxy.post(key=key))
    replica.kill()
    expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    assert upstream.effects(f"{key}-new") == 0
    expect.replay_of(proxy.post(key=key), first)
    replica.start()
    eventually(lambda: proxy.post(key=f"{key}-new").status == 201, what="the replica to be back")
    assert [request.epoch for request in upstream.of_key(f"{key}-new")] != ["1"]  # it had been claimed and released


def test_sentinels_lead_to_the_new_primary(serve, own_redis, upstream, key):
    server = own_redis(redis_server.start_sentinel)
    primary, replica = server.processes[:2]
    proxy = serve(server.url + "?wait_replicas=0&connect_timeout=5s")
    first = expect.first_answer(proxy.post(key=key))
    eventually(primary.is_copied, what="the replica to have it")
    primary.kill()
    expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    eventually(lambda: is_ready(proxy), what="the sentinels to promote the replica")
    assert replica.cli("ROLE").startswith("master")
    expect.replay_of(proxy.post(key=key), first)
    eventually(lambda: proxy.post(key=f"{key}-new").status == 201, what="new keys to be taken")
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-new") == 1


def test_a_cluster_serves_while_a_slot_moves_and_after_a_primary_dies(serve, own_redis, upstream, key):
    server = own_redis(redis_server.start_cluster)
    proxy = serve(server.url + "?connect_timeout=5s")
    answers = {name: expect.first_answer(proxy.post(key=name)) for name in (f"{key}-{n}" for n in range(30))}
    source = slot_owner(server, 0)
    target = next(one for one in server.processes if one is not source and "master" in one.cli("ROLE"))
    finish = move_slots_of_records(server, source, target)
    for name, first in answers.items():
        expect.replay_of(proxy.post(key=name), first)
    finish()
    eventually(target.is_copied, what="the replica to have them")
    target.kill()
    eventually(lambda: all_replay(proxy, answers), every=0.2, what="a replica to take over")
    assert all(upstream.effects(name) == 1 for name in answers)


def all_replay(proxy, answers):
    return is_ready(proxy) and all(proxy.post(key=name).header("Idempotent-Replayed") == "true" for name in answers)


def node_id(process):
    return process.cli("CLUSTER", "MYID")


def slot_owner(server, slot):
    ranges = server.main.cli("CLUSTER", "NODES").split("\n")
    for line in ranges:
        words = line.split()
        if "master" in words[2]:
            for span in words[8:]:
                low, _, high = span.partition("-")
                if low.isdigit() and int(low) <= slot <= int(high or low):
                    port = int(words[1].split("@")[0].rpartition(":")[2])
                    return next(process for process in server.processes if process.port == port)
    raise AssertionError("no owner")


def move_slots_of_records(server, source, target):
    """Moves every slot that has a record. The first one stays half way, its records at the target: call the result."""
    slots = sorted({int(source.cli("CLUSTER", "KEYSLOT", name)) for name in source.cli("KEYS", "*").split()})
    assert len(slots) > 1

    def finish(slot=slots[0]):
        for process in (target, source):
            assert process.cli("CLUSTER", "SETSLOT", slot, "NODE", node_id(target)) == "OK"

    for slot in slots:
        assert target.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source)) == "OK"
        assert source.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target)) == "OK"
        for name in source.cli("CLUSTER", "GETKEYSINSLOT", slot, 100).split():
            assert source.cli("MIGRATE", "127.0.0.1", target.port, name, 0, 30000) == "OK"
        if slot != slots[0]:
            finish(slot)
    return finish
