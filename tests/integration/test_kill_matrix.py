"""DESIGN 5 with failpoints: the real program dies, fails or pauses at every point of a request's life, on every
store, and its client retries. Whatever happens: at most one effect, every success told is true, the retry gets
what the row says, and the service is back."""

import pathlib
import signal
import time

import pytest

from support import expect
from support.behaviours import answer, close, numbered_answer
from support.failpoints import (IN_PROGRESS, STORE_DOWN, UNKNOWN, UNREACHABLE, LedgerUpstream, Story, arm, check_service,
                                needs_failpoints, was_passed)
from support.onceward import Onceward
from support.waiting import PATIENCE, eventually
from support.zoo import WAIT_NOT, operation

pytestmark = needs_failpoints

STORES = ["memory", "file"]
LEASE = 1.5  # of what is paused past it
SLOW_LEASE = 2.0  # of what is renewed; the upstream then takes longer than one lease
OPERATIONS = [
    operation("/paused", lease=f"{LEASE * 1000:.0f}ms"),
    operation("/slow", lease=f"{SLOW_LEASE * 1000:.0f}ms"),
    operation("/slow-busy", lease=f"{SLOW_LEASE * 1000:.0f}ms", in_progress=WAIT_NOT),
]


def slow(exchange):
    time.sleep(SLOW_LEASE * 1.5)  # the upstream's own time, not a wait for something else
    return numbered_answer(exchange)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    upstream = LedgerUpstream(tmp_path_factory.mktemp("ledger") / "effects")
    yield upstream
    upstream.stop()
    assert not upstream.malformed


@pytest.fixture
def tell(tmp_path, ledger, key):
    """Starts a proxy with an armed point and tells the story of one key, on the way that passes the point."""
    proxies = []

    def start(point, plan, store, target="/orders"):
        proxy = Onceward(tmp_path / "proxy", ledger, store, OPERATIONS, env=arm(plan))
        proxies.append(proxy)
        proxy.start()
        verb = point.partition(".")[0]
        if verb == "release":
            return Story(proxy, ledger, key, ledger.script(answer(503), numbered_answer), target, refused=1)
        if verb == "unknown":
            return Story(proxy, ledger, key, ledger.script(close(), numbered_answer), target)
        if verb == "renew":
            return Story(proxy, ledger, key, ledger.script(slow, numbered_answer), "/slow")
        return Story(proxy, ledger, key, None, target)

    yield start
    for proxy in proxies:
        proxy.stop()


# point, effects when it dies there, what the retry gets
KILLED = [
    ("lookup.before", 0, "executes"),
    ("lookup.after", 0, "executes"),
    ("connect.before", 0, "executes"),
    ("claim.before", 0, "executes"),
    ("claim.after", 0, "unknown"),
    ("send.before", 0, "unknown"),
    ("send.after", 1, "unknown"),
    ("receive.after", 1, "unknown"),
    ("complete.before", 1, "unknown"),
    ("complete.after", 1, "replay"),
    ("answer.before", 1, "replay"),
    ("answer.after", 1, "replay"),
    ("release.before", 0, "unknown"),
    ("release.after", 0, "executes"),
    ("unknown.before", 1, "unknown"),
    ("unknown.after", 1, "unknown"),
    ("renew.before", 1, "unknown"),
    ("renew.after", 1, "unknown"),
]


@pytest.mark.parametrize("point, effects, retry", KILLED, ids=[row[0] for row in KILLED])
def test_killed(tell, point, effects, retry):
    story = tell(point, f"{point}:kill@1", "file")
    proxy = story.proxy
    first = story.ask()
    if point != "answer.after":
        assert first is None, "an answer although the process died before it"
    assert proxy.process.wait(PATIENCE) == -signal.SIGKILL
    assert was_passed(proxy, point)
    proxy.env = None
    proxy.restart()
    eventually(lambda: story.effects >= effects, what="what was sent to arrive")
    assert story.effects == effects
    again = story.check_next(retry)
    if retry == "unknown":
        assert story.effects == effects, "the retry was executed"
        if ledger_requests := story.upstream.of_key(story.key):
            assert again.json()["operationId"] == ledger_requests[0].operation_id
    if first is not None:
        expect.replay_of(again, first)
    check_service(proxy)


