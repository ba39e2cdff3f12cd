"""The snippets of docs/claims-api.md are run as they stand there."""

import pathlib
import re
import shutil
import subprocess

import pytest

from support.api import Api, new_key
from support.onceward import ROOT, environment

PAGE = pathlib.Path(ROOT) / "docs/claims-api.md"
RUNNERS = {"sh": ["bash", "-eu"], "python": ["/usr/bin/python3"], "javascript": ["node", "--input-type=module"]}
NEEDS = {"sh": "curl", "python": "/usr/bin/python3", "javascript": "node"}


def snippets():
    """Fenced blocks that are whole programs; their first line says so."""
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        if language in RUNNERS:
            yield language, text


def test_there_are_snippets_in_every_language():
    assert {language for language, _ in snippets()} == set(RUNNERS)


@pytest.mark.parametrize("language", list(RUNNERS))
def test_the_snippets_do_what_the_page_says(serve, language):
    if not shutil.which(NEEDS[language]):
        pytest.skip(f"{NEEDS[language]} is not installed")
    proxy = serve("memory")
    for text in (text for found, text in snippets() if found == language):
        key = new_key()
        env = {"ONCEWARD": f"http://127.0.0.1:{proxy.api_port}", "TOKEN": proxy.token, "KEY": key}
        result = subprocess.run(RUNNERS[language], input=text, env=environment(env), text=True, capture_output=True,
                                timeout=30)
        assert result.returncode == 0, result
        states = {record["operation"]: record["state"] for record in Api(proxy).pages("/v1/records", "records")}
        assert states["invoices.send"] == "succeeded", result
        assert "replay" in result.stdout, result
