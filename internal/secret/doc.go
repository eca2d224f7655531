// Package secret knows what must not be shown, and takes it out of a text.
//
// A [Set] has the values that one server was given, and masks them in what that server
// says: verbatim, URL-escaped, JSON-escaped, as an HTML entity, in hexadecimal and in base64
// (whatever its alphabet and alignment), and where a text was cut within one.
// [Text], [URL] and [Args] need no values: they mask what looks like a credential in a
// configuration that is shown.
//
// Masking is for text that is shown. A tool's own result or a list of tools is passed on, but for
// tokens of a sign-in: see [Set.Result]. It
// guards against servers that repeat what they were given. One that wants to leak what it
// was given cannot be kept from it.
//
// # Lower bound
//
// A value of fewer than [Least] bytes masks nothing: "1" and "true" stand everywhere. Nor
// does a path that begins in a directory of this machine, a host with its port, or a URL that
// is an origin and no more: a complaint about these is to be understood.
package secret

// Mask replaces a secret.
const Mask = "<secret>"

// Least is how long a secret must be to be masked, in bytes.
const Least = 6
