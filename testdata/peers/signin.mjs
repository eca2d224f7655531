// Clients that sign in by themselves at the URLs of servers that want it: they find the authorization server, register, ask for a
// token, and list tools with it.
//
//     MCP_OAUTH_CALLBACK_URL=http://127.0.0.1:PORT/oauth/callback node signin.mjs '{"URL": "SCOPE", …}' PERSON
//
// PERSON is the URL of somebody with a browser: GET PERSON?ADDRESS signs in at ADDRESS and answers with where that leads. It prints
// for each URL and client what scope it asked for and how many tools it lists, or an error. Nobody here is told the scopes.
import { get } from "node:http";
import { createRequire } from "node:module";
import { createMcpClient } from "@genkit-ai/mcp";
import { auth, createMCPClient } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client as One } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HTTPOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Two, StreamableHTTPClientTransport as HTTPTwo } from "@modelcontextprotocol/client";
import { MCPServerStreamableHttp } from "@openai/agents-core";
import { genkit } from "genkit";
import { createRuntime } from "mcporter";
import { end, mcpdo } from "./clients/inspector.mjs";

console.log = console.error = console.warn = console.info = console.debug = () => {};
const [scopes, person] = process.argv.slice(2);
const urls = Object.keys(JSON.parse(scopes));
const redirect = "http://127.0.0.1:1/callback", info = { name: "signin", version: "1" };

// visit has the person sign in, and is where that leads.
async function visit(address) {
  const res = await fetch(person + "?" + encodeURIComponent(address));
  if (!res.ok) throw new Error(await res.text());
  return new URL(await res.text());
}

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
      this.asks(address);
      kept.back = (await visit(address)).searchParams;
    },
  };
}

// provided is a client that takes a provider: list has the tools, and finish is what comes between being asked to sign in and the next list.
function provided(list, finish) {
  const providers = {};
  return async (url, asks) => {
    const provider = providers[url] ??= newProvider();
    provider.asks = asks;
    delete provider.kept.back;
    const early = await list(url, provider).catch(e => e); // it is asked to sign in, and gives up
    if (!provider.kept.back) throw early;
    await finish(url, provider);
    return list(url, provider);
  };
}

// with1 and with2 hand the code to the provider by the official SDKs, on which others build.
const with1 = (url, p) => new HTTPOne(new URL(url), { authProvider: p }).finishAuth(p.kept.back.get("code"));
const with2 = (url, p) => new HTTPTwo(new URL(url), { authProvider: p }).finishAuth(p.kept.back);

async function official(client, transport) {
  await client.connect(transport);
  return (await client.listTools()).tools;
}

const two = mode => (url, p) => official(new Two(info, { versionNegotiation: { mode } }), new HTTPTwo(new URL(url), { authProvider: p }));

// inspector signs in with mcpdo: a helper of its own waits for the person to come back, at a port that one sign-in has at a time.
let turn = Promise.resolve();
function inspector(era) {
  return (url, asks) => {
    const mine = turn.then(() => inspected(era, url, asks));
    turn = mine.catch(() => {});
    return mine;
  };
}

async function inspected(era, url, asks) {
  const it = "@" + era + urls.indexOf(url);
  for (let ended = true, tries = 0; ended; tries++) {
    if (tries === 20) throw new Error("nobody waits for the person to come back");
    const { authUrl } = await mcpdo(null, "connect", ...relogin, "--server-url", url, "--transport", "http", "--era", era, it);
    asks(authUrl);
    const back = await visit(authUrl).catch(() => new URL("?error=access_denied", new URL(authUrl).searchParams.get("redirect_uri")));
    ended = await new Promise(ok => get(back, { agent: false }, res => res.resume().on("end", () => ok(res.statusCode === 409))).on("error", () => ok(true)));
    if (ended) await mcpdo(null, "disconnect", it); // mcpdo gave the address of the helper before, which had heard its answer and was about to end
  }
  await mcpdo(null, "connections/show", it);
  return (await mcpdo(null, "--connection", it, "tools/list")).tools;
}

process.argv[1] = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js"); // of which the helper is made

// mcporter signs in as its auth --no-browser does.
async function mcporter(url, asks) {
  const runtime = await createRuntime({ servers: [{ name: url, command: { kind: "http", url: new URL(url) } }] });
  const onAuthorizationUrl = async ({ authorizationUrl }) => {
    asks(authorizationUrl);
    fetch(await visit(authorizationUrl)).catch(() => {});
  };
  const tools = await runtime.listTools(url, { oauthSessionOptions: { suppressBrowserLaunch: true, onAuthorizationUrl } });
  await runtime.close();
  return tools;
}

const clients = {
  "TypeScript SDK 1": provided((url, p) => official(new One(info), new HTTPOne(new URL(url), { authProvider: p })), with1),
  "TypeScript SDK 2, legacy": provided(two("legacy"), with2),
  "TypeScript SDK 2, modern": provided(two({ pin: "2026-07-28" }), with2),
  "Inspector, legacy": inspector("legacy"),
  "Inspector, modern": inspector("modern"),
  "mcporter": mcporter,
  "AI SDK": provided(
    async (url, p) => (await (await createMCPClient({ transport: { type: "http", url, authProvider: p } })).listTools()).tools,
    (url, p) => auth(p, { serverUrl: new URL(url), authorizationCode: p.kept.back.get("code"), callbackState: p.kept.back.get("state"), callbackIss: p.kept.back.get("iss") }),
  ),
  "LangChain adapters": provided((url, p) => new MultiServerMCPClient({ mcpServers: { it: { transport: "http", url, authProvider: p } } }).getTools(), with1),
  "Genkit": provided(async (url, p) => {
    const client = createMcpClient({ name: "it", mcpServer: { url, authProvider: p } });
    await client.ready();
    return client.getActiveTools(genkit({}));
  }, with1),
  "OpenAI Agents": provided(async (url, p) => {
    const server = new MCPServerStreamableHttp({ url, authProvider: p });
    await server.connect();
    return server.listTools();
  }, with2),
};

let relogin = ["--relogin"];

async function signIn(client, url) {
  let scope;
  const asks = address => { scope = new URL(address).searchParams.get("scope"); };
  return client(url, asks).then(tools => `${scope}: ${tools.length} tools`, e => "error: " + (e?.message ?? e));
}

const found = {};
await Promise.all(urls.flatMap(url => {
  found[url] = {};
  return Object.entries(clients).map(async ([name, client]) => { found[url][name] = await signIn(client, url); });
}));
await fetch(person + "/more");
relogin = [];
found.more = {};
await Promise.all(Object.entries(clients).map(async ([name, client]) => { found.more[name] = await signIn(client, urls[0]); }));
await end();
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
