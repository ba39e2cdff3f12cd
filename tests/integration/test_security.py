"""What the store holds at rest."""

import base64
import os

from support import expect
from support.behaviours import answer


def test_a_stored_response_can_be_encrypted(serve_if_able, upstream, tmp_path, key):
    """Contract silent on the keyring's format: this is skipped until a build accepts one."""
    keyring = tmp_path / "keyring.yaml"
    keyring.write_text(f"keys:\n  - id: k1\n    key: {base64.b64encode(os.urandom(32)).decode()}\n")
    keyring.chmod(0o600)
    proxy = serve_if_able("file", security={"encrypt": str(keyring)})
    first = expect.first_answer(proxy.post(key=key, script=upstream.script(answer(201, [], b"very-s3cr3t-answer"))))
    expect.replay_of(proxy.post(key=key), first)
    proxy.stop()
    for path in (proxy.folder / "data").rglob("*"):
        assert not path.is_file() or b"very-s3cr3t-answer" not in path.read_bytes(), path
    proxy.restart()
    expect.replay_of(proxy.post(key=key), first)


def test_neither_keys_nor_callers_nor_requests_are_in_the_store_in_the_clear(serve, key):
    proxy = serve("file", security={"hash_keys": True})
    expect.first_answer(proxy.post(key=key, authorization="Bearer caller-in-the-clear",
                                   json={"text": "body-in-the-clear"}))
    proxy.stop()
    for path in (proxy.folder / "data").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for secret in (key, "caller-in-the-clear", "body-in-the-clear"):
            assert secret.encode() not in data, path
