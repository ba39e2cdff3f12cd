"""A gate between the proxy and its store's server: replies lost, cut at every byte, swallowed, slow, reset. At most
one effect per key, no false success, and the service is back afterwards."""

import pathlib
import tempfile

import pytest

from support import expect, shared_stores
from support.gate import Gate
from support.waiting import eventually
from support.wire import Closed
from support.zoo import WAIT_NOT, operation

OPERATIONS = [operation("/gated", lease="10s", in_progress=WAIT_NOT)]


@pytest.fixture(scope="module", params=["redis", "postgres"])
def server(request):
    with tempfile.TemporaryDirectory(prefix="onceward-gated-") as folder:
        server = shared_stores.start(request.param, pathlib.Path(folder) / request.param)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def gated(server, serve_module):
    """A proxy whose every byte to and from its store goes through the gate."""
    gate = Gate(shared_stores.port_of(server))
    proxy = serve_module(shared_stores.through(server.url, gate), OPERATIONS, workers=1)
    proxy.gate = gate
    eventually(lambda: proxy.api("/readyz").status == 200, what="the store to be reached")
    yield proxy
    gate.heal()
    gate.close()


def heal(proxy):
    proxy.gate.heal()
    proxy.gate.cut()  # what was swallowed half-way stays lost
    eventually(lambda: proxy.api("/readyz").status == 200, what="the service to be back")


def check(proxy, upstream, key, response):
    """Whatever the caller was told is true, and asking again does not do it twice."""
    heal(proxy)
    effects = upstream.effects(key)
    assert effects <= 1
    if response is not None and response.status == 201:
        assert effects == 1
    elif response is not None:
        assert response.status in (409, 502, 503, 504), response
        if response.status == 503:
            assert effects == 0, "fail closed: nothing is forwarded when the store cannot answer"
    # Sent, but the outcome could not be stored: held as unknown, never run again. Never sent: the claim, if it was
    # written at all, is found and freed by its owner.
    may_be_unknown = effects == 1
    again = eventually(lambda: settled(proxy.post("/gated", key=key), may_be_unknown),
                       what="the key to settle")
    if again.status != 201:
        expect.problem(again, 409, "IDEMPOTENCY_OUTCOME_UNKNOWN")
    assert upstream.effects(key) == 1


def settled(response, may_be_unknown):
    if response.status == 201 or (may_be_unknown and response.json()["code"] == "IDEMPOTENCY_OUTCOME_UNKNOWN"):
        return response
    return None


def post(proxy, key):
    try:
        return proxy.post("/gated", key=key)
    except (Closed, OSError):
        return None


def exchange_sizes(gated, upstream, key):
    """How many bytes one guarded request sends to and gets from the store on a fresh connection."""
    before = gated.gate.passed_up
    expect.first_answer(gated.post("/gated", key=key))
    return gated.gate.passed_up - before


@pytest.mark.parametrize("with_reset", [False, True])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_connection_cut_at_every_byte_never_causes_a_second_effect(gated, upstream, key, direction, with_reset):
    size = exchange_sizes(gated, upstream, key)
    assert size > 0
    step = max(1, size // 24)
    for number, limit in enumerate(range(1, size + step, step)):
        name = f"{key}-{number}"
        gated.gate.cut()
        eventually(lambda: gated.api("/readyz").status == 200, what="the store to be reached again")
        gated.gate.with_reset = with_reset
        gated.gate.cut_from_now(direction, limit)
        check(gated, upstream, name, post(gated, name))


def test_a_reply_that_is_lost_after_the_write_is_asked_for_by_owner(gated, upstream, key):
    """I10: the owner must not compete with its own claim."""
    gated.gate.swallow_down = True
    answer = gated.post_in_background("/gated", key=key)
    eventually(lambda: gated.gate.swallowed > 0, what="a reply to be lost")
    gated.gate.swallow_down = False
    gated.gate.cut()
    check(gated, upstream, key, answer.result())


def test_a_black_hole_is_answered_in_time_and_nothing_is_forwarded(gated, upstream, key):
    gated.gate.black_hole = True
    response = gated.post("/gated", key=key)
    expect.problem(response, 503, "IDEMPOTENCY_STORE_UNAVAILABLE")
    assert upstream.effects(key) == 0
    check(gated, upstream, key, response)


def test_a_slow_store_is_slow_and_right(gated, upstream, key):
    gated.gate.delay = 0.2
    first = gated.post("/gated", key=key)
    gated.gate.heal()
    expect.first_answer(first)
    expect.replay_of(gated.post("/gated", key=key), first)
    assert upstream.effects(key) == 1


def test_a_server_that_is_restarted_is_found_again(gated, server, upstream, key):
    expect.first_answer(gated.post("/gated", key=f"{key}-before"))
    shared_stores.restart(server)
    heal(gated)
    expect.first_answer(gated.post("/gated", key=f"{key}-after"))
    assert upstream.effects(f"{key}-after") == 1
    assert gated.post("/gated", key=f"{key}-before").replayed
