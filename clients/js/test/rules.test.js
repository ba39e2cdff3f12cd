// The rules that all clients share, from the same tables as the C++ client's.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { backoff, classify, derivedKey, nextPause, parseRetryAfter, randomKey } from "../dist/index.js";
import { sha256Hex } from "../dist/sha256.js";

const table = (name) => JSON.parse(readFileSync(new URL(`../../../tests/vectors/client/${name}`, import.meta.url)));

test("answers mean what the shared table says", () => {
  const cases = table("answers.json");
  assert.ok(cases.length > 40);
  for (const { name, action, doubt, ...signs } of cases) assert.deepEqual(classify(signs), { action, doubt }, name);
});

test("derived keys are the same in every client", () => {
  for (const { fields, key } of table("derived_keys.json")) assert.equal(derivedKey(...fields), key);
});

test("SHA-256 agrees with OpenSSL at every length around a block", () => {
  for (let length = 0; length < 200; length++) {
    const data = Uint8Array.from({ length }, (_, i) => (i * 7 + length) % 256);
    assert.equal(sha256Hex(data), createHash("sha256").update(data).digest("hex"), `${length} bytes`);
  }
});

test("random keys are UUIDs of version 7 and differ", () => {
  const keys = Array.from({ length: 100 }, () => randomKey());
  for (const key of keys) assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(keys).size, keys.length);
  assert.ok(randomKey(1e12) < randomKey(2e12), "they sort by time");
});

const policy = { attempts: 4, firstDelayMs: 100, maxDelayMs: 1000, deadlineMs: 10_000, attemptTimeoutMs: 1000 };

test("pauses follow the policy", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5, 1e6].map((n) => backoff(policy, n)), [100, 200, 400, 800, 1000, 1000, 1000]);
  const after = (attempts, waits, elapsedMs, action, retryAfter) =>
    nextPause(policy, { attempts, waits, elapsedMs }, action, retryAfter, 0.5);
  assert.deepEqual(after(1, 0, 0, "retry"), { pauseMs: 50 });
  assert.deepEqual(after(3, 0, 0, "retry"), { pauseMs: 200 });
  assert.deepEqual(after(4, 0, 0, "retry"), { giveUp: "all attempts were used" });
  assert.deepEqual(after(4, 50, 0, "wait"), { pauseMs: 500 });
  assert.deepEqual(after(1, 0, 0, "retry", 2000), { pauseMs: 2050 });
  assert.deepEqual(after(1, 0, 0, "wait", 11_000), { giveUp: "the server asks to wait for longer than the deadline" });
  assert.deepEqual(after(2, 0, 9950, "retry"), { giveUp: "the deadline would pass before the next attempt" });
  assert.deepEqual(after(1, 0, 10_000, "retry"), { giveUp: "the deadline has passed" });
});

test("Retry-After is seconds or a date", () => {
  const now = Date.parse("Sun, 06 Nov 1994 08:49:37 GMT");
  const cases = [
    ["0", 0], ["120", 120_000], [" 1 ", 1000], ["Sun, 06 Nov 1994 08:50:07 GMT", 30_000],
    ["Sat, 05 Nov 1994 08:49:37 GMT", 0], ["soon", undefined], ["-1", undefined], ["1.5", undefined],
    ["", undefined], [null, undefined], ["9999999999999", 365 * 24 * 3600 * 1000],
  ];
  for (const [value, expected] of cases) assert.equal(parseRetryAfter(value, now), expected, String(value));
});
