// A fastify service guarded by @node-idempotency/core: node fastify.js PORT REDIS_URL ANSWER
const fastify = require("fastify");
const { Idempotency } = require("@node-idempotency/core");
const { RedisStorageAdapter } = require("@node-idempotency/storage-adapter-redis");

const [port, url, answer] = process.argv.slice(2);

async function main() {
  const storage = new RedisStorageAdapter({ url });
  await storage.connect();
  const guard = new Idempotency(storage, { cacheTTLMS: 600000 });
  const app = fastify();
  app.post("/orders", async (req, reply) => {
    const request = { method: "POST", headers: req.headers, body: req.body, path: "/orders" };
    try {
      const seen = await guard.onRequest(request);
      if (seen) return reply.code(seen.additional.status).send(seen.body);
      const body = JSON.parse(answer);
      await guard.onResponse(request, { body, additional: { status: 201 } });
      return reply.code(201).send(body);
    } catch (error) {
      return reply.code(409).send({ error: error.code });
    }
  });
  await app.listen({ port: Number(port), host: "127.0.0.1" });
}
main();
