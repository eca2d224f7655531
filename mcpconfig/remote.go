package mcpconfig

import (
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
	"github.com/tailscale/hujson"
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
		if !h.value.pending() && strings.ContainsFunc(text, isControl) {
			r.skip(at, "headers "+tree.Quote(h.name)+" holds a line break or control character", "")
		}
		if strings.EqualFold(h.name, "Accept-Encoding") && !h.value.pending() && !httpconn.Readable(text) {
			r.note(at, "headers "+tree.Quote(h.name)+" is left out: indus reads only gzip, deflate and identity", "")
		}
	}
	// No note shows a part of the URL, because URLs often contain a key.
	if at := r.fields["url"].StartOffset; !r.skipped && !address.pending() {
		switch u, err := url.Parse(to); {
		case err == nil && u.Scheme != "http" && u.Scheme != "https":
			r.skip(at, `"url" does not begin with http:// or https://`, "")
		case err != nil:
			r.skip(at, `"url" is not a valid URL`, "")
		case u.Hostname() == "":
			r.skip(at, `"url" has no host`, "")
		}
	}
	s := &r.server
	r.take(
		member{"oauth", storeIn(&s.OAuth, r.oauth)},
		member{"tls", storeIn(&s.TLS, r.tls)},
		member{"forwardHeaders", func(field string, v *hujson.Value) {
			s.Forward.Headers = listOf(&r.findings, "a list of headers", field, v, r.forwarded)
		}},
		member{"authorization", func(field string, v *hujson.Value) {
			s.Forward.Authorization = r.oneOf("forward")(field, v) != ""
		}},
	)
	if v := r.fields["oauth"]; s.Forward.Authorization {
		if v != nil && !s.OAuth.Off {
			r.note(v.StartOffset, `"oauth" is not used, because "authorization" is "forward"`, "remove one of the two")
		}
		s.OAuth = config.OAuth{Off: true}
	}
	if r.reached == config.KindSSE {
		r.server.Transport = config.SSE{URL: to, Headers: headers}
		return
	}
	r.server.Transport = config.HTTP{URL: to, Headers: headers}
}

// setHeaderReason returns why a row cannot set a header, or "".
func setHeaderReason(name string) string {
	if !strings.EqualFold(name, "Host") && !strings.EqualFold(name, "Accept-Encoding") && protocol.ReservedHeader(name) {
		return "indus sets this header"
	}
	return headerNameReason(name)
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
