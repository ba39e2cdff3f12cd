"""CONTRACT 7: who may ask the API for what, and what a browser cannot be tricked into."""

import hashlib
import http.client
import json

import pytest

from support import expect
from support.api import Api, new_key
from support.client import Connection, build
from support.onceward import Onceward, problems_of_config
from support.waiting import eventually

TOKENS = {"service": "app", "viewer": "read", "operator": "operate"}
ID = "00000000-0000-7000-8000-000000000000"

# Every route, with a body that is well formed: what is answered to each role tells who may come in.
ROUTES = [
    ("POST", "/v1/claims", {"app"}), ("POST", f"/v1/claims/{ID}/dispatch", {"app"}),
    ("POST", f"/v1/claims/{ID}/renew", {"app"}), ("POST", f"/v1/claims/{ID}/complete", {"app"}),
    ("POST", f"/v1/claims/{ID}/release", {"app"}), ("POST", f"/v1/claims/{ID}/unknown", {"app"}),
    ("GET", "/v1/records", {"read", "operate"}), ("GET", f"/v1/records/{ID}", {"read", "operate"}),
    ("GET", "/v1/stats", {"read", "operate"}), ("GET", "/v1/audit", {"read", "operate"}),
    ("POST", f"/v1/records/{ID}/resolve", {"operate"}), ("POST", "/v1/purge", {"operate"}),
]


def token_lines(names):
    return "".join(f"- {{name: {name}, role: {role}, sha256: {hashlib.sha256(name.encode()).hexdigest()}}}\n"
                   for name, role in names.items())


