// A client of the daemon, by the types that openapi-typescript makes of its document. Arguments: the address, the token.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import WebSocket from "ws";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Frame = Schemas["HelloFrame"] | Schemas["AckFrame"] | Schemas["ErrorFrame"] | Schemas["ResultFrame"] | Schemas["WatchFrame"];

const [base = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${token}` } });
const graph = { graph: "typed" };

const declaration = `graph: typed
accumulators:
  quotes: { where: event.bid > 0 }
nodes:
  spread: { expr: quotes.ask - quotes.bid }
outputs:
  spreads: { from: spread, sink: { drop: {} } }
`;

// Apply: the declaration goes as it is.
const applied = await client.PUT("/v1/graphs/{graph}", {
  params: { path: graph },
  body: declaration,
  bodySerializer: (body) => body,
  headers: { "Content-Type": "application/yaml" },
});
assert(applied.data, JSON.stringify(applied.error));
assert.equal(applied.data.created, true);

// Subscribe, and push over another socket.
function socket(path: string): WebSocket {
  const at = new URL(path, base.replace(/^http/, "ws"));
  return new WebSocket(at, "graphd.v1+json", { headers: { Authorization: `Bearer ${token}` } });
}

function* numbers(): Generator<number, never> {
  for (let n = 1; ; n++) yield n;
}

const ids = numbers();
const watcher = socket("/v1/ws/graphs/typed/reactor");
const outputs = new Promise<Schemas["WatchFrame"]>((resolve, reject) => {
  watcher.on("error", reject);
  watcher.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame;
    switch (frame.type) {
      case "hello":
        assert(frame.limits.frame_bytes);
        watcher.send(JSON.stringify({ type: "subscribe", id: ids.next().value, topics: ["outputs"] }));
        break;
      case "result":
        push();
        break;
      case "error":
        reject(new Error(frame.detail));
        break;
      case "output":
        resolve(frame);
        break;
    }
  });
});

function push(): void {
  const pusher = socket("/v1/ws/graphs/typed/accumulators/quotes");
  pusher.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame;
    if (frame.type === "hello") {
      pusher.send(JSON.stringify({ type: "events", id: 1, data: [{ bid: 100, ask: 101.5 }] }));
    } else if (frame.type === "ack") {
      assert.equal(frame.accepted, 1);
      pusher.close();
    }
  });
}

const output = await outputs;
assert.equal(output.output, "spreads");
assert.equal(output.value, 1.5);
watcher.close();

// Push over REST, with what was refused.
const pushed = await client.POST("/v1/graphs/{graph}/accumulators/{accumulator}/events", {
  params: { path: { ...graph, accumulator: "quotes" }, header: { "Idempotency-Key": randomUUID() } },
  body: [{ bid: 1, ask: 2 }, { bid: -1, ask: 2 }],
});
assert(pushed.data, JSON.stringify(pushed.error));
assert.deepEqual([pushed.data.accepted, pushed.data.filtered, pushed.data.rejected.length], [2, 1, 0]);

// Fire, and look inside.
const fired = await client.POST("/v1/graphs/{graph}/fire", {
  params: { path: graph },
  body: { mode: "with", cache: { quotes: { bid: 1, ask: 4 } }, replace: true, only_changed: false },
});
assert(fired.data?.ok, JSON.stringify(fired.error));
const state = await client.GET("/v1/graphs/{graph}/state", { params: { path: graph } });
assert.equal(state.data?.nodes?.["spread"], 3);
const firings = await client.GET("/v1/graphs/{graph}/firings", { params: { path: graph, query: { limit: 1 } } });
assert.equal(firings.data?.items[0]?.cause, "with");
const summary = await client.GET("/v1/graphs/{graph}", { params: { path: graph } });
assert.equal(summary.data?.health, "live"); // of the summary's type, without a cast
const text = await client.GET("/v1/graphs/{graph}", {
  params: { path: graph },
  headers: { Accept: "application/yaml" },
  parseAs: "text",
});
assert.match(String(text.data), /^graph: /m);

// A refusal is a problem with a code.
const missing = await client.GET("/v1/graphs/{graph}", { params: { path: { graph: "none" } } });
assert.equal(missing.response.headers.get("Content-Type"), "application/problem+json");
assert.equal(missing.error?.code, "graph_not_found");
assert.equal(missing.error?.status, 404);
console.log("smoke ok");
