"""Identity from a verified token: signed with the openssl program, so that no code is shared with the product."""

import base64
import json
import subprocess
import time

import pytest

from support import expect
from support.onceward import RefusedToStart


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    def __init__(self, folder, name):
        self.name = name
        self.key = folder / f"{name}.pem"
        subprocess.run(["openssl", "genrsa", "-out", str(self.key), "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", str(self.key), "-noout", "-modulus"], check=True,
                                 capture_output=True, text=True).stdout.strip().split("=")[1]
        self.jwk = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": name, "e": "AQAB",
                    "n": base64url(bytes.fromhex(modulus))}

    def token(self, algorithm="RS256", **claims):
        claims = {"iss": "issuer", "aud": "orders", "exp": int(time.time()) + 600} | claims
        head = {"alg": algorithm, "typ": "JWT", "kid": self.name}
        signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, claims))
        if algorithm == "none":
            return signed + "."
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.key)], input=signed.encode(),
                                   check=True, capture_output=True).stdout
        return f"{signed}.{base64url(signature)}"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"), "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("stranger"), "ours")


@pytest.fixture(scope="module")
def guarded(serve_module, issuer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("jwks")
    keys = folder / "jwks.json"
    keys.write_text(json.dumps({"keys": [issuer.jwk]}))
    identity = {"tenant": {"from": "jwt:/tenant"}, "caller": {"from": "jwt:/sub"},
                "jwt": {"keys": str(keys), "issuer": "issuer", "audience": "orders", "algorithms": ["RS256"]}}
    try:
        return serve_module(identity=identity)
    except RefusedToStart as refusal:
        assert "not " in str(refusal), f"refused, but without a reason: {refusal}"
        pytest.skip(f"not in this build: {str(refusal)[-300:]}")


def test_tenant_and_caller_come_from_the_token(guarded, issuer, upstream, key):
    def post(**claims):
        return guarded.post(key=key, authorization="Bearer " + issuer.token(**claims))

    first = expect.first_answer(post(tenant="t1", sub="alice"))
    expect.replay_of(post(tenant="t1", sub="alice", exp=int(time.time()) + 900), first)
    expect.first_answer(post(tenant="t2", sub="alice"))
    expect.first_answer(post(tenant="t1", sub="bob"))
    assert upstream.effects(key) == 3


@pytest.mark.parametrize("claims", [
    {"exp": 1}, {"iss": "someone"}, {"aud": "another"}, {"algorithm": "none"}, {"nbf": 4102444800},
], ids=["expired", "another issuer", "another audience", "unsigned", "not yet"])
def test_a_token_that_does_not_verify_is_401(guarded, issuer, upstream, key, claims):
    token = issuer.token(**({"tenant": "t", "sub": "a"} | claims))
    expect.problem(guarded.post(key=key, authorization="Bearer " + token), 401, "UNAUTHENTICATED")
    assert upstream.effects(key) == 0


def test_a_token_of_another_signer_is_401(guarded, stranger, upstream, key):
    token = stranger.token(tenant="t", sub="a")
    expect.problem(guarded.post(key=key, authorization="Bearer " + token), 401, "UNAUTHENTICATED")
    assert upstream.effects(key) == 0


@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer x.y.z", "Basic YTpi"])
def test_no_token_is_401(guarded, upstream, key, authorization):
    expect.problem(guarded.post(key=key, authorization=authorization), 401, "UNAUTHENTICATED")
    assert upstream.effects(key) == 0
