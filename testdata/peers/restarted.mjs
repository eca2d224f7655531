// Servers of both TypeScript SDKs over streamable HTTP that lose their sessions and connections, as a restart does.
//
//     node restarted.mjs
//
// prints its URL. /SDK/FORM/STREAM/… is one server: SDK is 1 or 2, FORM is "single" (one transport for all clients) or "many" (a
// transport for each session, as in the SDKs' examples), and STREAM is "standing" or "none". It has one tool, "work", whose argument
// "as" is "idle" (answers at once), "hang" (never answers) or "ask" (asks the caller first). A request with ?restart restarts it,
// and is answered when its clients have closed their connections. ?began answers when a call hangs, and ?runs with the number of runs.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import * as one from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import * as two from "@modelcontextprotocol/server";

const tools = [{ name: "work", inputSchema: { type: "object" } }];
const question = { message: "go on?", requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } } };
const hangs = new Promise(() => {});

// place is one server, over its restarts.
class Place {
  runs = 0;
  sockets = new Set();
  sessions = new Map();
  constructor(sdk, form, stream) {
    Object.assign(this, { sdk, form, stream });
    this.began = new Promise(ok => { this.begin = ok; });
  }

  async restart() {
    this.sessions.clear();
    const sockets = [...this.sockets].filter(socket => !socket.closed);
    this.sockets.clear();
    await Promise.all(sockets.map(socket => once(socket.end(), "close")));
  }

  async work({ as }, ask) {
    const run = ++this.runs;
    if (as === "hang") {
      this.begin();
      await hangs;
    }
    if (as === "ask") await ask();
    return { content: [{ type: "text", text: `run ${run}` }] };
  }

  server() {
    const { Server } = this.sdk === "1" ? one : two;
    const s = new Server({ name: "restarted", version: "1" }, { capabilities: { tools: { listChanged: this.stream === "standing" } } });
    s.setRequestHandler(this.sdk === "1" ? ListToolsRequestSchema : "tools/list", () => ({ tools }));
    s.setRequestHandler(this.sdk === "1" ? CallToolRequestSchema : "tools/call", ({ params }, ctx) =>
      this.work(params.arguments, () => this.sdk === "1" ? s.elicitInput(question, { relatedRequestId: ctx.requestId })
        : ctx.mcpReq.send({ method: "elicitation/create", params: question })));
    return s;
  }

  async transport() {
    const Transport = this.sdk === "1" ? StreamableHTTPServerTransport : NodeStreamableHTTPServerTransport;
    const t = new Transport({ sessionIdGenerator: randomUUID, onsessioninitialized: id => this.sessions.set(id, t) });
    await this.server().connect(t);
    return t;
  }

  async serve(req, res) {
    if (req.method === "GET" && this.stream === "none") return refuse(res, 405, "Method not allowed");
    this.sockets.add(req.socket);
    if (this.form === "single") {
      if (!this.sessions.size) this.sessions.set("", await this.transport());
      return this.sessions.get("").handleRequest(req, res);
    }
    const id = req.headers["mcp-session-id"];
    if (id && !this.sessions.has(id)) return refuse(res, 400, "Bad Request: No valid session ID provided");
    return (this.sessions.get(id) ?? await this.transport()).handleRequest(req, res);
  }
}

function refuse(res, status, message) {
  res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

const places = new Map();
const site = createServer(async (req, res) => {
  const { pathname, search } = new URL(req.url, "http://localhost");
  if (!places.has(pathname)) places.set(pathname, new Place(...pathname.split("/").slice(1)));
  const place = places.get(pathname);
  switch (search) {
    case "?restart": await place.restart(); return res.end();
    case "?began": await place.began; return res.end();
    case "?runs": return res.end(String(place.runs));
  }
  await place.serve(req, res).catch(err => { console.error(err); res.destroy(); });
});
site.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${site.address().port}`));
