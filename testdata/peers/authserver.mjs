// An authorization server on a port of 127.0.0.1: oidc-provider with what its first argument says, as JSON (Options and Client
// of internal/testkit/authserver). It prints its issuer and its address. Every resource is known, and is its tokens' audience.
// GET /test/counts says how often it did what; /test/revoke?user=NAME ends all that NAME granted, with &access access tokens only.
import { createServer } from "node:http";
import { createPublicKey } from "node:crypto";

const options = JSON.parse(process.argv[2] ?? "{}");
const now = Date.now;
Date.now = () => now() + (options.clockAhead ?? 0) * 1000;
console.warn = () => {}; // of what one should configure in production
const { default: Provider, errors } = await import("oidc-provider");

const exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const scopes = options.scopes ?? ["read", "write"];
const ttl = options.ttl ?? 3600;
const server = createServer().listen(0, "127.0.0.1", () => {
  const issuer = options.issuer ?? `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: (options.clients ?? []).map(client),
    scopes: ["openid", ...(options.noOffline ? [] : ["offline_access"]), ...scopes],
    ttl: { AccessToken: ttl, ClientCredentials: ttl, Session: 86400, Grant: 86400, Interaction: 600, IdToken: 3600, RefreshToken: 86400 },
    pkce: { required: () => true },
    rotateRefreshToken: !options.noRotation,
    issueRefreshToken: (ctx, c) => c.grantTypeAllowed("refresh_token"),
    expiresWithSession: () => false,
    clockTolerance: 60,
    cookies: { keys: ["test"] },
    clientBasedCORS: () => true,
    findAccount: (ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    // Documents of clients stand in the options: nothing is fetched.
    fetch: async url => {
      const doc = options.documents?.[String(url)];
      return new Response(JSON.stringify(doc ?? {}), { status: doc ? 200 : 404, headers: { "Content-Type": "application/json" } });
    },
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      registration: { enabled: !options.noRegistration },
      ...(options.documents && { clientIdMetadataDocument: { enabled: true, ack: "draft-02" } }),
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => !options.strictResource,
        getResourceServerInfo: (ctx, resource) => ({
          scope: scopes.join(" "), audience: resource, accessTokenTTL: ttl,
          ...(options.opaque ? { accessTokenFormat: "opaque" } : { accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
        }),
      },
    },
  });
  // RFC 8693: an access token of one resource for that of another. RFC 7523: an assertion for an access token.
  for (const [grant, param] of [[exchange, "subject_token"], [bearer, "assertion"]]) {
    provider.registerGrantType(grant, async ctx => {
      const { params, client } = ctx.oidc;
      const subject = JSON.parse(Buffer.from(params[param].split(".")[1] ?? "", "base64url").toString() || "{}").sub;
      if (!subject) throw new errors.InvalidGrant("no subject");
      const token = new provider.AccessToken({ accountId: subject, client, gty: grant, scope: params.scope });
      const assertion = params.requested_token_type === "urn:ietf:params:oauth:token-type:id-jag"; // for another authorization server, its audience
      const to = assertion ? params.audience : params.resource ?? params.audience;
      const format = options.opaque && !assertion ? { accessTokenFormat: "opaque" } : { accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      token.resourceServer = new provider.ResourceServer(to, { scope: scopes.join(" "), audience: to, ...format });
      ctx.body = {
        access_token: await token.save(), issued_token_type: params.requested_token_type ?? "urn:ietf:params:oauth:token-type:access_token",
        token_type: assertion ? "N_A" : "Bearer", expires_in: ttl, scope: params.scope,
      };
    }, [param, "subject_token_type", "actor_token", "actor_token_type", "requested_token_type", "audience", "resource", "scope"]);
  }
  const counts = {};
  const count = (event, name) => provider.on(event, (ctx, e) => { const k = name(ctx, e); counts[k] = (counts[k] ?? 0) + 1; });
  count("grant.success", ctx => ctx.oidc.params.grant_type);
  count("grant.error", (ctx, e) => `${ctx.oidc?.params?.grant_type}: ${e.error}`);
  count("grant.revoked", () => "revoked");
  count("registration_create.success", () => "registered");
  count("authorization.success", () => "authorized");
  const grants = {};
  provider.on("grant.saved", g => (grants[g.accountId] ??= new Set()).add(g.jti));
  const tokens = {};
  provider.on("access_token.saved", t => (tokens[t.accountId] ??= new Set()).add(t));
  const callback = provider.callback();
  server.on("request", async (req, res) => {
    const url = new URL(req.url, issuer);
    if (url.pathname === "/test/counts") return res.end(JSON.stringify(counts));
    if (url.pathname === "/test/revoke") {
      const user = url.searchParams.get("user");
      if (url.searchParams.has("access")) for (const token of tokens[user] ?? []) await token.destroy();
      else for (const id of grants[user] ?? []) await provider.RefreshToken.revokeByGrantId(id); // the adapter forgets all of the grant
      return res.end();
    }
    callback(req, res);
  });
  console.log(`${issuer}\nhttp://127.0.0.1:${server.address().port}`);
});

function client({ id, secret, key, method, redirects, grants }) {
  return {
    client_id: id,
    ...(secret && { client_secret: secret }),
    ...(key && { jwks: { keys: [{ ...createPublicKey(key).export({ format: "jwk" }), use: "sig" }] } }),
    token_endpoint_auth_method: method ?? (key ? "private_key_jwt" : secret ? "client_secret_basic" : "none"),
    redirect_uris: redirects ?? [],
    response_types: redirects?.length ? ["code"] : [],
    application_type: "native",
    grant_types: grants ?? (redirects?.length ? ["authorization_code", "refresh_token"] : ["client_credentials", exchange, bearer]),
  };
}
