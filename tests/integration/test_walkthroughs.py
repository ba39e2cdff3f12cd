"""The examples of the docs, command by command: what they promise is what happens."""

import json
import re
import shutil

import pytest

from support.example import program
from support.waiting import eventually
from support.walkthrough import Walkthrough

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


def statuses(text):
    return re.findall(r"HTTP/1\.1 (\d+)", text)


def test_docs_outbox(tmp_path):
    with Walkthrough(tmp_path, "docs/outbox.md", ports=(8080, 9000, 9001)) as walk:
        assert walk.lines() == ['{"id": 7}', '{"id": 7}', "payment.created {'id': 7} genuine"]


@pytest.mark.skipif(not program("payments").exists(), reason="the examples are not built")
def test_docs_duplicates(tmp_path):
    with Walkthrough(tmp_path, "docs/duplicates.md", ports=(8080, 8084)) as walk:
        assert statuses(walk.text()) == ["201", "409"]
        assert '"code":"DUPLICATE_BUSINESS_OPERATION"' in walk.text()
        moved = json.loads(walk.text()[walk.text().rindex("[{"):])
        assert [one["what"] for one in moved] == [{"order": "A-17", "amount": 5}]


def test_docs_consumers(tmp_path, redis):
    with Walkthrough(tmp_path, "docs/consumers.md", ports=(9000,), places={"6379": str(redis.main.port)}) as walk:
        eventually(lambda: redis.main.cli("XPENDING", "orders", "billing").startswith("0") and "handled" in walk.text(), 20,
                   what=walk.text)
        assert [line for line in walk.lines() if line.startswith("handled")] == ['handled order-1 {"order":1}']


def test_docs_bulk(tmp_path):
    with Walkthrough(tmp_path, "docs/bulk.md", ports=(8080, 9000)) as walk:
        assert statuses(walk.text()) == ["200", "200"]
        first, again = re.findall(r'\{"items":.*?"summary":\{.*?\}\}', walk.text())
        assert again == first
        told = json.loads(first)
        assert [(item["id"], item["state"]) for item in told["items"]] == [("a", "succeeded"), ("b", "succeeded"), ("c", "failed")]
        assert walk.text().count("Idempotent-Replayed: true") == 1
        assert walk.text().endswith('{"C-1": 1, "C-2": 1}')


def test_docs_operations(tmp_path):
    with Walkthrough(tmp_path, "docs/operations.md", ports=(8080, 9000)) as walk:
        shown, listed = [json.loads(line) for line in walk.lines()[-2:]]
        assert statuses(walk.text()) == ["201"]
        assert (shown["reference"], shown["result"]) == ("A-17", {"resourceType": "cases", "resourceId": "C-1"})
        assert listed["operation_id"] == shown["operationId"]
        assert listed["result"] == {"resource_type": "cases", "resource_id": "C-1"}


def test_docs_webhooks(tmp_path):
    with Walkthrough(tmp_path, "docs/webhooks.md", ports=(8080, 9000)) as walk:
        effects = [line for line in walk.lines() if line.startswith("handled")]
        assert len(effects) == 3 and len(set(effects)) == 3
        assert walk.text().count("Idempotent-Replayed: true") == 3
        assert statuses(walk.text()) == ["200"] * 6 + ["400"]


def test_examples_orders_transaction(tmp_path, postgres):
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "postgres"}
    with Walkthrough(tmp_path, "examples/orders-transaction/README.md", ports=(8080, 9000), env=env) as walk:
        assert statuses(walk.text()) == ["201"]
        assert postgres.sql("SELECT item FROM orders", "shop") == "book"
