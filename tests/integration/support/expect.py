"""What several tests check in the same words: problems, replays, first answers."""

import re
import urllib.parse

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
HOP_BY_HOP = ("Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade")

# CONTRACT 4: the last column of the table of problems, "same key again?".
RETRYABLE = {
    "IDEMPOTENCY_REQUEST_IN_PROGRESS", "IDEMPOTENCY_KEY_RATE_EXCEEDED", "IDEMPOTENCY_STORE_UNAVAILABLE",
    "IDEMPOTENCY_RECORD_UNREADABLE", "UPSTREAM_UNREACHABLE",
}
NOT_RETRYABLE = {
    "INVALID_IDEMPOTENCY_KEY", "MISSING_TENANT", "INVALID_TENANT", "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST",
    "IDEMPOTENCY_OUTCOME_UNKNOWN", "IDEMPOTENCY_RESPONSE_NOT_STORED", "IDEMPOTENCY_RECORD_EXPIRED",
    "DUPLICATE_BUSINESS_OPERATION", "SUSPECTED_DUPLICATE", "REQUEST_TOO_LARGE",
}
# With these, the first request may have had its effect: another key could cause a second one.
UNSAFE_NEW_KEY = {
    "IDEMPOTENCY_REQUEST_IN_PROGRESS", "IDEMPOTENCY_OUTCOME_UNKNOWN", "IDEMPOTENCY_RESPONSE_NOT_STORED",
    "IDEMPOTENCY_RECORD_EXPIRED", "DUPLICATE_BUSINESS_OPERATION",
}
HAVE_OPERATION = {
    "IDEMPOTENCY_REQUEST_IN_PROGRESS", "IDEMPOTENCY_OUTCOME_UNKNOWN", "IDEMPOTENCY_RESPONSE_NOT_STORED",
    "IDEMPOTENCY_RECORD_EXPIRED", "DUPLICATE_BUSINESS_OPERATION",
}
WITH_RETRY_AFTER = {
    "IDEMPOTENCY_REQUEST_IN_PROGRESS", "IDEMPOTENCY_KEY_RATE_EXCEEDED", "IDEMPOTENCY_STORE_UNAVAILABLE",
}


def problem(response, status, code):
    """Checks the shape every problem has, and returns its members."""
    assert response.status == status, response
    assert response.header("Content-Type", "").split(";")[0] == "application/problem+json", response
    assert "no-store" in response.headers.tokens("Cache-Control"), response
    link = ", ".join(response.headers.all("Link"))
    assert re.search(r"<[^>]+>\s*;.*rel=\"?describedby\"?", link), response
    members = response.json()
    assert members["code"] == code, response
    assert members["status"] == status, response
    for name in ("type", "title", "detail"):
        assert isinstance(members[name], str) and members[name], response
    assert problem_path(members["type"]).startswith("/.well-known/onceward/problems/"), response
    if code in RETRYABLE | NOT_RETRYABLE:
        assert members.get("retryable") is (code in RETRYABLE), response
    if code in UNSAFE_NEW_KEY:
        assert members.get("safeNewKey") is False, response
    if code in HAVE_OPERATION:
        assert UUID.match(members.get("operationId", "")), response
    if code in WITH_RETRY_AFTER:
        assert re.fullmatch(r"[1-9][0-9]*", response.header("Retry-After", "")), response
    return members


def problem_path(type_uri):
    return urllib.parse.urlsplit(urllib.parse.urljoin("http://proxy/", type_uri)).path


def first_answer(response, status=201):
    assert response.status == status, response
    assert UUID.match(response.operation_id or ""), response
    assert not response.headers.has("Idempotent-Replayed"), response
    return response


def replay_of(response, first, marker="Idempotent-Replayed"):
    """Same status, headers in order, body bytes; the marker and the operation's id."""
    assert response.status == first.status, response
    assert response.header(marker) == "true", response
    assert response.operation_id == first.operation_id, response
    assert comparable(response, marker) == comparable(first, marker)
    assert response.body == first.body
    return response


def comparable(response, marker="Idempotent-Replayed"):
    """The headers that a replay keeps: all but hop-by-hop, framing, Date, cookies and our own."""
    kept = response.headers.without(*HOP_BY_HOP, "Content-Length", "Date", "Set-Cookie", marker,
                                    "Onceward-Operation-Id")
    return [(name.lower(), value) for name, value in kept]
