"""What reaches the upstream."""

import re

import pytest

from support import expect
from support.behaviours import answer, numbered_answer
from support.client import build
from support.onceward import request_bytes
from support.wire import chunked

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def sent(proxy, upstream, method="POST", target="/orders", **options):
    """The request as the upstream got it."""
    script = upstream.script(numbered_answer)
    proxy.request(method, target, script=script, **options)
    request, = upstream.of_script(script)
    return request


def test_the_request_arrives_as_sent(zoo, upstream, key):
    headers = [("X-B", "1"), ("X-A", "2, 3"), ("X-B", "4"), ("X-Empty", ""), ("Content-Type", "application/json"),
               ("Cookie", "a=1; b=2"), ("Authorization", "Bearer x"), ("Accept", "*/*")]
    body = b'{ "b" : 1.0, "a":"\\u0041" }'
    request = sent(zoo, upstream, key=key, target="/orders?q=%20a&x=+&y=%2F", headers=headers, body=body)
    assert (request.method, request.target, request.body) == ("POST", "/orders?q=%20a&x=+&y=%2F", body)
    names = {name.lower() for name, _ in headers}
    assert [pair for pair in request.headers if pair[0].lower() in names] == headers


@pytest.mark.parametrize("form", ["{}", '"{}"'])
def test_the_key_the_operation_id_and_the_epoch_are_sent_once_each(zoo, upstream, key, form):
    script = upstream.script(numbered_answer)
    response = zoo.post(key=form.format(key), script=script)
    request, = upstream.of_script(script)
    assert request.headers.get("Idempotency-Key").strip('"') == key
    assert request.headers.get("Onceward-Operation-Id") == response.operation_id
    assert request.headers.get("Onceward-Epoch") == "1"


def test_a_client_cannot_forge_the_operation_id_or_the_epoch(zoo, upstream, key):
    forged = [("Onceward-Operation-Id", "00000000-0000-0000-0000-000000000000"), ("Onceward-Epoch", "99")]
    request = sent(zoo, upstream, key=key, json={}, headers=forged)
    assert request.headers.get("Onceward-Epoch") == "1"
    assert request.headers.get("Onceward-Operation-Id") != forged[0][1]


def test_the_epoch_grows_with_every_attempt_and_the_operation_id_stays(zoo, upstream, key):
    script = upstream.script(answer(503), answer(429), answer(401), numbered_answer)
    statuses = [zoo.post(key=key, script=script).status for _ in range(4)]
    assert statuses == [503, 429, 401, 201]
    requests = upstream.of_script(script)
    assert [request.epoch for request in requests] == ["1", "2", "3", "4"]
    assert len({request.operation_id for request in requests}) == 1


def test_a_trace_is_passed_on(zoo, upstream, key):
    request = sent(zoo, upstream, key=key, json={}, headers=[("traceparent", TRACEPARENT), ("tracestate", "a=b")])
    assert request.headers.get("traceparent").split("-")[1] == TRACEPARENT.split("-")[1]
    assert request.headers.get("tracestate") == "a=b"


@pytest.mark.parametrize("given", [None, "garbage", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", TRACEPARENT.upper()])
def test_a_trace_is_started_where_there_is_no_valid_one(zoo, upstream, key, given):
    headers = [("traceparent", given)] if given else []
    request = sent(zoo, upstream, key=key, json={}, headers=headers)
    assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}",
                        request.headers.get("traceparent"))


@pytest.mark.parametrize("with_key", [True, False])
def test_where_a_request_came_from_is_told(zoo, upstream, key, with_key):
    request = sent(zoo, upstream, key=key if with_key else None, json={}, headers=[("Host", "shop.example:8443")])
    assert request.headers.get("X-Forwarded-For") == "127.0.0.1"
    assert request.headers.get("X-Forwarded-Proto") == "http"
    assert request.headers.get("X-Forwarded-Host") == "shop.example:8443"


