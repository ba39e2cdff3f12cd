// A real page in a real browser, the real proxy behind it, and a gate between the two that can lose answers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { after, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const binary = process.env.ONCEWARD_BINARY ?? new URL("../../../build/release/onceward", import.meta.url).pathname;
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

const page = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Order</title>
<form id="order" action="/orders" method="post">
  <input name="item" value="tea"><button id="buy">Buy</button>
</form>
<form id="plain" action="/orders"><input name="item" value="coffee"><button id="plain-buy">Buy</button></form>
<ol id="outcomes"></ol>
<script type="module">
  import { Client, guardForm } from "/module/index.js";
  const client = new Client({ retry: { firstDelayMs: 20, attempts: 10 } });
  const show = (text) => {
    const line = document.createElement("li");
    line.textContent = text;
    document.getElementById("outcomes").append(line);
  };
  guardForm(document.getElementById("order"), {
    client, encoding: "json",
    onOutcome: (outcome, { resumed }) =>
      show([outcome.ending, resumed ? "resumed" : "direct", outcome.answer?.body ?? ""].join(" ")),
    onError: (error) => show("refused " + error),
  });
  document.getElementById("plain").addEventListener("submit", (event) => {
    event.preventDefault();
    fetch("/orders", { method: "POST", body: new URLSearchParams(new FormData(event.target)) });
  });
  document.documentElement.dataset.ready = "yes";
</script>`;

/** The service: an order per POST that reaches it. `hold` makes it wait before it answers. */
class Service {
  orders = [];
  hold = null;
  server = http.createServer((request, response) => this.#handle(request, response));

  #handle(request, response) {
    const send = (status, type, body) => response.writeHead(status, { "Content-Type": type }).end(body);
    const path = request.url.split("?")[0];
    if (path === "/") return send(200, "text/html", page);
    if (path.startsWith("/module/") && !path.includes(".."))
      return send(200, "text/javascript", readFileSync(new URL(`../dist/${path.slice(8)}`, import.meta.url)));
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", async () => {
      this.orders.push({ body, key: request.headers["idempotency-key"] });
      const id = this.orders.length;
      await this.hold?.promise;
      send(201, "application/json", JSON.stringify({ id }));
    });
  }
}

/** TCP between browser and proxy. While `losing` > 0, a connection that carries an order is cut before its answer. */
class Gate {
  losing = 0;
  sockets = new Set();
  server = net.createServer((near) => this.#join(near));
  constructor(port) {
    this.port = port;
  }
  #join(near) {
    const far = net.connect(this.port, "127.0.0.1");
    let cut = false;
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => (near.destroy(), far.destroy(), this.sockets.delete(socket)));
    }
    near.on("data", (data) => {
      if (this.losing > 0 && data.includes("POST /orders")) {
        cut = true;
        this.losing--;
      }
      far.write(data);
    });
    far.on("data", (data) => (cut ? near.destroy() : near.write(data)));
  }
}

const listen = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

function latch() {
  let release;
  const promise = new Promise((resolve) => (release = resolve));
  return { promise, release };
}

async function until(condition, what) {
  const end = Date.now() + 60_000;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `not true in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const service = new Service();
let gate, proxy, browser, tab, url, folder;

before(async () => {
  folder = mkdtempSync(`${tmpdir()}/onceward-browser-`);
  const upstream = await listen(service.server);
  const arguments_ = ["serve", "--upstream", `http://127.0.0.1:${upstream}`, "--listen", "127.0.0.1:0", "--store", "memory",
                      "--api", "127.0.0.1:0", "--log-level", "error", "--no-access-log"];
  // Settings in a developer's shell must not change what is tested.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ONCEWARD_")));
  proxy = spawn(binary, arguments_, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  proxy.stdout.on("data", (data) => (said += data));
  await until(() => /127\.0\.0\.1:[1-9]\d*/.test(said) && said.includes("\n"), "the proxy to listen");
  gate = new Gate(Number(/127\.0\.0\.1:(\d+)/.exec(said)[1]));
  url = `http://127.0.0.1:${await listen(gate.server)}/`;
  browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
});

after(async () => {
  service.hold?.release();
  await browser?.close();
  if (proxy) {
    const ended = new Promise((resolve) => proxy.on("exit", resolve));
    proxy.kill("SIGTERM");
    assert.equal(await ended, 0, "the proxy's exit code");
  }
  for (const socket of gate?.sockets ?? []) socket.destroy();
  gate?.server.close();
  service.server.close();
  service.server.closeAllConnections();
  if (folder) rmSync(folder, { recursive: true });
});

const ready = () => tab.waitForSelector("html[data-ready]", { state: "attached" });
const outcomes = () => tab.locator("#outcomes li").allTextContents();

beforeEach(async () => {
  service.orders = [];
  service.hold = null;
  gate.losing = 0;
  tab = await (await browser.newContext()).newPage();
  await tab.goto(url);
  await ready();
});

test("control: without the module a double click is two orders", async () => {
  await tab.dblclick("#plain-buy");
  await until(() => service.orders.length === 2, "two orders");
});

test("a double click is one order", async () => {
  service.hold = latch();
  await tab.dblclick("#buy");
  await until(() => service.orders.length > 0, "the order");
  await tab.click("#buy");
  service.hold.release();
  await until(async () => (await outcomes()).length > 0, "an outcome");
  assert.deepEqual(await outcomes(), ['succeeded direct {"id":1}']);
  assert.equal(service.orders.length, 1);
});

test("a second submission after the first has ended is a second order", async () => {
  for (const number of [1, 2]) {
    await tab.click("#buy");
    await until(async () => (await outcomes()).length === number, "an outcome");
  }
  assert.equal(service.orders.length, 2);
  assert.notEqual(service.orders[0].key, service.orders[1].key);
});

test("a reload while the answer is pending goes on with the same key", async () => {
  service.hold = latch();
  await tab.click("#buy");
  await until(() => service.orders.length === 1, "the order");
  await tab.reload();
  await ready();
  service.hold.release();
  await until(async () => (await outcomes()).length > 0, "an outcome");
  assert.deepEqual(await outcomes(), ['succeeded resumed {"id":1}']);
  assert.equal(service.orders.length, 1);
  await tab.reload();
  await ready();
  assert.deepEqual(await outcomes(), [], "what has ended is not sent again");
  assert.equal(service.orders.length, 1);
});

test("lost answers are asked for again and are one order", async () => {
  gate.losing = 3;
  await tab.click("#buy");
  await until(async () => (await outcomes()).length > 0, "an outcome");
  assert.deepEqual(await outcomes(), ['succeeded direct {"id":1}']);
  assert.equal(gate.losing, 0);
  assert.equal(service.orders.length, 1);
});

test("changed fields wait until it is known what became of the first submission", async () => {
  gate.losing = 1;
  service.hold = latch();
  await tab.click("#buy");
  await until(() => service.orders.length === 1, "the order");
  await tab.reload();
  await ready();
  await tab.fill("#order input", "cake");
  await tab.click("#buy");
  service.hold.release();
  await until(async () => (await outcomes()).length > 0, "an outcome");
  assert.deepEqual(await outcomes(), ['succeeded resumed {"id":1}']);
  await tab.click("#buy");
  await until(async () => (await outcomes()).length === 2, "the second outcome");
  assert.deepEqual(service.orders.map((order) => JSON.parse(order.body).item), ["tea", "cake"]);
});
