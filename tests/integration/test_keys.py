"""CONTRACT 3, Key: which values are keys, which are the same key, and which requests need one."""

import pytest

from support import behaviours, expect
from support.onceward import request_bytes

VALID = [
    ("bare", "{u}"),
    ("quoted", '"{u}"'),
    ("quoted with a space", '"a b {u}"'),
    ("quoted with a comma", '"a,b {u}"'),
    ("quoted with escapes", r'"a\"b\\c{u}"'),
    ("quoted with parameters", '"{u}";a=1;b'),
    ("bare with punctuation", "!#$%&'()*+-./:<=>?@[]^_`{{|}}~{u}"),
    ("bare of 255 characters", "{u}{pad}"),
    ("quoted of 255 characters", '"{u}{pad}"'),
]


@pytest.mark.parametrize("form", [form for _, form in VALID], ids=[name for name, _ in VALID])
def test_a_valid_key_guards(zoo, upstream, key, form):
    unique = key[-12:]
    value = form.format(u=unique, pad="p" * (255 - len(unique)))
    first = expect.first_answer(zoo.post(key=value))
    expect.replay_of(zoo.post(key=value), first)
    assert len(upstream.of_operation(first.operation_id)) == 1


INVALID = [
    ("empty", ""),
    ("only spaces", "   "),
    ("quoted empty", '""'),
    ("bare, too long", "k" * 256),
    ("quoted, too long", '"' + "k" * 256 + '"'),
    ("a list of strings", '"a", "b"'),
    ("a bare value with a comma", "a,b"),
    ("unfinished string", '"abc'),
    ("only a quote", '"'),
    ("text after the string", '"abc"def'),
    ("a bad escape", r'"a\bc"'),
    ("ends in a backslash", '"abc\\'),
    ("a bare value with a space", "a b"),
    ("a bare value with a tab", "a\tb"),
    ("UTF-8, bare", "k\u00c3\u00a9"),
    ("UTF-8, quoted", '"k\u00c3\u00a9"'),
    ("a bad parameter", '"abc";=1'),
]


@pytest.mark.parametrize("value", [value for _, value in INVALID], ids=[name for name, _ in INVALID])
def test_an_invalid_key_is_400_and_nothing_is_forwarded(memory_zoo, upstream, value):
    script = upstream.script(behaviours.close())
    expect.problem(memory_zoo.post(key=value, script=script), 400, "INVALID_IDEMPOTENCY_KEY")
    assert not upstream.of_script(script)


@pytest.mark.parametrize("lines", [("a", "b"), ("a", "a"), ('"a"', "a"), ("a", "")])
def test_a_key_on_two_lines_is_400(memory_zoo, upstream, lines):
    script = upstream.script(behaviours.close())
    headers = [("Idempotency-Key", line) for line in lines]
    expect.problem(memory_zoo.post(headers=headers, script=script), 400, "INVALID_IDEMPOTENCY_KEY")
    assert not upstream.of_script(script)


@pytest.mark.parametrize("byte", ["\x00", "\x01", "\x1f", "\x7f"])
def test_a_control_character_in_the_key_is_400(memory_zoo, upstream, byte):
    script = upstream.script(behaviours.close())
    assert memory_zoo.post(key=f"a{byte}b", script=script).status == 400
    assert not upstream.of_script(script)


def test_all_forms_of_a_key_are_the_same_key(zoo, upstream, key):
    first = expect.first_answer(zoo.post(key=key))
    for form in (f'"{key}"', f'"{key}";a=1', key, f"  {key}  "):
        expect.replay_of(zoo.post(key=form), first)
    assert upstream.effects(key) == 1


def test_keys_are_case_sensitive(zoo, key):
    one = expect.first_answer(zoo.post(key=key.lower()))
    two = expect.first_answer(zoo.post(key=key.upper()))
    assert one.operation_id != two.operation_id


def test_the_headers_name_is_not_case_sensitive(zoo, key):
    first = expect.first_answer(zoo.post(key=key))
    expect.replay_of(zoo.post(headers=[("idempotency-KEY", key)]), first)


@pytest.mark.parametrize("value", ["k1", "k1;a=1"])
def test_strict_refuses_bare_values(memory_zoo, value):
    expect.problem(memory_zoo.post("/strict", key=value), 400, "INVALID_IDEMPOTENCY_KEY")


