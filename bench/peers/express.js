// An express service guarded by @node-idempotency/core: node express.js PORT REDIS_URL ANSWER
const express = require("express");
const { Idempotency } = require("@node-idempotency/core");
const { RedisStorageAdapter } = require("@node-idempotency/storage-adapter-redis");

const [port, url, answer] = process.argv.slice(2);

async function main() {
  const storage = new RedisStorageAdapter({ url });
  await storage.connect();
  const guard = new Idempotency(storage, { cacheTTLMS: 600000 });
  const app = express();
  app.disable("x-powered-by");
  app.use(express.json({ limit: "1mb" }));
  app.post("/orders", async (req, res) => {
    const request = { method: "POST", headers: req.headers, body: req.body, path: "/orders" };
    try {
      const seen = await guard.onRequest(request);
      if (seen) return res.status(seen.additional.status).json(seen.body);
      const body = JSON.parse(answer);
      await guard.onResponse(request, { body, additional: { status: 201 } });
      return res.status(201).json(body);
    } catch (error) {
      return res.status(409).json({ error: error.code });
    }
  });
  app.listen(Number(port), "127.0.0.1");
}
main();
