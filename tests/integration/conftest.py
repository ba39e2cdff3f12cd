"""Fixtures. Most tests share one proxy per store (`zoo`), apart from each other by their keys; a test that
breaks things starts its own with `serve`."""

import os
import shutil
import sys
import uuid

import pytest

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "servers"))

import kafka_server  # noqa: E402
import postgres_server  # noqa: E402
import rabbitmq_server  # noqa: E402
import redis_server  # noqa: E402

from support import onceward as process  # noqa: E402
from support.api import Api  # noqa: E402
from support.behaviours import Hold  # noqa: E402
from support.gate import Gate  # noqa: E402
from support.onceward import Onceward  # noqa: E402
from support.upstream import Upstream  # noqa: E402
from support.zoo import API_OPERATIONS, OPERATIONS  # noqa: E402

STORES = ["memory", "file", "redis", "postgres"]
API_STORES = ["memory", "file", "postgres"]
NO_BINARY_NEEDED = {"test_helpers.py"}


# Of the tests that run once per store, those that say something about a store whose verbs are round trips to SQL.
POSTGRES_FILES = {"test_answers.py", "test_in_flight.py", "test_replay.py", "test_faults.py"}


def is_wanted(item):
    store = item.callspec.params.get("zoo") if hasattr(item, "callspec") else None
    return store != "postgres" or item.path.name in POSTGRES_FILES


# With `-n`, each process takes one file after the other. These take longest, so they go first (./run --durations=0).
LONGEST = ["test_kill_matrix.py", "test_store_gate.py", "test_consume.py", "test_outbox_brokers.py",
           "test_same_transaction.py", "test_many_proxies.py", "test_postgres_standby.py", "test_pass_through.py",
           "test_faults.py", "test_failpoints.py", "test_outbox.py", "test_redis_store.py",
           "test_store_copy.py", "test_in_flight.py", "test_examples.py", "test_unknown.py", "test_claims_api.py",
           "test_redis_faults.py", "test_bulk.py"]


@pytest.hookimpl(trylast=True)  # after pytest has put those together that share a proxy
def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if is_wanted(item)]
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    if os.access(process.binary(), os.X_OK):
        return
    skip = pytest.mark.skip(reason=f"no binary at {process.binary()}")
    for item in items:
        if item.path.name not in NO_BINARY_NEEDED:
            item.add_marker(skip)


failed = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A proxy's folder takes 128 MiB, thousands of them would fill a disk: only those of failed tests are kept."""
    report = (yield).get_result()
    item.stash[failed] = item.stash.get(failed, False) or report.failed
    if report.when == "teardown" and not item.stash[failed] and "tmp_path" in item.funcargs:
        shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_is_held_after_a_test():
    yield
    Hold.release_all()


@pytest.fixture(scope="session")
def upstream():
    """Shared; told apart by key and by script name."""
    shared = Upstream()
    yield shared
    shared.stop()
    assert not shared.malformed, f"the proxy sent malformed requests: {shared.malformed}"


@pytest.fixture(scope="session", params=STORES)
def zoo(request, upstream, tmp_path_factory):
    """A proxy with an operation for every rule; every test that uses it runs once per store."""
    store = request.param
    if store in SERVERS:
        store = request.getfixturevalue(store).url
    proxy = Onceward(tmp_path_factory.mktemp("zoo"), upstream, store, OPERATIONS).start()
    yield proxy
    proxy.stop()


# Stores on servers, each a fixture of that name with a `url`.
SERVERS = {"redis", "postgres"}


@pytest.fixture(scope="session")
def redis(tmp_path_factory):
    server = redis_server.start(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def own_redis(tmp_path):
    """Starts servers of the test's own: own_redis(), own_redis(redis_server.start_tls), …"""
    started = []

    def start(how=redis_server.start, **options):
        started.append(how(tmp_path / f"redis{len(started)}", **options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def postgres():
    with postgres_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory):
    broker = rabbitmq_server.start(tmp_path_factory.mktemp("rabbitmq"))
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def kafka():
    """The mock cluster that is built beside the proxy."""
    program = os.path.join(os.path.dirname(process.binary()), "kafka_server")
    if not os.access(program, os.X_OK):
        pytest.skip(f"no mock cluster at {program}")
    cluster = kafka_server.Cluster(program)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def empty_store(request):
    """empty_store(name): what `serve` takes for a store of that name with nothing in it."""
    def make(name):
        if name != "postgres":
            return name
        return request.getfixturevalue("postgres").new_database(f"of_{uuid.uuid4().hex}")
    return make


@pytest.fixture(scope="session")
def memory_zoo(upstream, tmp_path_factory):
    """The same with the memory store only, for what does not depend on the store."""
    proxy = Onceward(tmp_path_factory.mktemp("memory-zoo"), upstream, "memory", OPERATIONS).start()
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module", params=API_STORES)
def api(request, serve_module, empty_store):
    """The API of a proxy, once per store; every answer is checked against the API's own description."""
    return Api(serve_module(empty_store(request.param), API_OPERATIONS))


@pytest.fixture
def serve(tmp_path, upstream):
    """Starts proxies of the test's own; stopped, and checked, at its end."""
    started = []

    def start(store="memory", operations=(), to=None, **config):
        folder = tmp_path / f"proxy{len(started)}"
        proxy = Onceward(folder, to if to is not None else upstream, store, operations, **config)
        started.append(proxy)
        return proxy.start()

    yield start
    Hold.release_all()  # or a drain would have to wait for what a failed test left
    for proxy in started:
        proxy.stop()


@pytest.fixture(scope="module")
def serve_module(tmp_path_factory, upstream):
    """Like `serve`, shared by the tests of one file."""
    started = []

    def start(store="memory", operations=(), to=None, **config):
        folder = tmp_path_factory.mktemp("proxy")
        proxy = Onceward(folder, to if to is not None else upstream, store, operations, **config)
        started.append(proxy)
        return proxy.start()

    yield start
    for proxy in started:
        proxy.stop()


@pytest.fixture(scope="module", params=STORES)
def each_store(request):
    """What `serve` takes for a store, of one kind after the other."""
    return request.getfixturevalue(request.param).url if request.param in SERVERS else request.param


@pytest.fixture(scope="module")
def proxy(request, serve_module, each_store):
    """A proxy with the OPERATIONS of the test's file, once per store."""
    return serve_module(each_store, request.module.OPERATIONS)


@pytest.fixture(scope="module")
def memory_proxy(request, serve_module):
    """The same with the memory store only."""
    return serve_module("memory", request.module.OPERATIONS)


@pytest.fixture
def serve_if_able(serve):
    """For parts of the contract that a build may not have yet: it must then say so and refuse to start. A build
    that starts and ignores what it was told fails the test instead."""

    def start(*arguments, **options):
        try:
            return serve(*arguments, **options)
        except process.RefusedToStart as refusal:
            assert "not " in str(refusal), f"refused, but without a reason: {refusal}"
            pytest.skip(f"not in this build: {str(refusal)[-300:]}")

    return start


@pytest.fixture
def own_upstream():
    """An upstream for tests that stop it or look at its connections."""
    own = Upstream()
    yield own
    if not own.ended.is_set():
        own.stop()
    assert not own.malformed, f"the proxy sent malformed requests: {own.malformed}"


@pytest.fixture
def gate(own_upstream):
    between = Gate(own_upstream.port)
    yield between
    between.close()


@pytest.fixture
def key():
    return f"key-{uuid.uuid4()}"


@pytest.fixture
def other_key():
    return f"other-{uuid.uuid4()}"
