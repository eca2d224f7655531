package mcpconfig

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// remote fills in a server at a URL.
func (r *reading) remote(declared interop.TransportKind) {
	address := strings.TrimSpace(r.text("url"))
	headers := r.pairs("headers", badHeader)
	for i, h := range headers {
		// A line break at the end comes from a variable that was read from a file.
		headers[i].Value = interop.NewSecret(strings.TrimSpace(h.Value.Reveal()))
		if text := headers[i].Value.Reveal(); !isMarked(text) && strings.ContainsFunc(text, isControl) {
			r.skip(r.fields["headers"].StartOffset, "headers "+tree.Quote(h.Name)+" holds a line break or control character", "")
		}
	}
	if r.State == Active && !isMarked(address) {
		r.checkURL(address)
	}
	r.signIn()
	if declared == interop.KindSSE {
		r.Server.Transport, r.Kind = interop.SSE{URL: address, Headers: headers}, interop.KindSSE
		return
	}
	r.Server.Transport, r.Kind = interop.HTTP{URL: address, Headers: headers}, interop.KindHTTP
}

// checkURL shows nothing of a URL, because a key often is in it.
func (r *reading) checkURL(address string) {
	at := r.fields["url"].StartOffset
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme != "http" && u.Scheme != "https":
		r.skip(at, `"url" does not begin with http:// or https://`, "")
	case err != nil:
		r.skip(at, `"url" is not a valid URL`, "")
	case u.Hostname() == "":
		r.skip(at, `"url" has no host`, "")
	}
}

// badHeader checks for a token of RFC 9110, section 5.6.2.
func badHeader(name string) string {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return "no header can have this name"
		}
	}
	if name == "" {
		return "no header can have this name"
	}
	return ""
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
