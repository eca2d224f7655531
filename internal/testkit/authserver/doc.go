// Package authserver starts a real authorization server for tests, in a process of its own: oidc-provider of npm,
// an independent, certified implementation of OpenID Connect.
//
//	as := authserver.Start(t, nil)                         // JWT access tokens, dynamic registration, rotation
//	token := as.ClientToken(t, "http://127.0.0.1:1/mcp", "read") // of a program, by client credentials
//	token = as.UserToken(t, "alice", "http://127.0.0.1:1/mcp", "read", "write")
//	err := authserver.Browser{User: "alice"}.Open(ctx, authorizationURL) // signs in, consents, follows the redirect
//
// It supports authorization code with PKCE (required), rotating refresh tokens, client credentials with secrets
// and with private_key_jwt, introspection, revocation, dynamic registration, client ID metadata documents and
// resource indicators. Reuse of a refresh token revokes its whole family. Token exchange and assertions are a few
// lines of ours in testdata/peers/authserver.mjs, because oidc-provider leaves these grants to its users. Their
// subject tokens are not checked.
//
// # Concurrency
//
// All functions may be called by parallel tests. A start takes about 0.4 s: share a server between tests if its
// options allow it.
package authserver
