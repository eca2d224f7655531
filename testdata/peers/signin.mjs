// Clients that sign in by themselves at the URL of a server that wants it: they find the authorization server, register, ask for a
// token, and list tools with it.
//
//     node signin.mjs URL PERSON
//
// PERSON is the URL of somebody with a browser: GET PERSON?ADDRESS signs in at ADDRESS and answers with where that leads. It prints
// for each client the scopes of its token and how many tools it lists, or an error.
import { createMcpClient } from "@genkit-ai/mcp";
import { auth, createMCPClient } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";
import { MCPServerStreamableHttp } from "@openai/agents-core";
import { genkit } from "genkit";

console.log = console.error = console.warn = console.info = console.debug = () => {};
const [url, person] = process.argv.slice(2);
const redirect = "http://127.0.0.1:1/callback", info = { name: "signin", version: "1" };

// newProvider keeps what an SDK wants kept, and has the person sign in.
function newProvider() {
  const kept = {};
  const keep = key => value => { kept[key] = value; };
  return {
    kept,
    redirectUrl: redirect,
    clientMetadata: {
      client_name: "signin", redirect_uris: [redirect], token_endpoint_auth_method: "none", application_type: "native",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    },
    state: () => "state",
    saveState: keep("state"), storedState: () => kept.state,
    saveClientInformation: keep("client"), clientInformation: () => kept.client,
    saveTokens: keep("tokens"), tokens: () => kept.tokens,
    saveCodeVerifier: keep("verifier"), codeVerifier: () => kept.verifier,
    saveDiscoveryState: keep("discovery"), discoveryState: () => kept.discovery,
    saveAuthorizationServerInformation: keep("server"), authorizationServerInformation: () => kept.server,
    async redirectToAuthorization(address) {
      kept.back = new URL(await (await fetch(person + "?" + encodeURIComponent(address))).text()).searchParams;
    },
  };
}

// with1 and with2 hand the code to the provider by the official SDKs, on which others build.
const with1 = p => new HTTPOne(new URL(url), { authProvider: p }).finishAuth(p.kept.back.get("code"));
const with2 = p => new HTTPTwo(new URL(url), { authProvider: p }).finishAuth(p.kept.back);

async function official(client, transport) {
  await client.connect(transport);
  return (await client.listTools()).tools;
}

// clients have list, the tools with a provider, and finish, what comes between being asked to sign in and the next list.
const two = mode => p => official(new Two(info, { versionNegotiation: { mode } }), new HTTPTwo(new URL(url), { authProvider: p }));
const clients = {
  "TypeScript SDK 1": [p => official(new One(info), new HTTPOne(new URL(url), { authProvider: p })), with1],
  "TypeScript SDK 2, legacy": [two("legacy"), with2],
  "TypeScript SDK 2, modern": [two({ pin: "2026-07-28" }), with2],
  "AI SDK": [
    async p => (await (await createMCPClient({ transport: { type: "http", url, authProvider: p } })).listTools()).tools,
    p => auth(p, { serverUrl: new URL(url), authorizationCode: p.kept.back.get("code"), callbackState: p.kept.back.get("state"), callbackIss: p.kept.back.get("iss") }),
  ],
  "LangChain adapters": [p => new MultiServerMCPClient({ mcpServers: { it: { transport: "http", url, authProvider: p } } }).getTools(), with1],
  "Genkit": [async p => {
    const client = createMcpClient({ name: "it", mcpServer: { url, authProvider: p } });
    await client.ready();
    return client.getActiveTools(genkit({}));
  }, with1],
  "OpenAI Agents": [async p => {
    const server = new MCPServerStreamableHttp({ url, authProvider: p });
    await server.connect();
    return server.listTools();
  }, with2],
};

async function signIn([list, finish]) {
  const provider = newProvider();
  await list(provider).catch(() => {}); // it is asked to sign in, and gives up
  if (!provider.kept.back) throw new Error("nobody was asked to sign in");
  await finish(provider);
  return `${provider.kept.tokens.scope}: ${(await list(provider)).length} tools`;
}

const found = {};
await Promise.all(Object.entries(clients).map(async ([name, steps]) => {
  found[name] = await signIn(steps).catch(e => "error: " + (e?.message ?? e));
}));
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
