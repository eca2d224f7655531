// Package sealed makes tokens that only their maker can read, and that nobody can alter:
// session ids, the state of a request that waits for input, ids of tasks, cursors.
//
// A [Token] says what it is for: kind, the replica that made it, the principal it was
// given to, when it expires, the digest of the request that it belongs to, and the bytes
// that it carries. [Keys.Open] refuses whatever does not fit.
package sealed
