package wire

// envelopeKey returns the envelope key that a quoted key is, after its escapes
// are decoded, or that some reader may take it for; "" for all others.
//
// Readers that ignore case differ on what that means. Here a key resembles
// another if it does so by Unicode's simple folding (ſ is s, as in
// encoding/json), by the upper case of Java and .NET (ı and İ are i), or for a
// reader whose strings end at a NUL.
func envelopeKey(raw []byte) (like string, exact bool) {
	switch string(raw) { // nearly all
	case `"id"`:
		return "id", true
	case `"jsonrpc"`:
		return "jsonrpc", true
	case `"result"`:
		return "result", true
	case `"method"`:
		return "method", true
	case `"params"`:
		return "params", true
	case `"error"`:
		return "error", true
	}
	return disguised(raw[1 : len(raw)-1])
}

// disguised is envelopeKey for all other spellings.
func disguised(in []byte) (like string, exact bool) {
	var folded [len("jsonrpc")]byte
	exact = true
	n := 0
	for i := 0; i < len(in); n++ {
		r, size := char(in[i:])
		if r == 0 {
			exact = false
			break
		}
		f := fold(r)
		if f == 0 || n == len(folded) {
			return "", false
		}
		exact = exact && rune(f) == r
		folded[n] = f
		i += size
	}
	switch string(folded[:n]) {
	case "id":
		return "id", exact
	case "jsonrpc":
		return "jsonrpc", exact
	case "result":
		return "result", exact
	case "method":
		return "method", exact
	case "params":
		return "params", exact
	case "error":
		return "error", exact
	}
	return "", false
}

// fold returns the lower-case ASCII letter that r can pass for, or 0.
func fold(r rune) byte {
	switch {
	case 'a' <= r && r <= 'z':
		return byte(r)
	case 'A' <= r && r <= 'Z':
		return byte(r) | 0x20
	case r == 'ſ':
		return 's'
	case r == 'ı', r == 'İ':
		return 'i'
	}
	return 0
}
