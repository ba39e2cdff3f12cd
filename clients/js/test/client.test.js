// The client against a scripted fetch: no sockets, no sleeping.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, MemoryStorage, OutcomeUnknown, RefusedLocally } from "../dist/index.js";

const lost = () => { throw new TypeError("fetch failed"); };
const answer = (status, body = "done", headers = {}) => () =>
  new Response([204, 304].includes(status) ? null : body, { status, headers });
const problem = (status, code, more = {}, headers = {}) =>
  answer(status, JSON.stringify({ code, ...more }), { "Content-Type": "application/problem+json", ...headers });
const running = problem(409, "IDEMPOTENCY_REQUEST_IN_PROGRESS", { operationId: "op" }, { "Retry-After": "1" });

/** A client whose n-th request gets the n-th step (then the last), on a clock that only pauses move. */
function scripted(steps, options = {}) {
  const seen = [];
  let now = 0;
  const client = new Client({
    storage: new MemoryStorage(),
    retry: { attempts: 4 },
    random: () => 0.5,
    now: () => now,
    sleep: async (ms) => { now += ms; },
    fetch: async (url, init) => {
      seen.push({ url, key: init.headers["Idempotency-Key"], body: init.body });
      return steps[Math.min(seen.length, steps.length) - 1](init);
    },
    ...options,
  });
  return { client, seen, elapsed: () => now };
}

const request = { url: "http://h/orders", body: "b" };

const endings = [
  ["an answer", [answer(201)], "succeeded", true, false, 1],
  ["a lost answer, then the first one again", [lost, answer(201)], "succeeded", true, false, 2],
  ["still running: waiting costs no attempts", [lost, running, running, running, running, running, answer(200)], "succeeded", true, false, 7],
  ["the service says no", [answer(400)], "failed", true, false, 1],
  ["no, after a lost answer", [lost, answer(400)], "failed", true, false, 2],
  ["another request has the key", [problem(422, "IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST")], "failed", true, false, 1],
  ["held as unknown", [problem(504, "IDEMPOTENCY_OUTCOME_UNKNOWN")], "unknown", false, true, 1],
  ["busy all the time, nothing done", [answer(503)], "failed", false, false, 4],
  ["busy after a lost answer", [lost, answer(503)], "unknown", false, true, 4],
  ["every answer lost", [lost], "unknown", false, true, 4],
  ["not let in", [answer(401)], "failed", false, false, 1],
  ["not let in after a lost answer", [lost, answer(401)], "unknown", false, true, 2],
];
for (const [name, steps, ending, final, inDoubt, requests] of endings) {
  test(`ends as it should: ${name}`, async () => {
    const { client, seen } = scripted(steps);
    const intent = client.open("x", "k1");
    const outcome = await client.send(intent, request);
    assert.equal(outcome.ending, ending, outcome.reason);
    assert.equal(outcome.final, final);
    assert.equal(intent.inDoubt, inDoubt);
    assert.deepEqual(seen.map((s) => s.key), Array(requests).fill('"k1"'));
  });
}

test("a Retry-After is waited for", async () => {
  const { client, elapsed } = scripted([problem(503, "IDEMPOTENCY_STORE_UNAVAILABLE", {}, { "Retry-After": "3" }), answer(201)]);
  await client.send(client.open("x"), request);
  assert.equal(elapsed(), 3100);
});

test("the key is kept, in doubt, before anything is sent", async () => {
  const storage = new MemoryStorage();
  const { client } = scripted([() => {
    const kept = JSON.parse(storage.getItem("onceward:intent:x"));
    assert.equal(kept.key, "k1");
    assert.equal(kept.inDoubt, true);
    return new Response("done", { status: 201 });
  }], { storage });
  assert.equal((await client.send(client.open("x", "k1"), request)).ending, "succeeded");
});

test("nothing is sent when the key cannot be kept", async () => {
  const storage = new MemoryStorage();
  storage.setItem = () => { throw new Error("quota"); };
  const { client, seen } = scripted([answer(201)], { storage });
  await assert.rejects(client.send(client.open("x"), request), /quota/);
  assert.equal(seen.length, 0);
});

