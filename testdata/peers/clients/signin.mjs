// The official TypeScript SDKs (1 and 2) sign in by themselves: node signin.mjs 1|2 URL. Prints the address that a person would
// visit, reads the one that the browser is sent back to, and prints the names of the tools.
import { createInterface } from "node:readline/promises";
import * as one from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as two from "@modelcontextprotocol/client";

const [which, url] = process.argv.slice(2);
const { Client, Transport } = which === "1"
  ? { Client: one.Client, Transport: StreamableHTTPClientTransport }
  : { Client: two.Client, Transport: two.StreamableHTTPClientTransport };

const kept = {};
const authProvider = {
  redirectUrl: "http://127.0.0.1:1/callback",
  clientMetadata: {
    client_name: "signin", redirect_uris: ["http://127.0.0.1:1/callback"], token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
  },
  clientInformation: () => kept.client,
  saveClientInformation: c => { kept.client = c; },
  tokens: () => kept.tokens,
  saveTokens: t => { kept.tokens = t; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: v => { kept.verifier = v; },
  redirectToAuthorization: to => console.log(String(to)),
};
const lines = createInterface({ input: process.stdin });
const first = new Transport(new URL(url), { authProvider });
try {
  await new Client({ name: "signin", version: "1" }).connect(first);
  throw new Error("it was let in without a token");
} catch (e) {
  if (!kept.verifier) throw e;
}
const back = new URL((await lines[Symbol.asyncIterator]().next()).value);
await first.finishAuth(which === "1" ? back.searchParams.get("code") : back.searchParams);
const client = new Client({ name: "signin", version: "1" });
await client.connect(new Transport(new URL(url), { authProvider }));
console.log((await client.listTools()).tools.map(t => t.name).join(" "));
await client.close();
lines.close();
