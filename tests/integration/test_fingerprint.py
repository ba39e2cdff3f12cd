"""CONTRACT 3, Fingerprint: which requests are the same request."""

import pytest

from support import expect
from support.onceward import request_bytes

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MISMATCH = "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST"


def send(proxy, key, body, content_type=JSON, target="/orders", headers=(), method="POST"):
    body = body if isinstance(body, bytes) else body.encode()
    headers = list(headers) + ([("Content-Type", content_type)] if content_type else [])
    return proxy.request(method, target, key=key, body=body, headers=headers)


def same(proxy, key, one, two, **options):
    first = expect.first_answer(send(proxy, key, one, **options))
    expect.replay_of(send(proxy, key, two, **options), first)


def different(proxy, key, one, two, **options):
    expect.first_answer(send(proxy, key, one, **options))
    return expect.problem(send(proxy, key, two, **options), 422, MISMATCH)


@pytest.mark.parametrize("one,two", [
    ('{"a":1,"b":2}', '{"b":2,"a":1}'),
    ('{"a":1,"b":[1,2]}', ' {\n "a" : 1 ,\t"b": [ 1 , 2 ] }\r\n'),
    ('{"a":{"x":1,"y":{"p":1,"q":2}}}', '{"a":{"y":{"q":2,"p":1},"x":1}}'),
    ('{"n":100}', '{"n":100.0}'),
    ('{"n":100}', '{"n":100.00}'),
    ('{"n":100}', '{"n":1e2}'),
    ('{"n":0.5}', '{"n":5E-1}'),
    ('{"n":-0.0}', '{"n":-0}'),
    ('{"s":"A"}', '{"s":"\\u0041"}'),
    ('{"s":"/"}', '{"s":"\\/"}'),
    ('{"s":"\u00e9"}', '{"s":"\\u00e9"}'),
    ('{"\\u0061":1}', '{"a":1}'),
    ('[1,2]', '[1.0, 2.00]'),
    ('"x"', ' "x" '),
])
def test_json_that_means_the_same_is_the_same_request(zoo, key, one, two):
    same(zoo, key, one, two)


@pytest.mark.parametrize("one,two", [
    ('{"n":9007199254740993}', '{"n":9007199254740992}'),
    ('{"n":1}', '{"n":"1"}'),
    ('{"n":0.1}', '{"n":0.10000000000000001}'),
    ('[1,2]', '[2,1]'),
    ('{}', '{"a":null}'),
    ('{"a":null}', '{"a":{}}'),
    ('{"a":{}}', '{"a":""}'),
    ('{"a":{}}', '{"a":[]}'),
    ('{"a":null}', '{"a":""}'),
    ('{"a":true}', '{"a":1}'),
    ('{"a":{"b":1}}', '{"a.b":1}'),
    ('{"a":1,"a":2}', '{"a":2,"a":1}'),
    ('{"a":1,"a":2}', '{"a":2}'),
    ('{"a":1', '{"a": 1'),
    (b'{"a":"\xff"}', b'{"a":"\xfe"}'),
    ('{"s":"\\u00e9"}', '{"s":"e\\u0301"}'),
    ('', '{}'),
    ('null', ''),
])
def test_json_that_means_something_else_is_another_request(zoo, key, one, two):
    different(zoo, key, one, two)


def test_json_suffix_types_are_canonical_too(memory_zoo, key):
    same(memory_zoo, key, '{"a":1,"b":2}', '{"b":2.0,"a":1}', content_type="application/vnd.api+json")


def test_other_types_are_compared_by_bytes(memory_zoo, key):
    different(memory_zoo, key, '{"a":1,"b":2}', '{"b":2,"a":1}', content_type="text/plain")


def test_the_content_type_counts(zoo, key):
    expect.first_answer(send(zoo, key, "{}", "application/json"))
    expect.problem(send(zoo, key, "{}", "text/plain"), 422, MISMATCH)


@pytest.mark.parametrize("one,two,names", [
    ('{"a":1,"b":{"c":"secret-one"}}', '{"a":1,"b":{"c":"secret-two"}}', ["/b/c"]),
    ('{"a":"secret-one"}', '{"a":"secret-one","b":"secret-two"}', ["/b"]),
    ('{"a":"secret-one","b":1}', '{"b":1}', ["/a"]),
    ('{"a":[1,2,3]}', '{"a":[1,5,3]}', ["/a/1"]),
    ('{"a/b":1,"m~n":1}', '{"a/b":2,"m~n":2}', ["/a~1b", "/m~0n"]),
    ('{"x":1,"y":2,"z":3}', '{"x":7,"y":2,"w":3}', ["/w", "/x", "/z"]),
])
def test_a_mismatch_names_the_pointers_that_changed_and_no_values(zoo, key, one, two, names):
    expect.first_answer(send(zoo, key, one))
    response = send(zoo, key, two)
    problem = expect.problem(response, 422, MISMATCH)
    assert sorted(problem["changed"]) == names
    assert b"secret" not in response.body


def test_a_change_without_json_names_nothing_of_the_body(memory_zoo, key):
    expect.first_answer(send(memory_zoo, key, "secret-one", "text/plain"))
    response = send(memory_zoo, key, "secret-two", "text/plain")
    expect.problem(response, 422, MISMATCH)
    assert b"secret" not in response.body