test("an intent goes on with its key in another client of the same storage", async () => {
  const storage = new MemoryStorage();
  const first = scripted([lost], { storage });
  await first.client.send(first.client.open("x"), request);
  const second = scripted([answer(201)], { storage });
  assert.equal((await second.client.send(second.client.open("x"), request)).ending, "succeeded");
  assert.equal(second.seen[0].key, first.seen[0].key);
});

test("a finished intent gives its outcome again and sends nothing", async () => {
  const { client, seen } = scripted([answer(201, "first")]);
  await client.send(client.open("x"), request);
  const again = await client.send(client.open("x"), request);
  assert.ok(again.fromIntent);
  assert.equal(again.answer.body, "first");
  assert.equal(seen.length, 1);
});

test("sends at the same time are one", async () => {
  const { client, seen } = scripted([answer(201, "first")]);
  const intent = client.open("x");
  const [one, two] = await Promise.all([client.send(intent, request), client.send(intent, request)]);
  assert.equal(seen.length, 1);
  assert.equal(one, two);
});

test("another request or another caller under the same intent is refused", async () => {
  const { client, seen } = scripted([lost]);
  await client.send(client.open("x"), request);
  const before = seen.length;
  for (const other of [{ ...request, body: "c" }, { ...request, url: "http://h/2" }, { ...request, method: "PUT" },
                       { ...request, headers: { authorization: "other" } }]) {
    await assert.rejects(client.send(client.open("x"), other), RefusedLocally);
  }
  assert.equal(seen.length, before);
});

test("an intent has no way to change its key", () => {
  const { client } = scripted([]);
  const intent = client.open("x", "k1");
  assert.throws(() => { intent.key = "k2"; }, TypeError);
  assert.throws(() => client.open("y", "bad\nkey"), TypeError);
});

test("the budget ends the retries of all intents together", async () => {
  const { client, seen } = scripted([answer(503)], { budgetMax: 3, budgetRatio: 0 });
  for (const name of ["a", "b", "c"]) assert.equal((await client.send(client.open(name), request)).ending, "failed");
  assert.equal(seen.length, 3 + 3);
});

test("a server that fails again and again is left alone, then one request tries", async () => {
  const { client, seen, elapsed } = scripted([answer(503), answer(503), answer(201)],
    { breakerFailures: 2, breakerPauseMs: 4000 });
  const outcome = await client.send(client.open("x"), request);
  assert.equal(outcome.ending, "succeeded");
  assert.equal(outcome.attempts, 3);
  assert.equal(seen.length, 3);
  assert.ok(elapsed() >= 4000, `${elapsed()}`);
});

test("a cancelled send says whether it is in doubt", async () => {
  const abort = new AbortController();
  const { client } = scripted([(init) => new Promise((_, reject) => {
    init.signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    abort.abort();
  })]);
  const intent = client.open("x");
  const outcome = await client.send(intent, request, { signal: abort.signal });
  assert.equal(outcome.ending, "unknown");
  assert.ok(intent.inDoubt);
});

test("an attempt that hangs is given up and asked for again", async () => {
  let asked = 0;
  const { client } = scripted([(init) => asked++ ? new Response("done") : new Promise((_, reject) => {
    init.signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  })], { retry: { attempts: 4, attemptTimeoutMs: 5 } });
  assert.equal((await client.send(client.open("x"), request)).ending, "succeeded");
  assert.equal(asked, 2);
});

test("fetch gives the answer, and throws when the outcome is unknown", async () => {
  const good = scripted([answer(201, "first", { "X-A": "1" })]);
  const response = await good.client.fetch("x", "http://h/", { body: "b" });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("X-A"), "1");
  assert.equal(await response.text(), "first");
  assert.equal((await scripted([answer(204)]).client.fetch("x", "http://h/")).status, 204);
  const bad = scripted([problem(409, "IDEMPOTENCY_OUTCOME_UNKNOWN", { operationId: "op-9" })]);
  await assert.rejects(bad.client.fetch("x", "http://h/"), (error) => {
    assert.ok(error instanceof OutcomeUnknown);
    assert.equal(error.outcome.operationId, "op-9");
    return true;
  });
});
