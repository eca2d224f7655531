// Package sealed makes tokens that only their maker can read, and that nobody can alter:
// session ids, the state of a request that waits for input, ids of tasks, cursors.
//
// A [Token] says what it is for: kind, the replica that made it, the principal it was
// given to, when it expires, the digest of the request that it belongs to, and the bytes
// that it carries. [Keys.Open] refuses whatever does not fit. Whether one was used before is known
// to whoever keeps what it stands for, such as the call that waits.
//
//	keys := sealed.Random() // or NewKeys, or KeyFile
//	s := keys.Seal(sealed.Token{Kind: sealed.RequestState, Principal: "alice", Expires: soon, Digest: sum, Data: state})
//	t, err := keys.Open(s, sealed.Want{Kind: sealed.RequestState, Principal: "alice", Digest: sum})
//
// # Form
//
// The base64url, without padding, of a version, a random nonce, and AES-256-GCM over all
// of the token's fields. The key is derived from the given one (HKDF-SHA256), so that
// this has other uses elsewhere. A token is 44 characters and four thirds of the bytes of
// replica, principal, digest and data. With random nonces of 96 bits, one key is
// good for 2^36 tokens and more: 2,000 a second for a year leave two of one nonce
// less likely than one in a million.
//
// # Concurrency
//
// Keys may be used from any goroutine.
package sealed
