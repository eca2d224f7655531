package mcpconfig

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// keysOf returns the keys of a server that is a child process, or of a server at a URL.
func keysOf(side fields.Side) []string {
	return fields.RowNames(func(f fields.Field) bool { return f.Side == side })
}

// transport reads how the row's server is reached.
func (r *reading) transport() {
	declared, ok := r.declared()
	if !ok {
		return
	}
	hasURL, hasCommand := r.isSet("url"), r.isSet("command")
	switch {
	case hasURL && hasCommand && declared == config.KindStdio:
		reason := `the row has both "url" and "command"; by its transport it is a command, and`
		r.remarkUnused(reason, append([]string{"url"}, keysOf(fields.Remote)...)...)
		r.stdio()
	case hasURL && hasCommand:
		r.remarkUnused(`the row has both "url" and "command"; it is a url, and`,
			append([]string{"command"}, keysOf(fields.Process)...)...)
		r.remote(declared)
	case hasURL && declared == config.KindStdio:
		r.skip(r.offset, `transport "stdio" needs a "command", and the row has a "url"`, `remove "transport"`)
	case hasCommand && declared != "" && declared != config.KindStdio:
		r.skip(r.offset, fmt.Sprintf(`transport %q needs a "url", and the row has a "command"`, declared),
			`remove "transport"`)
	case hasURL:
		r.remarkUnused("a server with a url is not started, so", keysOf(fields.Process)...)
		r.remote(declared)
	case hasCommand:
		r.remarkUnused("a server with a command is not called over HTTP, so", keysOf(fields.Remote)...)
		r.stdio()
	case r.fields["command"] != nil:
		r.skip(r.fields["command"].StartOffset, `"command" is empty`, "")
	case r.fields["url"] != nil:
		r.skip(r.fields["url"].StartOffset, `"url" is empty`, "")
	default:
		r.skip(r.offset, `the row has neither "url" nor "command"`, "")
	}
}

// declared returns the transport that the row names, or "" if it names none.
func (r *reading) declared() (config.TransportKind, bool) {
	field := "transport"
	v, other := r.fields["transport"], r.fields["type"]
	switch {
	case v == nil && other == nil:
		return "", true
	case v == nil:
		field, v = "type", other
	case other != nil && tree.Text(*v) != tree.Text(*other):
		r.note(other.StartOffset, `"type" is not used, because the row has a "transport"`, "")
	}
	name, ok := r.literal(field, v)
	if !ok {
		return "", false
	}
	kind, ok := kindNamed(name)
	if !ok {
		r.skip(v.StartOffset, "unknown "+field+" "+tree.Quote(name), "try stdio, http (or streamable-http) or sse")
	}
	return kind, ok
}

func kindNamed(name string) (kind config.TransportKind, ok bool) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "stdio":
		return config.KindStdio, true
	case "sse":
		return config.KindSSE, true
	case "http", "streamablehttp":
		return config.KindHTTP, true
	}
	return "", false
}

// isSet reports whether a field is present. "" counts as absent, because forms write it.
func (r *reading) isSet(field string) bool {
	v := r.fields[field]
	return v != nil && (v.Value.Kind() != '"' || tree.Text(*v) != "")
}

// remarkUnused notes the fields that have no effect, in one sentence that begins with reason.
func (r *reading) remarkUnused(reason string, fields ...string) {
	var there []string
	at := r.offset
	for _, f := range fields {
		if v := r.fields[f]; v != nil {
			if there == nil {
				at = v.StartOffset
			}
			there = append(there, f)
		}
	}
	switch n := len(there); n {
	case 0:
	case 1:
		r.note(at, reason+" "+there[0]+" is not used", "")
	default:
		r.note(at, reason+" "+strings.Join(there[:n-1], ", ")+" and "+there[n-1]+" are not used", "")
	}
}

// stdio reads a server that is a child process.
func (r *reading) stdio() {
	s := config.Stdio{Path: r.ownPath()}
	r.take(
		member{"command", storeIn(&s.Command, r.text)}, member{"args", storeIn(&s.Args, r.texts)},
		member{"env", storeIn(&s.Env, r.pairs(badVariable))},
	)
	at, pending := r.fields["command"].StartOffset, r.pending[s.Command]
	typed := s
	s.Command = r.tilde(s.Command)
	s.InheritEnv, _ = r.flag("inheritEnv")
	if s.InheritEnv {
		s.Without = KeyVariables(nil)
	}
	s.Dir, s.Fresh = r.dir()
	if s.Fresh {
		r.noteRelativePaths(s.Command, pending)
	}
	if r.scope != Project { // in another project, a project's own row is another server
		r.Server.Identity = r.identityOf(s)
	}
	s.Env = append(r.envFile(s), s.Env...)
	if strings.TrimSpace(s.Command) == "" && r.State == Active {
		r.skip(at, `"command" is empty`, "")
	}
	r.noteCommandLine(typed)
	r.Server.Transport, r.Kind = s, config.KindStdio
}

// identityOf returns a server's command, directory and arguments, without parts that depend only on the directory in
// which indus runs.
func (r *reading) identityOf(s config.Stdio) (parts []config.Secret) {
	list := append([]string{s.Command, s.Dir}, s.Args...)
	if r.fields["cwd"] == nil {
		list[1] = ""
	}
	for _, text := range list {
		if raw, ok := r.workspaceTexts[text]; ok {
			text = raw
		}
		parts = append(parts, config.NewSecret(text))
	}
	return parts
}

func badVariable(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "no variable can have this name"
	}
	return ""
}

// remote reads a server at a URL.
func (r *reading) remote(declared config.TransportKind) {
	var address string
	var headers []config.Pair
	r.take(member{"url", storeIn(&address, r.text)}, member{"headers", storeIn(&headers, r.pairs(setHeaderReason))})
	pending := r.pending[address]
	address = strings.TrimSpace(address)
	for i, h := range headers {
		// A line break at the end comes from a variable that was read from a file.
		text := strings.TrimSpace(h.Value.Reveal())
		headers[i].Value = config.NewSecret(text)
		if !r.pending[h.Value.Reveal()] && strings.ContainsFunc(text, isControl) {
			r.skip(r.fields["headers"].StartOffset, "headers "+tree.Quote(h.Name)+" holds a line break or control character", "")
		}
		if strings.EqualFold(h.Name, "Accept-Encoding") && !r.pending[h.Value.Reveal()] && !httpconn.Readable(text) {
			r.note(r.fields["headers"].StartOffset, "headers "+tree.Quote(h.Name)+
				" is left out: indus reads only gzip, deflate and identity", "")
		}
	}
	if r.State == Active && !pending {
		r.checkURL(address)
	}
	r.signIn()
	if declared == config.KindSSE {
		r.Server.Transport, r.Kind = config.SSE{URL: address, Headers: headers}, config.KindSSE
		return
	}
	r.Server.Transport, r.Kind = config.HTTP{URL: address, Headers: headers}, config.KindHTTP
}

// checkURL checks a URL. Its notes show no part of the URL, because URLs often contain a key.
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
