package wire

// envelopeKeys lists the keys of an envelope.
var envelopeKeys = [...]string{"id", "jsonrpc", "result", "method", "params", "error"}

// envelopeKey returns the envelope key that a quoted key equals after decoding its escapes, or that
// some reader may take it for. It returns "" for all other keys.
//
// Readers that ignore case differ in their rules. Three of them count here: Unicode's simple folding
// (ſ is s, as in encoding/json), the upper case of Java and .NET (ı and İ are i), and strings that end
// at a NUL.
func envelopeKey(raw []byte) (key string, exact bool) {
	in := raw[1 : len(raw)-1]
	for _, k := range envelopeKeys {
		if string(in) == k {
			return k, true
		}
	}
	var folded [len("jsonrpc")]byte
	exact = true
	n := 0
	for i := 0; i < len(in); n++ {
		r, size := Char(in[i:])
		if r == 0 {
			exact = false
			break
		}
		f := foldLetter(r)
		if f == 0 || n == len(folded) {
			return "", false
		}
		exact = exact && rune(f) == r
		folded[n] = f
		i += size
	}
	for _, k := range envelopeKeys {
		if string(folded[:n]) == k {
			return k, exact
		}
	}
	return "", false
}

// foldLetter returns the lower-case ASCII letter that some reader may take r for, or 0.
func foldLetter(r rune) byte {
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