def test_strict_accepts_the_quoted_form(memory_zoo, key):
    first = expect.first_answer(memory_zoo.post("/strict", key=f'"{key}"'))
    expect.replay_of(memory_zoo.post("/strict", key=f'"{key}"'), first)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_unsafe_method_with_a_key_is_guarded(zoo, upstream, key, method):
    first = expect.first_answer(zoo.request(method, "/things/1", key=key, json={}))
    expect.replay_of(zoo.request(method, "/things/1", key=key, json={}), first)
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_safe_methods_with_a_key_are_not_guarded(zoo, upstream, key, method):
    for _ in range(2):
        response = zoo.request(method, "/files/1", key=key)
        assert response.status in (200, 201) and not response.replayed
        assert response.operation_id is None
    assert upstream.effects(key) == 2


def test_an_invalid_key_on_a_safe_method_is_not_our_business(memory_zoo):
    assert memory_zoo.get("/files/1", key='"broken').status == 200


def test_a_required_key_that_is_absent_is_400(memory_zoo, upstream):
    script = upstream.script(behaviours.close())
    expect.problem(memory_zoo.post("/required", script=script), 400, "MISSING_IDEMPOTENCY_KEY")
    assert not upstream.of_script(script)


def test_without_a_key_nothing_is_guarded_and_no_key_is_invented(memory_zoo, upstream):
    script = upstream.script(behaviours.numbered_answer)
    one, two = (memory_zoo.post("/orders", script=script) for _ in range(2))
    assert one.status == two.status == 201 and one.body != two.body
    assert one.operation_id is None
    assert all(not request.headers.has("Idempotency-Key") for request in upstream.of_script(script))


@pytest.mark.parametrize("length,accepted", [(16, True), (17, False)])
def test_the_longest_key_can_be_configured(memory_zoo, key, length, accepted):
    value = key[-8:].rjust(length, "x")
    response = memory_zoo.post("/short-keys", key=value)
    if accepted:
        expect.first_answer(response)
    else:
        expect.problem(response, 400, "INVALID_IDEMPOTENCY_KEY")


def test_the_keys_header_can_be_configured(memory_zoo, key):
    headers = [("X-Request-Key", key)]
    first = expect.first_answer(memory_zoo.post("/own-header", headers=headers))
    expect.replay_of(memory_zoo.post("/own-header", headers=headers), first)


def test_with_another_key_header_the_usual_one_means_nothing(memory_zoo, upstream, key):
    memory_zoo.post("/own-header", key=key)
    assert memory_zoo.post("/own-header", key=key).operation_id is None
    assert upstream.effects(key) == 2


@pytest.mark.parametrize("named", ["Idempotency-Key", "idempotency-key", "close, Idempotency-Key"])
def test_a_connection_header_cannot_remove_the_key(zoo, upstream, key, named):
    headers = [("Connection", named)]
    first = expect.first_answer(zoo.post("/required", key=key, headers=headers))
    expect.replay_of(zoo.post("/required", key=key, headers=headers), first)
    assert upstream.effects(key) == 1, "the upstream must get the key as well"


@pytest.mark.parametrize("path,body", [
    ("/key-from-json", lambda key: {"event": {"id": key}}),
    ("/key-from-content", lambda key: {"anything": [key]}),
])
def test_a_key_can_be_derived_from_the_body(memory_zoo, key, other_key, path, body):
    first = expect.first_answer(memory_zoo.post(path, json=body(key)))
    expect.replay_of(memory_zoo.post(path, json=body(key)), first)
    assert expect.first_answer(memory_zoo.post(path, json=body(other_key))).operation_id != first.operation_id


def test_a_key_can_be_derived_from_another_header(memory_zoo, key):
    headers = [("X-Delivery-Id", key)]
    first = expect.first_answer(memory_zoo.post("/key-from-header", headers=headers))
    expect.replay_of(memory_zoo.post("/key-from-header", headers=headers), first)


def test_a_key_in_a_trailer_is_not_a_key(memory_zoo, upstream, key):
    script = upstream.script(behaviours.answer(200))
    request = request_bytes("POST", "/required", headers=[("Transfer-Encoding", "chunked"), ("X-Script", script)])
    with memory_zoo.connect() as connection:
        connection.send(request + f"1\r\nx\r\n0\r\nIdempotency-Key: {key}\r\n\r\n".encode())
        expect.problem(connection.read("POST"), 400, "MISSING_IDEMPOTENCY_KEY")
    assert not upstream.of_script(script)


@pytest.mark.parametrize("target", ["http://api.test/required", "http://api.test/required?a=1",
                                    "HTTP://API.TEST/required"])
def test_an_absolute_target_is_no_way_around_a_required_key(memory_zoo, upstream, target):
    script = upstream.script(behaviours.numbered_answer)
    assert memory_zoo.request("POST", target, json={}, script=script).status == 400
    assert not upstream.of_script(script)