@pytest.fixture(scope="module")
def guarded(serve_module, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens.yaml"
    path.write_text(token_lines(TOKENS))
    path.chmod(0o600)
    proxy = serve_module("memory")
    proxy.stop()
    proxy.config["api"]["token_file"] = str(path)
    return Api(proxy.restart(), token=False)


@pytest.mark.parametrize("method, target, allowed", ROUTES)
def test_each_role_may_do_its_own(guarded, method, target, allowed):
    for name, role in TOKENS.items():
        response = guarded.with_token(name).request(method, target, json={"bad": 1} if method == "POST" else None)
        assert (response.status == 403) == (role not in allowed), (name, response)
        assert response.status in ({200, 400, 404} if role in allowed else {403}), response


@pytest.mark.parametrize("method, target, allowed", ROUTES)
def test_without_a_token_nothing_is_told(guarded, method, target, allowed):
    body = {"bad": 1} if method == "POST" else None
    for headers in ([], [("Authorization", "Bearer")], [("Authorization", "Bearer wrong")],
                    [("Authorization", "Basic b3BlcmF0b3I6")], [("Authorization", "operator")],
                    [("Authorization", "Bearer operator"), ("Authorization", "Bearer operator")],
                    [("Authorization", "Bearer " + hashlib.sha256(b"operator").hexdigest())]):
        response = guarded.request(method, target, json=body, headers=headers)
        expect.problem(response, 401, "UNAUTHENTICATED")
        assert response.header("WWW-Authenticate") == "Bearer"


def test_a_path_that_does_not_exist_needs_a_token_too(guarded):
    assert guarded.get("/v1/nothing").status == 401
    assert guarded.with_token("viewer").get("/v1/nothing").status == 404
    assert guarded.with_token("viewer").get(f"/v1/records/{ID}/x/y").status == 404


def test_only_operators_see_what_was_answered(guarded):
    key = new_key()
    claim = guarded.with_token("service").claimed(key)
    claim.complete(body=b"secret")
    assert guarded.with_token("operator").record(claim.id, reveal=True)["response"]["body"]
    expect.problem(guarded.with_token("viewer").get(f"/v1/records/{claim.id}?reveal=true"), 403, "FORBIDDEN")
    assert "body" not in guarded.with_token("viewer").record(claim.id)["response"]


def test_the_audit_names_whose_token_it_was(guarded):
    claim = guarded.with_token("service").unknown(new_key())
    operator = guarded.with_token("operator")
    assert operator.resolve(claim.id).status == 200
    assert operator.audit()["entries"][0]["actor"] == "operator"


@pytest.mark.parametrize("method, target, allowed", ROUTES)
def test_every_change_is_a_post_and_nothing_else(guarded, method, target, allowed):
    allow = "GET, HEAD" if method == "GET" else "POST"
    for other in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - set(allow.split(", ")):
        for token in ("operator", "service"):
            response = guarded.proxy.api(target, other, token, body=b"{}" if other in ("POST", "PUT", "PATCH") else None)
            assert response.status == 405 and response.header("Allow") == allow, (other, response)


def asked(proxy, host=None, origin=None, target="/v1/stats", method="GET"):
    headers = [("Authorization", f"Bearer {proxy.token}")] + ([("Origin", origin)] if origin else [])
    with Connection(proxy.api_port) as connection:
        host = f"127.0.0.1:{proxy.api_port}" if host is None else host
        body = b"{}" if method == "POST" else None
        return connection.send(build(method, target, headers, body, host=host)).read(method)


def test_a_name_that_somebody_else_points_here_is_refused(memory_zoo):
    for host in ("evil.example", f"evil.example:{memory_zoo.api_port}", "127.0.0.1.evil.example", "localhost.evil"):
        for target in ("/v1/stats", "/metrics", "/openapi.json", "/", "/nothing"):
            expect.problem(asked(memory_zoo, host, target=target), 403, "FORBIDDEN")
    for host in ("localhost", f"localhost:{memory_zoo.api_port}", "127.0.0.1", "[::1]:1", "10.0.0.1"):
        assert asked(memory_zoo, host).status == 200, host
    assert asked(memory_zoo, "any.name", target="/healthz").status == 200, "health is asked for by any name"


def test_a_page_of_another_origin_is_refused(memory_zoo):
    own = f"127.0.0.1:{memory_zoo.api_port}"
    for origin in ("http://evil.example", "null", f"https://{own}", "http://127.0.0.1:1", f"http://{own}.evil.example"):
        for method, target in (("GET", "/v1/stats"), ("POST", "/v1/purge"), ("GET", "/metrics")):
            expect.problem(asked(memory_zoo, origin=origin, method=method, target=target), 403, "FORBIDDEN")
    answer = asked(memory_zoo, origin=f"http://{own}")
    assert answer.status == 200 and not answer.headers.has("Access-Control-Allow-Origin")


def test_answers_are_not_kept_by_anybody(memory_zoo):
    for target in ("/v1/stats", "/v1/records", "/v1/audit", f"/v1/records/{ID}"):
        assert "no-store" in memory_zoo.api(target).headers.tokens("Cache-Control")


def test_tokens_can_be_changed_without_a_restart(serve, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("first-token\n")
    path.chmod(0o600)
    proxy = serve("memory")
    proxy.stop()
    proxy.config["api"]["token_file"] = str(path)
    proxy.restart()
    assert proxy.api("/v1/stats", token="first-token").status == 200
    path.write_text("{name: bad}\n")
    proxy.reload()
    assert proxy.api("/v1/stats", token="first-token").status == 200, "a bad file keeps the old ones"
    path.write_text(token_lines({"second-token": "read"}))
    proxy.reload()
    assert proxy.api("/v1/stats", token="first-token").status == 401
    assert proxy.api("/v1/stats", token="second-token").status == 200


@pytest.mark.parametrize("text", ["", "\n", "two tokens", "{name: a, role: root, sha256: aa}", "- name: a\n"])
def test_a_token_file_that_makes_no_sense_stops_the_start(tmp_path, upstream, text):
    proxy = Onceward(tmp_path, upstream)
    (tmp_path / "token").write_text(text)
    proxy.write_config()
    assert proxy.spawn().ended_with() == 2
    assert str(tmp_path / "token") in proxy.logs()


def test_a_missing_token_file_stops_the_start(tmp_path, upstream):
    proxy = Onceward(tmp_path, upstream)
    proxy.config["api"]["token_file"] = str(tmp_path / "none")
    proxy.write_config()
    assert proxy.spawn().ended_with() == 2


def test_a_token_file_that_others_can_read_is_complained_about(tmp_path, upstream, serve):
    proxy = serve("memory")
    proxy.stop()
    (proxy.folder / "token").chmod(0o644)
    proxy.restart()
    eventually(lambda: "others can read the token file" in proxy.logs())


def test_with_the_memory_store_the_token_is_logged_once(tmp_path, upstream, serve):
    proxy = serve("memory")
    proxy.stop()
    del proxy.config["api"]["token_file"]
    proxy.restart()
    token = eventually(lambda: [json.loads(line)["token"] for line in proxy.logs().splitlines()
                                if line.startswith("{") and '"token"' in line])
    assert len(token) == 1 and len(token[0]) >= 32
    assert proxy.api("/v1/stats", token=token[0]).status == 200
    proxy.reload()
    assert proxy.api("/v1/stats", token=token[0]).status == 200, "a reload keeps it"


@pytest.mark.parametrize("api, good", [
    ("{listen: '127.0.0.1:9180'}", True), ("{listen: '[::1]:9180'}", True), ("{listen: 'localhost:9180'}", True),
    ("{listen: '0.0.0.0:9180'}", False), ("{listen: '10.0.0.1:9180', token_file: t}", False),
    ("{listen: '10.0.0.1:9180', tls: {cert: c, key: k}}", False),
    ("{listen: '10.0.0.1:9180', token_file: t, tls: {cert: c, key: k}}", True),
    ("{listen: off, socket: /run/x.sock}", True), ("{socket: ''}", False),
])
def test_another_address_needs_tls_and_a_token(tmp_path, api, good):
    result = problems_of_config(tmp_path, f"upstream: http://127.0.0.1:1\napi: {api}\n")
    assert result.returncode == (0 if good else 2), result


def test_the_description_is_accepted_by_the_published_schema(memory_zoo):
    import jsonschema
    try:
        with open("/usr/share/openapi-specification/schemas/v3.0/schema.json") as file:
            schema = json.load(file)
    except FileNotFoundError:
        pytest.skip("the package openapi-specification is not installed")
    document = memory_zoo.api("/openapi.json", token=False).json()
    jsonschema.Draft4Validator(schema).validate(document)
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    for method, target, _ in ROUTES:
        assert (method, target.replace(ID, "{operation_id}")) in described
    references = set(_references(document))
    for reference in references:
        node = document
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
    unused = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]} - references
    assert not unused


def _references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _references(item)


def test_a_standard_client_is_served_over_one_connection(memory_zoo):
    connection = http.client.HTTPConnection("127.0.0.1", memory_zoo.api_port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/v1/stats", headers={"Authorization": f"Bearer {memory_zoo.token}"})
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["complete"] is True
    connection.close()
