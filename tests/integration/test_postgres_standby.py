"""PostgreSQL with a synchronous standby: commits that wait for it, are told to stop waiting, lose their backend, and the
standby that takes over. What was answered is there afterwards, and no key has a second effect."""

import pytest

import postgres_server
from support import expect
from support.behaviours import Hold
from support.gate import Gate
from support.waiting import eventually
from support.zoo import WAIT_NOT, operation

UNAVAILABLE = "IDEMPOTENCY_STORE_UNAVAILABLE"
OPERATIONS = [operation("/held", lease="3s", in_progress=WAIT_NOT)]


class Pair:
    """A primary and its synchronous standby; what passes between them goes through a gate."""

    def __init__(self, primary, gate):
        self.primary, self.gate = primary, gate
        self.standby = primary.add_standby(through=gate.port)
        self.url = f"postgres://postgres@127.0.0.1:{primary.port},127.0.0.1:{self.standby.port}/postgres?timeout=2s"

    def cut_off(self):
        """The primary hears nothing of the standby any more, and does not know it yet."""
        self.gate.black_hole = True

    def rejoin(self):
        self.gate.heal()
        self.gate.cut()

    def waiting(self):
        """How many commits wait for the standby."""
        return int(self.primary.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))

    def disturb(self, how):
        """What an administrator may do to commits that wait: pg_cancel_backend or pg_terminate_backend."""
        self.primary.sql(f"SELECT {how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    def disturb_until(self, how, is_over):
        def step():
            self.disturb(how)
            return is_over()
        eventually(step, every=0.05, what="the request to be answered")

    def fail_over(self):
        self.primary.standbys = []
        self.primary.stop("immediate")
        self.standby.promote()


@pytest.fixture
def pair():
    with postgres_server.running() as primary:
        gate = Gate(primary.port)
        made = Pair(primary, gate)
        try:
            yield made
        finally:
            gate.heal()
            gate.close()
            made.standby.stop()


def is_ready(proxy):
    return proxy.api("/readyz").status == 200


def test_a_synchronous_standby_takes_over_with_every_answered_outcome(serve, upstream, pair, key):
    proxy = serve(pair.url)
    answers = [expect.first_answer(proxy.post(key=f"{key}-{number}")) for number in range(10)]
    eventually(lambda: "standby1" in proxy.api("/readyz").json()["durability"], what="the standby to be shown")
    pair.fail_over()
    eventually(lambda: is_ready(proxy), what="the proxy to find the new primary")
    for number, first in enumerate(answers):
        expect.replay_of(proxy.post(key=f"{key}-{number}"), first)
    assert all(upstream.effects(f"{key}-{number}") == 1 for number in range(10))


@pytest.mark.parametrize("how", ["pg_terminate_backend", "pg_cancel_backend"])
def test_a_claim_that_the_standby_lacks_is_not_acted_upon(serve, upstream, pair, key, how):
    """The commit is done at the primary and its waiting is ended, by killing its backend or by cancelling: found again by
    its owner it is still not on the standby, which may be the one that lives on (I1, I10)."""
    proxy = serve(pair.url, OPERATIONS)
    eventually(lambda: is_ready(proxy), what="every connection")
    expect.first_answer(proxy.post("/held", key=f"{key}-before"))
    pair.cut_off()
    first = proxy.post_in_background("/held", key=key)
    eventually(lambda: pair.waiting() > 0, what="the claim to wait in its commit")
    pair.disturb_until(how, lambda: first.done)
    expect.problem(first.result(), 503, UNAVAILABLE)
    assert upstream.effects(key) == 0, "sent although the standby does not have the claim"
    pair.fail_over()
    eventually(lambda: is_ready(proxy), what="the proxy to find the new primary")
    eventually(lambda: proxy.post("/held", key=key).status == 201, what="the key to run")
    assert upstream.effects(key) == 1
    assert proxy.post("/held", key=f"{key}-before").replayed


def test_an_outcome_that_the_standby_lacks_is_not_called_stored(serve, upstream, pair, key):
    proxy = serve(pair.url, OPERATIONS)
    eventually(lambda: is_ready(proxy), what="every connection")
    hold = Hold()
    first = proxy.post_in_background("/held", key=key, script=upstream.script(hold))
    hold.wait_reached()
    pair.cut_off()
    hold.release()
    eventually(lambda: pair.waiting() > 0, what="the outcome to wait in its commit")
    pair.disturb_until("pg_cancel_backend", lambda: first.done)
    answer = first.result()
    assert answer.status == 201 and answer.header("Onceward-Stored") == "false", answer
    pair.fail_over()
    eventually(lambda: is_ready(proxy), what="the proxy to find the new primary")
    # The owner goes on telling its outcome while its lease lasts; a standby that takes long leaves it unknown.
    again = eventually(lambda: settled(proxy.post("/held", key=key)), what="the key to settle")
    assert again.status == 409 or again.body == answer.body
    assert upstream.effects(key) == 1


def settled(response):
    if response.replayed or (response.status == 409 and response.json()["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN"):
        return response
    return None


def test_service_is_back_when_the_standby_is(serve, upstream, pair, key):
    proxy = serve(pair.url, OPERATIONS)
    eventually(lambda: is_ready(proxy), what="every connection")
    pair.cut_off()
    expect.problem(proxy.post("/held", key=key), 503, UNAVAILABLE)
    assert upstream.effects(key) == 0
    pair.rejoin()
    eventually(lambda: proxy.post("/held", key=key).status == 201, what="the standby to be back")
    assert upstream.effects(key) == 1
