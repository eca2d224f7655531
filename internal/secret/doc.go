// Package secret recognizes secrets and masks them in texts.
//
// A [Set] holds the secret values of one server, and masks them in the output of that server: verbatim, URL-escaped,
// JSON-escaped, as an HTML entity, quoted-printable, as bytes in hexadecimal or decimal, and in base64 (in any alphabet
// and alignment, also twice). It also masks the rest of a value that was cut. [Text], [URL] and [Args] need no values:
// they mask parts of a configuration that look like credentials.
//
// Masking is for text that people see. Results of tools and lists of tools are passed on unmasked,
// except for tokens of a sign-in: see [Set.Result]. Masking protects against servers that repeat
// their secrets by mistake. It cannot stop a server that leaks them on purpose.
//
// # Lower bound
//
// A value of fewer than [Least] bytes masks nothing, because "1" and "true" are common. Three other
// kinds of values mask nothing, so that error messages stay readable: a path that begins in a
// directory of this machine, a host with its port, and a URL that consists of an origin only.
package secret

// Mask replaces a secret.
const Mask = "<secret>"

// Least is the minimum length of a secret that is masked, in bytes.
const Least = 6