def test_an_earlier_proxys_addresses_are_kept(memory_zoo, upstream, key):
    request = sent(memory_zoo, upstream, key=key, json={}, headers=[("X-Forwarded-For", "203.0.113.7")])
    addresses = [part.strip() for value in request.headers.all("X-Forwarded-For") for part in value.split(",")]
    assert addresses == ["203.0.113.7", "127.0.0.1"]


@pytest.mark.parametrize("with_key", [True, False])
def test_hop_by_hop_headers_stay_here(zoo, upstream, key, with_key):
    headers = [("Connection", "keep-alive, X-Private"), ("X-Private", "1"), ("Keep-Alive", "timeout=5"),
               ("Proxy-Connection", "keep-alive"), ("TE", "trailers"), ("X-Kept", "1")]
    request = sent(zoo, upstream, key=key if with_key else None, json={}, headers=headers)
    for name in ("X-Private", "Keep-Alive", "Proxy-Connection"):
        assert not request.headers.has(name), request
    assert "x-private" not in request.headers.tokens("Connection")
    assert request.headers.get("X-Kept") == "1"


@pytest.mark.parametrize("named", ["Host", "Content-Length", "Content-Type", "Transfer-Encoding"])
def test_a_connection_header_cannot_remove_what_the_message_needs(zoo, upstream, key, named):
    request = sent(zoo, upstream, key=key, json={"a": 1}, headers=[("Connection", named)])
    assert request.body == b'{"a": 1}'


@pytest.mark.parametrize("with_key", [True, False])
def test_a_chunked_request_is_framed_anew(zoo, upstream, key, with_key):
    script = upstream.script(numbered_answer)
    headers = [("Transfer-Encoding", "chunked"), ("X-Script", script), ("Trailer", "X-Sum")]
    headers += [("Idempotency-Key", key)] if with_key else []
    body = b"5;ext=1\r\nhello\r\n6;a=\"b\"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n"
    with zoo.connect() as connection:
        assert connection.send(build("POST", "/orders", headers) + body).read("POST").status == 201
    request, = upstream.of_script(script)
    assert request.body == b"hello world"


def test_a_request_without_a_body_has_none_upstream(zoo, upstream, key):
    request = sent(zoo, upstream, method="DELETE", target="/orders/1", key=key)
    assert request.length == 0


def test_an_absolute_target_is_understood(memory_zoo, upstream, key):
    script = upstream.script(numbered_answer)
    data = request_bytes("POST", "http://shop.example/orders?a=1", key=key, json={}, script=script)
    with memory_zoo.connect() as connection:
        response = connection.send(data.replace(b"Host: api.test", b"Host: shop.example")).read("POST")
    if response.status == 400:
        assert not upstream.of_script(script)
        return
    expect.first_answer(response)
    request, = upstream.of_script(script)
    assert request.target in ("/orders?a=1", "http://shop.example/orders?a=1")
    assert request.headers.get("Host") is not None


def test_methods_the_proxy_does_not_know_are_passed_on(memory_zoo, upstream):
    request = sent(memory_zoo, upstream, method="PROPFIND", target="/dav", body=b"<x/>")
    assert (request.method, request.body) == ("PROPFIND", b"<x/>")


def test_the_connection_to_the_upstream_is_used_again(serve, own_upstream, key):
    proxy = serve(to=own_upstream, workers=1)
    for number in range(10):
        proxy.post(key=f"{key}-{number}")
    assert len({request.connection for request in own_upstream.requests}) == 1


def test_an_upload_arrives_whole(zoo, upstream, key):
    script = upstream.script(numbered_answer)
    pieces = [bytes([number]) * 10000 for number in range(50)]
    head = build("POST", "/orders", [("Transfer-Encoding", "chunked"), ("X-Script", script), ("Idempotency-Key", key)])
    with zoo.connect() as connection:
        connection.send(head + chunked(*pieces))
        expect.first_answer(connection.read("POST"))
    assert upstream.of_script(script)[0].body == b"".join(pieces)
