"""TLS on both sides, with certificates made by the openssl program."""

import json
import ssl
import subprocess

import pytest

from support import expect
from support.behaviours import numbered_answer
from support.client import Connection
from support.onceward import Onceward, problems_of_config, request_bytes
from support.upstream import Upstream


class Authority:
    """A CA and certificates signed by it."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.crt", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                 "-keyout", self.key, "-out", self.certificate)

    def sign(self, name, alternative="DNS:localhost,IP:127.0.0.1"):
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                 "-days", "2", "-extfile", extensions, "-out", certificate)
        return certificate, key


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "test-ca")


@pytest.fixture(scope="module")
def server(authority):
    return authority.sign("server")


def client_context(authority, certificate=None, version=None):
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if certificate:
        context.load_cert_chain(*map(str, certificate))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


@pytest.fixture(scope="module")
def listener(serve_module, server):
    """Written as the contract shows it: `tls` beside `listen`. start() waits for the port, not for HTTP."""
    certificate, key = server
    return serve_module(tls={"cert": str(certificate), "key": str(key)})


def over_tls(proxy, context, data, method="POST"):
    with Connection(proxy.port, tls=context) as connection:
        return connection.send(data).read(method)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_guarded_request_over_tls_is_replayed(listener, authority, upstream, key, version):
    context = client_context(authority, version=version)
    data = request_bytes("POST", "/orders", key=key, json={})
    first = expect.first_answer(over_tls(listener, context, data))
    expect.replay_of(over_tls(listener, context, data), first)
    assert upstream.effects(key) == 1


def test_the_upstream_is_told_of_https(listener, authority, upstream):
    script = upstream.script(numbered_answer)
    over_tls(listener, client_context(authority), request_bytes("GET", "/", script=script), "GET")
    assert upstream.of_script(script)[0].headers.get("X-Forwarded-Proto") == "https"


def test_a_large_body_over_tls_arrives_whole(listener, authority, upstream, key):
    script = upstream.script(numbered_answer)
    data = request_bytes("POST", "/orders", key=key, body=b"x" * 900000, script=script)
    expect.first_answer(over_tls(listener, client_context(authority), data))
    assert upstream.of_script(script)[0].length == 900000


def test_old_tls_is_refused(listener, authority):
    context = client_context(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        over_tls(listener, context, request_bytes("GET", "/"), "GET")


def test_plain_http_on_a_tls_port_reaches_nobody(listener, upstream):
    script = upstream.script(numbered_answer)
    with Connection(listener.port) as connection:
        connection.send(request_bytes("GET", "/", script=script))
        connection.sock.settimeout(5)
        try:
            connection.reader.fill()
        except OSError:
            pass
    assert not upstream.of_script(script)


def test_a_stalled_handshake_does_not_block_others(listener, authority, key):
    stalled = [Connection(listener.port) for _ in range(5)]
    data = request_bytes("POST", "/orders", key=key, json={})
    expect.first_answer(over_tls(listener, client_context(authority), data))
    for connection in stalled:
        connection.close()


def test_with_a_client_ca_a_certificate_is_needed(serve, authority, server, key):
    certificate, private = server
    proxy = serve(tls={"cert": str(certificate), "key": str(private), "client_ca": str(authority.certificate)})
    data = request_bytes("POST", "/orders", key=key, json={})
    expect.first_answer(over_tls(proxy, client_context(authority, authority.sign("client")), data))
    with pytest.raises((ssl.SSLError, OSError)):
        over_tls(proxy, client_context(authority), data)


@pytest.fixture
def https_upstream(server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, server))
    upstream = Upstream(tls=context)
    yield upstream
    upstream.stop()


def trusting(folder, url, authority):
    """How this build is told of a CA: by the upstream's entry, else by what OpenSSL itself reads."""
    for name in ("ca", "ca_file"):
        config = {"url": url, name: str(authority.certificate)}
        if problems_of_config(folder, json.dumps({"store": "memory", "upstream": config})).returncode == 0:
            return config, {}
    return {"url": url}, {"SSL_CERT_FILE": str(authority.certificate)}


def test_an_https_upstream_is_reached_and_verified(serve, https_upstream, authority, tmp_path, key):
    to, env = trusting(tmp_path, https_upstream.url, authority)
    proxy = serve(to=to, env=env)
    first = expect.first_answer(proxy.post(key=key))
    expect.replay_of(proxy.post(key=key), first)
    assert https_upstream.effects(key) == 1


def test_an_https_upstream_that_cannot_be_verified_gets_nothing(serve, https_upstream, key):
    proxy = serve(to=https_upstream.url)
    expect.problem(proxy.post(key=key), 502, "UPSTREAM_UNREACHABLE")
    assert proxy.get("/page").status == 502
    assert https_upstream.requests == []


def test_an_https_upstream_with_another_name_gets_nothing(serve, authority, tmp_path, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, authority.sign("elsewhere", "DNS:elsewhere.example")))
    upstream = Upstream(tls=context)
    to, env = trusting(tmp_path, upstream.url, authority)
    proxy = serve(to=to, env=env)
    expect.problem(proxy.post(key=key), 502, "UPSTREAM_UNREACHABLE")
    assert upstream.requests == []
    upstream.stop()


def test_https_to_a_plain_port_is_unreachable_and_leaves_no_record(serve, own_upstream, key):
    proxy = serve(to=f"https://127.0.0.1:{own_upstream.port}")
    expect.problem(proxy.post(key=key, json={"a": 1}), 502, "UPSTREAM_UNREACHABLE")
    expect.problem(proxy.post(key=key, json={"a": 2}), 502, "UPSTREAM_UNREACHABLE")
    own_upstream.malformed.clear()  # the handshake is no request, and that is what was tested


@pytest.mark.parametrize("wrong", ["missing", "mismatched"])
def test_a_bad_certificate_stops_serve(tmp_path, upstream, authority, server, wrong):
    other = authority.sign("other")
    key = tmp_path / "absent.key" if wrong == "missing" else other[1]
    proxy = Onceward(tmp_path, upstream, tls={"cert": str(server[0]), "key": str(key)})
    proxy.write_config()
    proxy.spawn()
    assert proxy.ended_with() in (1, 2)
