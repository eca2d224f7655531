// What clients can do at the URL of a server that has what go-sdk's conformance server has. It takes the URL and the name
// of a tool that asks its caller something, and prints for each client what came of each ability: "" or an error.
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";

console.error = console.warn = console.info = console.debug = () => {};
const [url, asks] = process.argv.slice(2);
const info = { name: "abilities", version: "1" };
const capabilities = { elicitation: { form: {} } };
const watched = "test://watched-resource";

const clients = {
  "TypeScript SDK 1": () => [new One(info, { capabilities }), new HTTPOne(new URL(url)), ElicitRequestSchema, ResourceUpdatedNotificationSchema],
  "TypeScript SDK 2, legacy": () => two({ mode: "legacy" }),
  "TypeScript SDK 2, modern": () => two({ mode: { pin: "2026-07-28" } }),
};

function two(versionNegotiation) {
  return [new Two(info, { capabilities, versionNegotiation }), new HTTPTwo(new URL(url)), "elicitation/create", "notifications/resources/updated"];
}

function has(what, ok) {
  if (!ok) throw new Error("got " + JSON.stringify(what));
}

async function abilities([client, transport, elicit, updated]) {
  const out = {};
  const attempt = async (name, run) => {
    const late = new Promise((_, no) => setTimeout(() => no(new Error("nothing within 10 s")), 10000));
    out[name] = await Promise.race([run(), late]).then(() => "", e => String(e.message ?? e).replace(/\s+/g, " ").slice(0, 300));
  };
  let asked = 0;
  client.setRequestHandler(elicit, async () => (asked++, { action: "accept", content: { username: "u", email: "u@example.com", name: "u" } }));
  const update = new Promise(ok => client.setNotificationHandler(updated, n => n.params.uri === watched && ok()));
  await attempt("connects", () => client.connect(transport));
  const subscribed = attempt("subscribes", async () => {
    if (client.getProtocolEra?.() === "modern") await client.listen({ resourceSubscriptions: [watched] });
    else await client.subscribeResource({ uri: watched });
    await update;
  });
  await attempt("lists tools", async () => { const r = await client.listTools(); has(r, r.tools.some(t => t.name === "test_simple_text")); });
  await attempt("calls", async () => { const r = await client.callTool({ name: "test_simple_text", arguments: {} }); has(r, r.content[0].type === "text"); });
  await attempt("lists resources", async () => { const r = await client.listResources(); has(r, r.resources.some(x => x.uri === watched)); });
  await attempt("reads", async () => { const r = await client.readResource({ uri: "test://static-text" }); has(r, r.contents[0].text); });
  await attempt("lists prompts", async () => { const r = await client.listPrompts(); has(r, r.prompts.some(p => p.name === "test_simple_prompt")); });
  await attempt("gets a prompt", async () => { const r = await client.getPrompt({ name: "test_simple_prompt" }); has(r, r.messages.length > 0); });
  await attempt("answers a question", async () => { const r = await client.callTool({ name: asks, arguments: { message: "who?" } }); has(r, asked === 1 && !r.isError && r.content.length > 0); });
  await subscribed;
  return out;
}

const found = await Promise.all(Object.entries(clients).map(async ([name, make]) => [name, await abilities(make())]));
console.log(JSON.stringify(Object.fromEntries(found)));
process.exit(0);
