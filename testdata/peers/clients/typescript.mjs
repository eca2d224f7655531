// The official SDKs for TypeScript: 1, and 2 in each era.
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";

const info = { name: "abilities", version: "1" };
const capabilities = { elicitation: { form: {} } };

async function open(client, transport, elicit, updated, heard) {
  client.setRequestHandler(elicit, r => heard.ask(r.params.message));
  client.setNotificationHandler(updated, n => heard.emit("updated", n.params.uri));
  await client.connect(transport);
  return {
    tools: async () => (await client.listTools()).tools.map(t => t.name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    resources: async () => (await client.listResources()).resources.map(r => r.uri),
    read: uri => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts.map(p => p.name),
    prompt: name => client.getPrompt({ name }),
    answers: true,
    subscribe: uri => client.getProtocolEra?.() === "modern" ? client.listen({ resourceSubscriptions: [uri] }) : client.subscribeResource({ uri }),
  };
}

function two(versionNegotiation) {
  return (url, heard, headers) => open(new Two(info, { capabilities, versionNegotiation }), new HTTPTwo(new URL(url), { requestInit: { headers } }),
    "elicitation/create", "notifications/resources/updated", heard);
}

export const clients = {
  "TypeScript SDK 1": (url, heard, headers) => open(new One(info, { capabilities }), new HTTPOne(new URL(url), { requestInit: { headers } }),
    ElicitRequestSchema, ResourceUpdatedNotificationSchema, heard),
  "TypeScript SDK 2, legacy": two({ mode: "legacy" }),
  "TypeScript SDK 2, modern": two({ mode: { pin: "2026-07-28" } }),
};
