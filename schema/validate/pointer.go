package validate

import "strings"

// pointer is a path in the form of RFC 6901.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escape(token))
	}
	return b.String()
}

func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// split parts a path into its parent's and its own name.
func split(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path
	}
	return path[:at], unescape(path[at+1:])
}

// show is a path for a reader: that of the whole is "/".
func show(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
