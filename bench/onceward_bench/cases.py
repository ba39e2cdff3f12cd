"""What is measured: one line per case."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    subject: str               # what is asked: a name of subjects.py
    keys: str = "none"         # none, unique, same, fifth (20 % duplicates), race (64 of one key)
    body: int = 100            # bytes of the request's body
    connections: int = 64
    base: str = "nginx"        # the subject whose figures under the same load are 1.0
    budget: tuple = None       # CPU at most, throughput at least, as ratios to the base
    quick: bool = False        # also in bench-quick


CASES = [
    Case("nginx proxy_pass", "nginx", quick=True),
    Case("nginx proxy_pass, new keys", "nginx", "unique", quick=True),
    Case("nginx proxy_pass, one key", "nginx", "same", quick=True),
    Case("haproxy", "haproxy", quick=True),
    Case("no key, passed through", "memory", budget=(0.85, 1.1), quick=True),
    Case("first, memory", "memory", "unique", budget=(1.0, 1.0), quick=True),
    Case("first, file synced", "file", "unique", budget=(1.25, 0.85), quick=True),
    Case("first, file process", "file-process", "unique"),
    Case("first, redis", "redis", "unique"),
    Case("first, postgres", "postgres", "unique"),
    Case("replay, memory", "memory", "same", budget=(0.6, 1.5), quick=True),
    Case("replay, file synced", "file", "same", budget=(0.6, 1.5)),
    Case("20 % duplicates, memory", "memory", "fifth"),
    Case("64 racing duplicates, memory", "memory", "race"),
    Case("nginx proxy_pass, 1 KiB", "nginx", body=1024),
    Case("no key, 1 KiB", "memory", body=1024),
    Case("first, memory, 1 KiB", "memory", "unique", body=1024),
    Case("nginx proxy_pass, 64 KiB", "nginx", body=65536),
    Case("no key, 64 KiB", "memory", body=65536),
    Case("first, memory, 64 KiB", "memory", "unique", body=65536),
    Case("nginx proxy_pass, 1 connection", "nginx", connections=1),
    Case("first, memory, 1 connection", "memory", "unique", connections=1),
    Case("first, file synced, 1 connection", "file", "unique", connections=1),
    Case("nginx proxy_pass, 8 connections", "nginx", connections=8),
    Case("first, memory, 8 connections", "memory", "unique", connections=8),
    Case("first, file synced, 8 connections", "file", "unique", connections=8),
    Case("nginx proxy_pass, 512 connections", "nginx", connections=512),
    Case("first, memory, 512 connections", "memory", "unique", connections=512),
    Case("first, file synced, 512 connections", "file", "unique", connections=512),
    Case("nginx proxy_pass, TLS", "nginx-tls", base="nginx-tls"),
    Case("no key, TLS", "memory-tls", base="nginx-tls"),
    Case("first, memory, TLS", "memory-tls", "unique", base="nginx-tls"),
    Case("nginx proxy_pass, 2 workers", "nginx-2", base="nginx-2"),
    Case("no key, 2 workers", "memory-2", base="nginx-2"),
    Case("first, memory, 2 workers", "memory-2", "unique", base="nginx-2"),
    Case("express + node-idempotency, redis, first", "express", "unique"),
    Case("express + node-idempotency, redis, replay", "express", "same"),
    Case("fastify + node-idempotency, redis, first", "fastify", "unique"),
    Case("fastify + node-idempotency, redis, replay", "fastify", "same"),
]


def base_of(case, cases):
    """The case that this one is compared with: the base subject under the same load, with the same requests if it
    was sent those too, else with requests that have no key."""
    for keys in (case.keys, "none"):
        for other in cases:
            if (other.subject, other.keys, other.body, other.connections) == (case.base, keys, case.body, case.connections):
                return other.name
    return None
