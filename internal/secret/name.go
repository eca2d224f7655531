package secret

import (
	"strings"
	"unicode"
)

// maxName bounds the part of a name that is read: its end.
const maxName = 128

// otherEnds are ends of names that have the name of a secret in front and describe it, such as "tokenLimit". They are
// listed by their last letter.
var otherEnds = [256][]string{
	'd': {"id", "used", "required", "enabled", "supported"},
	'e': {"file", "type", "mode", "name", "size", "usage"},
	'f': {"ref"},
	'h': {"path", "length"},
	'i': {"uri"},
	'l': {"url", "ttl"},
	'n': {"expiresin", "progresstoken", "version"},
	'r': {"dir", "tokenizer"},
	's': {"tokens"},
	't': {"limit", "count", "expiresat", "budget", "endpoint"},
	'y': {"expiry", "policy"},
}

// IsSecretName reports whether a name is typical for a secret. The case of letters and all other characters but digits
// do not count. It takes a few nanoseconds, because a text has many names.
func IsSecretName(name string) bool {
	name = name[max(0, len(name)-maxName):]
	if strings.IndexByte(name, '%') >= 0 { // of a URL
		name = unescapePercent(name)
	}
	var buffer [maxName]byte
	plain := buffer[:0]
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 0x80:
			plain = append(plain[:0], foldName(name)...)
			i = len(name)
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			plain = append(plain, c)
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c|0x20)
		}
	}
	return len(plain) >= 3 && hasSecretPart(string(plain), name) && !hasOtherEnd(string(plain))
}

// foldName returns the letters and digits of a name that is not ASCII, in lower case. Letters of full width are the
// letters that they look like.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if 0xff01 <= r && r <= 0xff5e {
			r -= 0xff01 - '!'
		}
		if r = unicode.ToLower(unicode.ToUpper(r)); unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
}

// secretParts are parts of names of secrets, by their first letter.
var secretParts = [256][]string{
	'a': {"apikey", "accesskey", "authkey", "authorization", "accountkey", "amzsignature"},
	'c': {"credential", "cookie", "connectionstring"},
	'e': {"encryptionkey"},
	'm': {"masterkey"},
	'p': {"passw", "privatekey", "passphrase"},
	's': {"secret", "signingkey", "sharedkey", "subscriptionkey"},
	't': {"token"},
}

// hasSecretPart reports whether a name has a part that is typical for a secret. plain is the name in lower case,
// without separators.
func hasSecretPart(plain, name string) bool {
	for i := range len(plain) - 2 {
		for _, part := range secretParts[plain[i]] {
			if strings.HasPrefix(plain[i:], part) {
				return true
			}
		}
	}
	switch plain[len(plain)-3:] {
	case "key":
		return len(plain) == 3
	case "pwd":
		return true
	case "pat": // unlike "compat"
		return hasLastWord(name, "pat")
	case "ass": // unlike "compass"
		return hasLastWord(name, "pass")
	case "jwt":
		return hasLastWord(name, "jwt")
	}
	return strings.HasSuffix(plain, "auth") && plain != "oauth" // a way to sign in, such as ?oauth=initialize
}

// hasLastWord reports whether the last word of a name, such as DB_PASS, smtpPass or pass, is word.
func hasLastWord(name, word string) bool {
	before := len(name) - len(word)
	if before < 0 || !strings.EqualFold(name[before:], word) {
		return false
	}
	return before == 0 || !alphanumeric(name[before-1]) || name[before] < 'a' && name[before+1] >= 'a'
}

func hasOtherEnd(plain string) bool {
	for _, end := range otherEnds[plain[len(plain)-1]] {
		if strings.HasSuffix(plain, end) {
			return true
		}
	}
	return false
}

// isSecretFlag reports whether the word after a flag is typically a secret. Unlike a name in front of "=", a flag may
// have no value, such as "--anyauth", and the next word is then something else.
func isSecretFlag(flag string) bool {
	if len(flag) < 3 || flag[0] != '-' || strings.HasPrefix(strings.TrimLeft(flag, "-"), "no-") || !IsSecretName(flag) {
		return false
	}
	plain := strings.ToLower(strings.Trim(flag, "-"))
	return !strings.Contains(plain, "cookie") && (plain == "key" || !strings.HasSuffix(plain, "auth"))
}

// unescapePercent returns a text with its escapes %XX decoded once.
func unescapePercent(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:at]...)
	for i := at; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if b, ok := unhex(s, i+1, 2); ok {
				c = byte(b)
				i += 2
			}
		}
		out = append(out, c)
	}
	return string(out)
}

// hexValue returns the value of a hexadecimal digit, or 16.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
