"""What the proxy publishes on its own port, and never forwards."""

import pytest

from support import behaviours, expect
from support.behaviours import Hold
from support.waiting import eventually

POLICY = "/.well-known/onceward/policy"


def operation_path(operation_id):
    return f"/.well-known/onceward/operations/{operation_id}"


def test_the_policy_names_every_operation_and_its_rules(memory_zoo):
    response = memory_zoo.get(POLICY)
    assert response.status == 200 and response.header("Content-Type", "").startswith("application/json")
    text = response.body.decode()
    for name in ("orders.update", "strict", "receipt", "short-lease"):
        assert name in text
    assert "POST /orders/{id}" in text
    response.json()


def test_the_policy_has_no_secrets(memory_zoo):
    text = memory_zoo.get(POLICY).body.decode()
    assert memory_zoo.token not in text and "token" not in text
    assert str(memory_zoo.folder) not in text


def test_the_policy_follows_a_reload(serve):
    proxy = serve()
    proxy.config["operations"] = [{"name": "brand-new", "match": "POST /new"}]
    proxy.write_config()
    proxy.reload()
    eventually(lambda: b"brand-new" in proxy.get(POLICY).body, what="the new policy")


@pytest.mark.parametrize("target", [POLICY, "/.well-known/onceward/problems/MISSING_TENANT",
                                    operation_path("0190a0b0-0000-7000-8000-000000000000"),
                                    "/.well-known/onceward/", "/.well-known/onceward/nothing"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_nothing_below_our_path_is_forwarded(memory_zoo, upstream, target, method):
    script = upstream.script(behaviours.answer(299))
    response = memory_zoo.request(method, target, script=script, key=None)
    assert response.status != 299 and not upstream.of_script(script)
    if method in ("POST", "DELETE"):
        assert response.status in (404, 405)


def test_other_well_known_paths_are_the_upstreams(memory_zoo):
    for target in ("/.well-known/security.txt", "/.well-known/oncewardly"):
        assert memory_zoo.get(target).json()["target"] == target


def test_an_operations_state_is_told_to_its_owner(zoo, upstream, key):
    who = {"tenant": "t", "authorization": "Bearer a"}
    first = expect.first_answer(zoo.post(key=key, **who))
    response = zoo.get(operation_path(first.operation_id), **who)
    assert response.status == 200 and response.json()["state"] == "succeeded", response
    assert key.encode() not in response.body


@pytest.mark.parametrize("behaviour,state", [
    (behaviours.answer(400), "failed"), (behaviours.answer(500), "failed"), (behaviours.answer(201), "succeeded"),
    (behaviours.reset(), "unknown"), (behaviours.answer(503), "released"),
])
def test_every_state_is_told(zoo, upstream, key, behaviour, state):
    script = upstream.script(behaviour)
    zoo.post(key=key, script=script)
    operation_id = upstream.of_script(script)[0].operation_id
    response = zoo.get(operation_path(operation_id))
    assert response.status == 200 and response.json()["state"] == state, response


def test_an_operation_in_progress_is_told(zoo, upstream, key):
    hold = Hold()
    first = zoo.post_in_background(key=key, script=upstream.script(hold))
    hold.wait_reached()
    operation_id = upstream.of_key(key)[0].operation_id
    assert zoo.get(operation_path(operation_id)).json()["state"] == "processing"
    hold.release()
    assert first.result().status == 201


@pytest.mark.parametrize("stranger", [{}, {"tenant": "u", "authorization": "Bearer a"},
                                      {"tenant": "t", "authorization": "Bearer b"}, {"tenant": "t"}])
def test_an_operation_does_not_exist_for_others(zoo, key, stranger):
    first = zoo.post(key=key, tenant="t", authorization="Bearer a")
    known = zoo.get(operation_path(first.operation_id), **stranger)
    unknown = zoo.get(operation_path("0190a0b0-0000-7000-8000-000000000000"), **stranger)
    assert known.status == unknown.status == 404


@pytest.mark.parametrize("operation_id", ["x", "", "../policy", "%00", "0190a0b0-0000-7000-8000-00000000000g"])
def test_an_operation_id_that_is_none_is_404(memory_zoo, operation_id):
    assert memory_zoo.get(operation_path(operation_id)).status in (400, 404)