def test_the_query_counts(zoo, key):
    expect.first_answer(send(zoo, key, "{}", target="/orders?a=1"))
    expect.problem(send(zoo, key, "{}", target="/orders?a=2"), 422, MISMATCH)
    expect.problem(send(zoo, key, "{}", target="/orders"), 422, MISMATCH)


def test_the_query_can_be_left_out(memory_zoo, key):
    first = expect.first_answer(send(memory_zoo, key, "{}", target="/no-query?a=1"))
    expect.replay_of(send(memory_zoo, key, "{}", target="/no-query?a=2"), first)


def test_another_path_of_the_same_operation_is_another_request(zoo, key):
    first = expect.first_answer(send(zoo, key, "{}", target="/orders/1"))
    expect.problem(send(zoo, key, "{}", target="/orders/2"), 422, MISMATCH)
    expect.replay_of(send(zoo, key, "{}", target="/orders/1"), first)


def test_the_same_key_on_another_operation_is_independent(zoo, upstream, key):
    for target, method in (("/orders/1", "POST"), ("/wait", "POST"), ("/orders/1/items/2", "PUT"), ("/free", "POST"),
                           ("/free", "PUT"), ("/free/er", "POST")):
        expect.first_answer(send(zoo, key, "{}", target=target, method=method))
    assert upstream.effects(key) == 6


def test_the_rest_of_a_path_is_one_operation(memory_zoo, key):
    expect.first_answer(send(memory_zoo, key, "{}", target="/files/a/b/c"))
    expect.problem(send(memory_zoo, key, "{}", target="/files/a/b/d"), 422, MISMATCH)


@pytest.mark.parametrize("one,two,equal", [
    ("a=1&b=2", "b=2&a=1", True),
    ("a=1&a=2&b=3", "b=3&a=1&a=2", True),
    ("a=1&a=2", "a=2&a=1", False),
    ("a=1", "a=2", False),
    ("a=1", "a=1&b=", False),
])
def test_forms_are_compared_by_pairs(zoo, key, one, two, equal):
    (same if equal else different)(zoo, key, one, two, content_type=FORM)


def multipart(boundary, *parts):
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n" % (boundary, name, value)
                    for name, value in parts)
    return body + b"--%s--\r\n" % boundary, "multipart/form-data; boundary=" + boundary.decode()


@pytest.mark.parametrize("parts,equal", [
    ([(b"a", b"1"), (b"file", b"\x00\xff--")], True),
    ([(b"a", b"2"), (b"file", b"\x00\xff--")], False),
    ([(b"a", b"1")], False),
])
def test_multipart_is_compared_by_parts_not_by_boundary(zoo, key, parts, equal):
    body, content_type = multipart(b"xxONExx", (b"a", b"1"), (b"file", b"\x00\xff--"))
    first = expect.first_answer(send(zoo, key, body, content_type))
    body, content_type = multipart(b"yyANOTHERyy", *parts)
    again = send(zoo, key, body, content_type)
    if equal:
        expect.replay_of(again, first)
    else:
        expect.problem(again, 422, MISMATCH)


def test_raw_mode_compares_bytes(memory_zoo, key):
    different(memory_zoo, key, '{"a":1,"b":2}', '{"b":2,"a":1}', target="/raw")


def test_ignored_members_do_not_count(memory_zoo, key):
    same(memory_zoo, key, '{"amount":1,"note":"x","meta":{"trace":1,"k":2}}', '{"amount":1,"meta":{"k":2,"trace":9}}',
         target="/ignore")


@pytest.mark.parametrize("two", ['{"amount":2,"note":"x"}', '{"amount":1,"meta":{"k":3}}'])
def test_what_is_not_ignored_counts(memory_zoo, key, two):
    different(memory_zoo, key, '{"amount":1,"note":"x"}', two, target="/ignore")


def test_only_included_members_count(memory_zoo, key):
    same(memory_zoo, key, '{"amount":1,"to":"a","x":1}', '{"to":"a","amount":1.0,"y":2}', target="/include")


def test_a_change_of_an_included_member_is_another_request(memory_zoo, key):
    different(memory_zoo, key, '{"amount":1,"to":"a"}', '{"amount":1,"to":"b"}', target="/include")


def test_named_headers_count(memory_zoo, key):
    first = expect.first_answer(send(memory_zoo, key, "{}", target="/with-headers", headers=[("X-Currency", "EUR")]))
    expect.replay_of(send(memory_zoo, key, "{}", target="/with-headers",
                          headers=[("x-currency", "EUR"), ("X-Other", "1")]), first)
    expect.problem(send(memory_zoo, key, "{}", target="/with-headers", headers=[("X-Currency", "USD")]), 422, MISMATCH)
    expect.problem(send(memory_zoo, key, "{}", target="/with-headers"), 422, MISMATCH)


def test_headers_that_are_not_named_do_not_count(zoo, key):
    first = expect.first_answer(send(zoo, key, "{}", headers=[("User-Agent", "a"), ("X-Try", "1")]))
    expect.replay_of(send(zoo, key, "{}", headers=[("User-Agent", "b"), ("X-Try", "2")]), first)


def test_framing_does_not_count(zoo, key):
    first = expect.first_answer(send(zoo, key, '{"a":1}'))
    head = request_bytes("POST", "/orders", key=key, headers=[("Transfer-Encoding", "chunked"),
                                                              ("Content-Type", JSON)])
    with zoo.connect() as connection:
        connection.send(head + b'3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n')
        expect.replay_of(connection.read("POST"), first)
