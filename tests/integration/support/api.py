"""The API as a client sees it. Every answer is checked against the description that the API itself publishes."""

import base64
import functools
import re
import uuid

import jsonschema

from . import expect


def b64(data):
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


class Claimed:
    """A claim that was granted, and its verbs."""

    def __init__(self, api, granted):
        self.api, self.granted = api, granted
        self.id, self.epoch, self.token = granted["operation_id"], granted["epoch"], granted["token"]

    def verb(self, name, token=None, **fields):
        return self.api.post(f"/v1/claims/{self.id}/{name}", {"token": token or self.token} | fields)

    def ok(self, name, **fields):
        response = self.verb(name, **fields)
        assert response.status == 200, response
        return response.json()

    def complete(self, status=201, headers=(), body=b"done", **fields):
        response = {"status": status, "headers": [list(pair) for pair in headers], "body": b64(body)}
        return self.verb("complete", response=response, **fields)

    def record(self):
        return self.api.record(self.id)


class Api:
    def __init__(self, proxy, token=True):
        self.proxy, self.token = proxy, token

    def with_token(self, token):
        return Api(self.proxy, token)

    def request(self, method, target, json=None, body=None, headers=()):
        response = self.proxy.api(target, method, self.token, headers, json, body)
        Description.of(self.proxy).check(method, target, response)
        return response

    def get(self, target):
        return self.request("GET", target)

    def post(self, target, json=None, body=None):
        return self.request("POST", target, json, body)

    def claim(self, key, operation="api.orders", fingerprint="f1", **fields):
        if "request" not in fields:
            fields["fingerprint"] = fingerprint
        return self.post("/v1/claims", {"operation": operation, "key": key} | fields)

    def claimed(self, key, **fields):
        response = self.claim(key, **fields)
        assert response.status == 201, response
        return Claimed(self, response.json())

    def unknown(self, key, **fields):
        """A claim whose outcome nobody knows."""
        claim = self.claimed(key, **fields)
        claim.ok("dispatch")
        claim.ok("unknown", cause="timeout")
        return claim

    def record(self, operation_id, reveal=False):
        response = self.get(f"/v1/records/{operation_id}" + ("?reveal=true" if reveal else ""))
        assert response.status == 200, response
        return response.json()

    def resolve(self, operation_id, epoch=1, **fields):
        return self.post(f"/v1/records/{operation_id}/resolve", {"as": "succeeded", "reason": "test", "epoch": epoch}
                         | fields)

    def audit(self, query=""):
        response = self.get("/v1/audit" + query)
        assert response.status == 200, response
        return response.json()

    def pages(self, target, member):
        """Every item of a list that comes in pages."""
        cursor, items = None, []
        while True:
            separator = "&" if "?" in target else "?"
            response = self.get(target + (f"{separator}cursor={cursor}" if cursor else ""))
            assert response.status == 200, response
            items += response.json()[member]
            cursor = response.json()["cursor"]
            if cursor is None:
                return items


class Description:
    """An OpenAPI 3.0 document as something to check answers with."""

    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver("", plain(document))

    @staticmethod
    @functools.cache
    def of(proxy):
        return Description(proxy.api("/openapi.json", token=False).json())

    def operation(self, method, target):
        path = target.split("?")[0]
        for pattern, methods in self.document["paths"].items():
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", re.escape(pattern).replace(r"\{", "{").replace(r"\}", "}")), path):
                return methods.get(method.lower(), {})
        return None

    def check(self, method, target, response):
        operation = self.operation(method, target)
        if not operation:
            assert response.status in (401, 403, 404, 405), f"not described: {method} {target} {response}"
            return
        described = operation["responses"].get(str(response.status))
        assert described, f"{response.status} of {method} {target} is not described: {response}"
        if "$ref" in described:
            described = self.document["components"]["responses"][described["$ref"].split("/")[-1]]
            expect.problem(response, response.status, response.json()["code"])
        kind = response.header("Content-Type").split(";")[0]
        assert kind in described["content"], response
        schema = plain(described["content"][kind]["schema"])
        if kind.endswith("json"):
            jsonschema.Draft4Validator(schema, resolver=self.resolver).validate(response.json())


def plain(schema):
    """OpenAPI's `nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: plain(value) for name, value in schema.items()}
    if schema.pop("nullable", False):
        schema["type"] = [schema["type"], "null"]
    return schema


def new_key():
    return f"key-{uuid.uuid4()}"
