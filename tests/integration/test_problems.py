"""Problems: their shape for every code that the proxy itself can cause, and where `type` leads."""

import re

import pytest

from support import behaviours, expect
from support.behaviours import Hold
from support.onceward import request_bytes

CODES = [
    "MISSING_IDEMPOTENCY_KEY", "INVALID_IDEMPOTENCY_KEY", "MISSING_TENANT", "INVALID_TENANT", "UNAUTHENTICATED",
    "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST", "IDEMPOTENCY_REQUEST_IN_PROGRESS",
    "IDEMPOTENCY_OUTCOME_UNKNOWN", "IDEMPOTENCY_RESPONSE_NOT_STORED", "IDEMPOTENCY_RECORD_EXPIRED",
    "DUPLICATE_BUSINESS_OPERATION", "SUSPECTED_DUPLICATE", "IDEMPOTENCY_KEY_RATE_EXCEEDED", "REQUEST_TOO_LARGE",
    "IDEMPOTENCY_STORE_UNAVAILABLE", "IDEMPOTENCY_RECORD_UNREADABLE", "UPSTREAM_UNREACHABLE",
]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_described_on_the_proxy(memory_zoo, code):
    response = memory_zoo.get(f"/.well-known/onceward/problems/{code}")
    assert response.status == 200, response
    assert code.encode() in response.body


def test_an_unknown_code_is_404(memory_zoo):
    assert memory_zoo.get("/.well-known/onceward/problems/NO_SUCH_CODE").status == 404


def cause_missing_key(proxy, upstream, key):
    return proxy.post("/required")


def cause_invalid_key(proxy, upstream, key):
    return proxy.post(key='"unfinished')


def cause_mismatch(proxy, upstream, key):
    proxy.post(key=key, json={"a": 1})
    return proxy.post(key=key, json={"a": 2})


def cause_in_progress(proxy, upstream, key):
    hold = Hold()
    first = proxy.post_in_background("/reject", key=key, script=upstream.script(hold))
    hold.wait_reached()
    response = proxy.post("/reject", key=key)
    hold.release()
    assert first.result().status == 201
    return response


def cause_unknown(proxy, upstream, key):
    proxy.post(key=key, script=upstream.script(behaviours.close()))
    return proxy.post(key=key)


CAUSES = [
    (cause_missing_key, 400, "MISSING_IDEMPOTENCY_KEY"),
    (cause_invalid_key, 400, "INVALID_IDEMPOTENCY_KEY"),
    (cause_mismatch, 422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST"),
    (cause_in_progress, 409, "IDEMPOTENCY_REQUEST_IN_PROGRESS"),
    (cause_unknown, 409, "IDEMPOTENCY_OUTCOME_UNKNOWN"),
]


@pytest.mark.parametrize("cause,status,code", CAUSES, ids=[code for _, _, code in CAUSES])
def test_the_type_and_the_link_of_a_problem_resolve(memory_zoo, upstream, key, cause, status, code):
    response = cause(memory_zoo, upstream, key)
    problem = expect.problem(response, status, code)
    linked = re.search(r"<([^>]+)>\s*;[^,]*describedby", ", ".join(response.headers.all("Link"))).group(1)
    for uri in (problem["type"], linked):
        assert memory_zoo.get(expect.problem_path(uri)).status == 200, uri


def test_a_problem_does_not_repeat_the_key(memory_zoo, upstream, key):
    response = cause_mismatch(memory_zoo, upstream, key)
    assert key.encode() not in response.body


def test_a_problem_keeps_the_connection_usable(memory_zoo):
    with memory_zoo.connect() as connection:
        for _ in range(3):
            connection.send(request_bytes("POST", "/required", json={}))
            expect.problem(connection.read("POST"), 400, "MISSING_IDEMPOTENCY_KEY")
