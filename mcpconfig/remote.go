package mcpconfig

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// remote reads a server at a URL.
func (r *valuedRow) remote() {
	var address textValue
	var written []pair
	var headers []config.Pair
	r.take(member{"url", storeIn(&address, r.text)}, member{"headers", storeIn(&written, r.pairs(setHeaderReason))})
	to := strings.TrimSpace(address.text)
	for _, h := range written {
		// A line break at the end comes from a variable that was read from a file.
		text, at := strings.TrimSpace(h.value.text), r.fields["headers"].StartOffset
		headers = append(headers, config.Pair{Name: h.name, Value: config.NewSecret(text)})
		if !h.value.pending && strings.ContainsFunc(text, isControl) {
			r.skip(at, "headers "+tree.Quote(h.name)+" holds a line break or control character", "")
		}
		if strings.EqualFold(h.name, "Accept-Encoding") && !h.value.pending && !httpconn.Readable(text) {
			r.note(at, "headers "+tree.Quote(h.name)+" is left out: indus reads only gzip, deflate and identity", "")
		}
	}
	if !r.skipped && !address.pending {
		r.checkURL(to)
	}
	r.signIn()
	if r.reached == config.KindSSE {
		r.server.Transport = config.SSE{URL: to, Headers: headers}
		return
	}
	r.server.Transport = config.HTTP{URL: to, Headers: headers}
}

// checkURL checks a URL. Its notes show no part of the URL, because URLs often contain a key.
func (r *valuedRow) checkURL(address string) {
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

// setHeaderReason returns why a row cannot set a header, or "".
func setHeaderReason(name string) string {
	if !strings.EqualFold(name, "Host") && !strings.EqualFold(name, "Accept-Encoding") && protocol.ReservedHeader(name) {
		return "indus sets this header"
	}
	return headerNameReason(name)
}

// headerNameReason returns why a name is not a token of RFC 9110, section 5.6.2, or "".
func headerNameReason(name string) string {
	isSeparator := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	if name == "" || strings.ContainsFunc(name, isSeparator) {
		return "no header can have this name"
	}
	return ""
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
