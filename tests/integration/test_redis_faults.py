"""What can become of a Redis server: for each fault at most one effect per key, no false success and service back
afterwards; where Redis alone can lose what it acknowledged, exactly the loss that docs/stores.md names."""

import pytest

import redis_server
from support import expect
from support.gate import Gate
from support.waiting import eventually

UNAVAILABLE = "IDEMPOTENCY_STORE_UNAVAILABLE"


class FailingOver:
    """A primary whose replica follows through a gate, and an address in front that moves to whoever is primary."""

    def __init__(self, folder):
        self.primary = redis_server.Process(folder / "primary", settings=redis_server.DURABLE)
        self.between, self.front = Gate(self.primary.port), Gate(self.primary.port)
        self.replica = redis_server.Process(
            folder / "replica", settings=(*redis_server.DURABLE, "--replicaof", f"127.0.0.1 {self.between.port}"))
        eventually(self.primary.is_copied, what="the replica to follow")
        self.url = f"redis://127.0.0.1:{self.front.port}"

    def cut_link(self):
        """The replica hears nothing more; the primary does not know."""
        eventually(self.primary.is_copied, what="the replica to have everything")
        self.between.black_hole = True

    def fail_over(self):
        self.primary.kill()
        assert self.replica.cli("REPLICAOF", "NO", "ONE") == "OK"
        self.front.lead_to(self.replica.port)

    def stop(self):
        for part in (self.primary, self.replica):
            part.stop()
        for gate in (self.between, self.front):
            gate.close()


@pytest.fixture
def failing_over(tmp_path):
    made = FailingOver(tmp_path / "pair")
    yield made
    made.stop()


def is_ready(proxy):
    return proxy.api("/readyz").status == 200


def refuses_and_recovers(proxy, upstream, key, first, trouble, repair):
    """New keys get 503 and nothing is forwarded; afterwards they run, once, and what was stored is replayed."""
    trouble()
    for _ in range(2):
        expect.problem(proxy.post(key=f"{key}-new"), 503, UNAVAILABLE)
    assert upstream.effects(f"{key}-new") == 0
    repair()
    eventually(lambda: proxy.post(key=f"{key}-new").status == 201, what="service to be back")
    expect.replay_of(proxy.post(key=key), first)
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-new") == 1


# -- failovers that lose writes ---------------------------------------------------------------------------


def test_a_replica_that_was_cut_off_forgets_what_the_docs_say_it_forgets(serve, failing_over, upstream, key):
    proxy = serve(failing_over.url)
    kept = expect.first_answer(proxy.post(key=f"{key}-kept"))
    failing_over.cut_link()
    expect.first_answer(proxy.post(key=key))
    failing_over.fail_over()
    eventually(lambda: is_ready(proxy), what="the new primary to be found")
    expect.replay_of(proxy.post(key=f"{key}-kept"), kept)
    # Claim and outcome were acknowledged and are lost: it executes again, the documented second effect, and no third.
    again = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), again)
    assert upstream.effects(key) == 2 and upstream.effects(f"{key}-kept") == 1


def test_a_claim_that_a_replica_must_have_is_not_lost_with_the_primary(serve, failing_over, upstream, key):
    proxy = serve(failing_over.url + "?wait_replicas=1&wait_timeout=3s")
    kept = expect.first_answer(proxy.post(key=f"{key}-kept"))
    failing_over.cut_link()
    expect.problem(proxy.post(key=key), 503, UNAVAILABLE)
    assert upstream.effects(key) == 0
    failing_over.fail_over()
    assert failing_over.replica.cli("CONFIG", "SET", "appendfsync", "always") == "OK"
    alone = serve(failing_over.url)  # there is no second replica to wait for any more
    expect.first_answer(alone.post(key=key))
    expect.replay_of(alone.post(key=f"{key}-kept"), kept)
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-kept") == 1


def test_a_cache_that_fails_over_and_forgets_causes_no_second_effect(serve, postgres, failing_over, upstream, key):
    proxy = serve(postgres.url, cache=failing_over.url)
    kept = expect.first_answer(proxy.post(key=f"{key}-kept"))
    failing_over.cut_link()
    lost = expect.first_answer(proxy.post(key=key))
    failing_over.fail_over()
    for name, first in ((key, lost), (f"{key}-kept", kept)):
        expect.replay_of(proxy.post(key=name), first)
        assert upstream.effects(name) == 1
    expect.first_answer(proxy.post(key=f"{key}-new"))


