"""CONTRACT 3, Tenant and caller: both are part of a key's scope, and nothing crosses it (I8)."""

import uuid

import pytest

from support import expect

TENANT = "123e4567-e89b-12d3-a456-426614174000"


@pytest.fixture(scope="module")
def tenanted(serve_module):
    return serve_module(identity={"tenant": {"from": "header:X-Tenant-ID", "required": True, "format": "uuid"}})


@pytest.fixture(scope="module")
def by_header(serve_module):
    return serve_module(identity={"tenant": {"from": "header:X-Org"}, "caller": {"from": "header:X-User"}})


@pytest.fixture(scope="module")
def by_cookie(serve_module):
    return serve_module(identity={"caller": {"from": "cookie:session"}})


@pytest.fixture(scope="module")
def by_nobody(serve_module):
    return serve_module(identity={"caller": {"from": "none"}})


def apart(proxy, upstream, key, one, two):
    """The same request under two identities: two executions, and each replays its own answer."""
    first = expect.first_answer(proxy.post(key=key, **one))
    second = expect.first_answer(proxy.post(key=key, **two))
    assert first.operation_id != second.operation_id and first.body != second.body
    expect.replay_of(proxy.post(key=key, **one), first)
    expect.replay_of(proxy.post(key=key, **two), second)
    assert upstream.effects(key) == 2


def together(proxy, upstream, key, one, two):
    first = expect.first_answer(proxy.post(key=key, **one))
    expect.replay_of(proxy.post(key=key, **two), first)
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("one,two", [
    ({"tenant": "a"}, {"tenant": "b"}),
    ({"tenant": "a"}, {}),
    ({"tenant": "a"}, {"tenant": "A"}),
    ({"authorization": "Bearer a"}, {"authorization": "Bearer b"}),
    ({"authorization": "Bearer a"}, {}),
    ({"tenant": "a", "authorization": "Bearer x"}, {"tenant": "b", "authorization": "Bearer x"}),
    ({"tenant": "ab", "authorization": "c"}, {"tenant": "a", "authorization": "bc"}),
])
def test_another_tenant_or_caller_is_another_scope(zoo, upstream, key, one, two):
    apart(zoo, upstream, key, one, two)


def test_another_tenant_may_use_the_key_for_another_request(zoo, upstream, key):
    first = expect.first_answer(zoo.post(key=key, tenant="a", json={"amount": 1}))
    expect.first_answer(zoo.post(key=key, tenant="b", json={"amount": 2}))
    expect.replay_of(zoo.post(key=key, tenant="a", json={"amount": 1}), first)


@pytest.mark.parametrize("one,two", [
    ({"headers": [("X-Org", "o"), ("X-User", "u")]}, {"headers": [("X-Org", "o"), ("X-User", "v")]}),
    ({"headers": [("X-Org", "o"), ("X-User", "u")]}, {"headers": [("X-Org", "p"), ("X-User", "u")]}),
])
def test_the_caller_can_be_a_gateways_header(by_header, upstream, key, one, two):
    apart(by_header, upstream, key, one, two)


def test_with_a_header_caller_the_authorization_does_not_count(by_header, upstream, key):
    headers = [("X-Org", "o"), ("X-User", "u")]
    together(by_header, upstream, key, {"headers": headers, "authorization": "Bearer old"},
             {"headers": headers, "authorization": "Bearer renewed"})


def test_the_caller_can_be_a_cookie(by_cookie, upstream, key):
    apart(by_cookie, upstream, key, {"headers": [("Cookie", "a=1; session=s1; b=2")]},
          {"headers": [("Cookie", "a=1; session=s2; b=2")]})


def test_only_the_named_cookie_counts(by_cookie, upstream, key):
    together(by_cookie, upstream, key, {"headers": [("Cookie", "a=1; session=s1")]},
             {"headers": [("Cookie", "session=s1; other=9")]})


def test_without_a_caller_the_authorization_does_not_count(by_nobody, upstream, key):
    together(by_nobody, upstream, key, {"authorization": "Bearer a"}, {"authorization": "Bearer b"})


def test_a_required_tenant_that_is_absent_is_400(tenanted, upstream, key):
    expect.problem(tenanted.post(key=key), 400, "MISSING_TENANT")
    assert upstream.effects(key) == 0


@pytest.mark.parametrize("value", ["not-a-uuid", TENANT[:-1], TENANT + "0", TENANT.replace("-", ""), TENANT[:-1] + "g"])
def test_a_tenant_that_is_no_uuid_is_400(tenanted, upstream, key, value):
    expect.problem(tenanted.post(key=key, tenant=value), 400, "INVALID_TENANT")
    assert upstream.effects(key) == 0


def test_a_tenant_sent_twice_is_not_guessed_about(tenanted, upstream, key):
    headers = [("X-Tenant-ID", TENANT), ("X-Tenant-ID", str(uuid.uuid4()))]
    expect.problem(tenanted.post(key=key, headers=headers), 400, "INVALID_TENANT")
    assert upstream.effects(key) == 0


def test_a_valid_tenant_is_accepted(tenanted, upstream, key):
    together(tenanted, upstream, key, {"tenant": TENANT}, {"tenant": TENANT})


def test_what_is_not_guarded_needs_no_tenant(tenanted):
    assert tenanted.get("/anything").status == 200


@pytest.mark.parametrize("named", ["X-Tenant-ID", "x-tenant-id, Authorization"])
def test_a_connection_header_cannot_remove_the_identity(zoo, upstream, key, named):
    headers = [("Connection", named)]
    apart(zoo, upstream, key, {"tenant": "a", "authorization": "x", "headers": headers},
          {"tenant": "b", "authorization": "x", "headers": headers})


def test_a_connection_header_cannot_remove_a_required_tenant(tenanted, key):
    headers = [("Connection", "X-Tenant-ID")]
    expect.first_answer(tenanted.post(key=key, tenant=TENANT, headers=headers))
