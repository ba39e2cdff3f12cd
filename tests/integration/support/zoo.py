"""One config with an operation for every rule, so that most tests can share a proxy and differ by path."""


def operation(path, **rules):
    return {"name": path.strip("/").replace("/", ".") or "root", "match": f"POST {path}"} | rules


WAIT_LONG = {"wait": "20s", "max_wait": "30s"}
WAIT_NOT = {"wait": "0s", "max_wait": "30s"}

OPERATIONS = [
    {"name": "orders.update", "match": "POST /orders/{id}"},
    {"name": "orders.item", "match": "PUT /orders/{id}/items/{item}"},
    {"name": "files.write", "match": "* /files/{rest*}"},
    operation("/strict", key={"strict": True}),
    operation("/required", key={"required": True}),
    operation("/short-keys", key={"max_length": 16}),
    operation("/own-header", key={"header": "X-Request-Key"}),
    operation("/reject", in_progress=WAIT_NOT),
    operation("/wait", in_progress=WAIT_LONG),
    operation("/capped", in_progress={"wait": "0s", "max_wait": "3s"}),
    operation("/accept", in_progress={"wait": "0s", "then": "accept"}),
    operation("/mismatch-400", mismatch_status=400),
    operation("/mismatch-409", mismatch_status=409),
    operation("/ignore", fingerprint={"ignore": ["/note", "/meta/trace"]}),
    operation("/include", fingerprint={"include": ["/amount", "/to"]}),
    operation("/raw", fingerprint={"mode": "raw"}),
    operation("/no-query", fingerprint={"query": False}),
    operation("/with-headers", fingerprint={"headers": ["X-Currency"]}),
    operation("/replay-200", replay={"status": 200}),
    operation("/marker", replay={"header": "X-Was-Replayed"}),
    operation("/cookies", replay={"keep_cookies": True}),
    operation("/outcomes", outcomes={"replay": [429], "retry": [404, 418], "unknown": [500]}),
    operation("/outcome-classes", outcomes={"retry": ["5xx"]}),
    operation("/ttl", ttl="1s"),
    operation("/receipt", ttl="1s", receipt_ttl="1h"),
    operation("/short-receipt", ttl="1s", receipt_ttl="2s"),
    operation("/short-lease", lease="2s", in_progress=WAIT_NOT),
    operation("/short-hold", lease="1s", max_hold="1s", in_progress=WAIT_NOT),
    operation("/observe", mode="observe", key={"required": True}),
    operation("/off", mode="off", key={"required": True}),
    operation("/forward", on_unknown="forward"),
    operation("/key-from-json", key={"from": "json:/event/id"}),
    operation("/key-from-content", key={"from": "content"}),
    operation("/key-from-header", key={"from": "header:X-Delivery-Id"}),
]

# For claims and records; the proxy serves the same names.
API_OPERATIONS = [
    operation("/api/orders", in_progress=WAIT_NOT, fingerprint={"ignore": ["/note"]}),
    operation("/api/forward", on_unknown="forward"),
    operation("/api/receipt", ttl="1s", receipt_ttl="1h"),
    operation("/api/mismatch-400", mismatch_status=400),
    operation("/api/purged"),
    operation("/api/purged-too"),
    operation("/api/listed"),
    operation("/api/short-hold", lease="1s", max_hold="5s"),
]
