package protocol

import (
	"net/http"
	"strings"
)

// maxForwarded bounds the names and values of one request's headers, in bytes: servers take as much of all.
const maxForwarded = 8 << 10

// PickHeaders is those of a request's headers whose names are given, as [http.CanonicalHeaderKey] writes them; nil
// where there is none, and of more than 8 KiB together.
func PickHeaders(from http.Header, names []string) http.Header {
	var out http.Header
	size := 0
	for _, name := range names {
		for _, value := range from[name] {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				continue // which net/http lets nobody send, and other fronts may
			}
			if size += len(name) + len(value); size > maxForwarded {
				return nil
			}
			if out == nil {
				out = http.Header{}
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}
