// Package sealed makes tokens that only their maker can read, and that no client can alter: session ids, the state of
// a request that waits for input, ids of tasks, cursors.
//
// A [Token] carries its kind, the replica that made it, the principal that receives it, its expiry, the digest of its
// request, and data. [Keys.Open] refuses a token if one of them does not match. It does not detect repeated use: the
// owner of the state behind a token, such as the waiting call, has to detect it.
//
// Several replicas share the keys. [Keys.For] names a replica: its tokens contain the name, so that each replica finds
// the owner of a token ([Keys.Elsewhere]) and refuses what belongs to another one. Cursors and files name no replica.
//
//	keys := sealed.Random() // or NewKeys, or KeyFile
//	s := keys.Seal(sealed.Token{Kind: sealed.RequestState, Principal: "alice", Expires: soon, Digest: sum, Data: state})
//	t, err := keys.Open(s, sealed.Want{Kind: sealed.RequestState, Principal: "alice", Digest: sum})
//
// # Form
//
// A token is the base64url, without padding, of a version, a random nonce, and AES-256-GCM over all of the token's
// fields. The key is derived from the given key (HKDF-SHA256), so that the given key may have other uses. A token has
// 44 characters, and four thirds of the bytes of replica, principal, digest and data. With random nonces of 96 bits,
// one key is good for 2^36 tokens and more: at 2,000 tokens a second for a year, a repeated nonce is less likely than
// one in a million.
//
// # Concurrency
//
// Keys may be used from any goroutine.
package sealed