# -- a server that answers, but not what was asked for ----------------------------------------------------------


def test_a_server_that_cannot_save_refuses_claims(serve, own_redis, upstream, key):
    """MISCONF: stop-writes-on-bgsave-error."""
    server = own_redis(settings=("--appendonly", "no", "--save", "3600 1000000"))
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    in_the_way = server.main.folder / "dump.rdb"

    def bgsave(status):
        server.main.cli("BGSAVE")
        eventually(lambda: f"rdb_last_bgsave_status:{status}" in server.main.cli("INFO", "persistence"), what=status)

    def trouble():
        in_the_way.mkdir()
        bgsave("err")

    def repair():
        in_the_way.rmdir()
        bgsave("ok")

    refuses_and_recovers(proxy, upstream, key, first, trouble, repair)


def test_a_primary_without_enough_replicas_refuses_claims(serve, own_redis, upstream, key):
    """NOREPLICAS: min-replicas-to-write, by which a primary that is cut off stops."""
    server = own_redis()
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    refuses_and_recovers(proxy, upstream, key, first,
                         lambda: server.main.cli("CONFIG", "SET", "min-replicas-to-write", 1),
                         lambda: server.main.cli("CONFIG", "SET", "min-replicas-to-write", 0))


def test_a_server_that_is_still_loading_is_waited_for(serve, own_redis, upstream, key):
    """LOADING: it listens, and knows nothing yet. Nothing may be taken for a new key."""
    server = own_redis(settings=("--appendonly", "no", "--save", "3600 1000000", "--key-load-delay", "10000",
                                 "--loading-process-events-interval-bytes", "1024"))
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    server.main.cli("EVAL", "for i = 1, 500 do redis.call('SET', 'ballast:' .. i, string.rep(i, 300)) end", 0)
    assert server.main.cli("SAVE") == "OK"

    def trouble():
        server.main.kill()
        server.main.spawn()
        eventually(lambda: server.main.cli("PING").startswith("LOADING"), every=0.002, what="the loading to begin")

    refuses_and_recovers(proxy, upstream, key, first, trouble, lambda: eventually(server.main.answers, what="it to end"))


# -- sentinels with TLS, WAIT on a cluster ----------------------------------------------------------------------


def test_sentinels_and_their_primary_may_speak_tls(serve, own_redis, upstream, key):
    server = own_redis(redis_server.start_tls_sentinel)
    proxy = serve(server.url)
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    distrusting = serve(server.url.replace(f"&ca={server.url.partition('&ca=')[2]}", ""))
    expect.problem(distrusting.post(key=f"{key}-new"), 503, UNAVAILABLE)
    assert upstream.effects(key) == 1 and upstream.effects(f"{key}-new") == 0


def test_claims_in_a_cluster_wait_for_the_replica_of_their_slot(serve, own_redis, upstream, key):
    server = own_redis(redis_server.start_cluster)
    proxy = serve(server.url + "?wait_replicas=1&wait_timeout=2s&connect_timeout=5s")
    first = expect.first_answer(proxy.post(key=key))
    holder = next(process for process in server.processes
                  if "master" in process.cli("ROLE") and process.cli("DBSIZE") == "1")
    port = int(holder.cli("ROLE").split()[3])
    replica = next(process for process in server.processes if process.port == port)
    assert replica.cli("DBSIZE") == "1"
    replica.kill()
    names, refused = [], set()
    while len(refused) < 2 or len(refused) == len(names):  # the slots of one primary of three
        names.append(f"{key}-{len(names)}")
        assert len(names) < 100, "refused everywhere or nowhere"
        if proxy.post(key=names[-1]).status == 503:
            refused.add(names[-1])
    assert all(upstream.effects(name) == (name not in refused) for name in names)
    expect.replay_of(proxy.post(key=key), first)
    replica.start()
    eventually(holder.is_copied, what="the replica to follow again")
    assert all(proxy.post(key=name).status == 201 for name in names)
    assert all(upstream.effects(name) == 1 for name in names)
