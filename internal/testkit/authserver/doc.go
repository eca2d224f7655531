// Package authserver starts a real authorization server for tests: oidc-provider of
// npm, a certified implementation of OpenID Connect that nobody here wrote, as a
// process of its own.
//
//	as := authserver.Start(t, nil)                         // JWT access tokens, dynamic registration, rotation
//	token := as.ClientToken(t, "http://127.0.0.1:1/mcp", "read") // of a program, by client credentials
//	token = as.UserToken(t, "alice", "http://127.0.0.1:1/mcp", "read", "write")
//	err := authserver.Browser{User: "alice"}.Open(ctx, authorizationURL) // signs in, consents, follows the redirect
//
// It has authorization code with PKCE (required), refresh tokens that rotate and
// whose reuse revokes the whole family, client credentials with secrets and with
// private_key_jwt, introspection, revocation, dynamic registration, client ID
// metadata documents and resource indicators; token exchange and assertions are a
// few lines of ours in testdata/peers/authserver.mjs, since oidc-provider leaves
// those grants to who runs it: their subject tokens are not checked.
//
// # Concurrency
//
// All functions may be called by parallel tests. A start takes about 0.4 s: share a
// server where its options allow it.
package authserver