# what fails, what the first client gets, what the retry gets; a plain number is the upstream's own answer
FAILED = [
    ("lookup.before@1", (503, STORE_DOWN), "executes"),
    ("lookup.after@1", (503, STORE_DOWN), "executes"),
    ("connect.before@1", (502, UNREACHABLE), "executes"),
    ("claim.before@1", 201, "replay"),
    ("claim.before@1-2", (503, STORE_DOWN), "executes"),
    ("claim.after@1", 201, "replay"),
    ("claim.after@1-2", (503, STORE_DOWN), "executes"),
    ("send.before@1", (502, UNREACHABLE), "executes"),
    ("send.after@1", (502, UNKNOWN), "unknown"),
    ("receive.after@1", (502, UNKNOWN), "unknown"),
    ("complete.before@1", 201, "replay"),
    ("complete.before@1-4", "201 not stored", "replay"),
    ("complete.after@1", 201, "replay"),
    ("complete.after@1-4", "201 not stored", "replay"),
    ("answer.before@1", None, "replay"),
    ("answer.after@1", "201 or none", "replay"),
    ("release.before@1", 503, "executes"),
    ("release.before@1-4", 503, "executes"),
    ("release.after@1", 503, "executes"),
    ("release.after@1-4", 503, "executes"),
    ("unknown.before@1", (502, UNKNOWN), "unknown"),
    ("unknown.before@1-4", (502, UNKNOWN), "unknown"),
    ("unknown.after@1", (502, UNKNOWN), "unknown"),
    ("unknown.after@1-4", (502, UNKNOWN), "unknown"),
    ("renew.before@1-2", 201, "replay"),
    ("renew.after@1-2", 201, "replay"),
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("armed, told, retry", FAILED, ids=[row[0] for row in FAILED])
def test_failed(tell, store, armed, told, retry):
    point, _, times = armed.partition("@")
    story = tell(point, f"{point}:error@{times}", store)
    check_first(story.ask(), told)
    story.check()
    if retry != "executes":
        eventually(lambda: story.effects == 1, what="what was sent to arrive")
    effects = story.effects
    eventually(lambda: was_passed(story.proxy, point), what=f"{point} to be passed")
    if isinstance(told, tuple) and told[1] in (STORE_DOWN, UNREACHABLE):
        assert effects == 0, "refused, and forwarded all the same"
    story.check_next(retry)
    if retry != "executes":
        assert story.effects == effects, "the retry was executed"
    check_service(story.proxy)


def check_first(response, told):
    if told is None:
        assert response is None, response
    elif isinstance(told, tuple):
        expect.problem(response, *told)
    elif told == "201 not stored":
        assert expect.first_answer(response).header("Onceward-Stored") == "false"
    elif told == "201 or none":
        assert response is None or expect.first_answer(response)
    else:
        assert expect.first_answer(response, told).header("Onceward-Stored") in (None, "false" if told == 503 else None)


# point, what the first client gets when the process goes on after the lease has ended, what the retry gets
PAUSED = [
    ("lookup.before", 201, "replay"),
    ("lookup.after", 201, "replay"),
    ("connect.before", 201, "replay"),
    # The owner counts from before it asked: it sends nothing that it has no lease for.
    ("claim.before", (503, STORE_DOWN), "executes"),
    ("claim.after", (503, STORE_DOWN), "executes"),
    # Behind the last look at the lease. Nobody else may run it (hold), so it is sent, and completed late.
    ("send.before", 201, "replay"),
    ("send.after", 201, "replay"),
    ("receive.after", 201, "replay"),
    ("complete.before", 201, "replay"),
    ("complete.after", 201, "replay"),
    ("answer.before", 201, "replay"),
    ("answer.after", 201, "replay"),
    ("release.before", 503, "executes"),
    ("release.after", 503, "executes"),
    ("unknown.before", (502, UNKNOWN), "unknown"),
    ("unknown.after", (502, UNKNOWN), "unknown"),
    ("renew.before", 201, "replay"),
    ("renew.after", 201, "replay"),
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("point, told, retry", PAUSED, ids=[row[0] for row in PAUSED])
def test_paused_past_the_lease(tell, store, point, told, retry):
    story = tell(point, f"{point}:stop@1", store, "/paused")
    proxy = story.proxy
    first = proxy.post_in_background(story.target, key=story.key, script=story.script)
    eventually(lambda: is_stopped(proxy), what=f"{point} to be passed")
    time.sleep((SLOW_LEASE if story.target == "/slow" else LEASE) + 0.2)  # the pause itself
    proxy.signal(signal.SIGCONT)
    response = first.result()
    check_first(response, told)
    if response.status < 300:
        story.successes.append(response)
    story.check()
    effects = story.effects
    story.check_next(retry)
    if retry != "executes":
        assert story.effects == effects, "the retry was executed"
    check_service(proxy)


def is_stopped(proxy):
    return pathlib.Path(f"/proc/{proxy.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.parametrize("point", ["renew.before", "renew.after"])
def test_a_renewal_that_failed_is_tried_again_within_the_lease(tell, ledger, point):
    """Longer than one lease, the key is still in progress and not unknown."""
    story = tell(point, f"{point}:error@1-2", "memory")
    first = story.proxy.post_in_background("/slow-busy", key=story.key, script=story.script)
    ledger.wait_for_key(story.key)
    began = time.monotonic()
    while not first.done and time.monotonic() - began < SLOW_LEASE * 1.4:
        expect.problem(story.proxy.post("/slow-busy", key=story.key, script=story.script), 409, IN_PROGRESS)
        time.sleep(0.1)
    answered = expect.first_answer(first.result())
    expect.replay_of(story.proxy.post("/slow-busy", key=story.key, script=story.script), answered)
    assert story.effects == 1
