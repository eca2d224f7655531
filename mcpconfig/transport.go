package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// transport fills in how the row's server is reached.
func (r *reading) transport() {
	declared, ok := r.declared()
	if !ok {
		return
	}
	hasURL, hasCommand := r.has("url"), r.has("command")
	switch {
	case hasURL && hasCommand && declared == interop.KindStdio:
		r.unused(`the row has both "url" and "command"; by its transport it is a command, and`, append([]string{"url"}, remoteKeys()...)...)
		r.stdio()
	case hasURL && hasCommand:
		r.unused(`the row has both "url" and "command"; it is a url, and`, "command", "args", "env", "envFile", "cwd", "inheritEnv", "instances")
		r.remote(declared)
	case hasURL && declared == interop.KindStdio:
		r.skip(r.at, `transport "stdio" needs a "command", and the row has a "url"`, `remove "transport"`)
	case hasCommand && declared != "" && declared != interop.KindStdio:
		r.skip(r.at, fmt.Sprintf(`transport %q needs a "url", and the row has a "command"`, declared), `remove "transport"`)
	case hasURL:
		r.unused("a server with a url is not started, so", "args", "env", "envFile", "cwd", "inheritEnv", "instances")
		r.remote(declared)
	case hasCommand:
		r.unused("a server with a command is not called over HTTP, so", remoteKeys()...)
		r.stdio()
	case r.fields["command"] != nil:
		r.skip(r.fields["command"].StartOffset, `"command" is empty`, "")
	case r.fields["url"] != nil:
		r.skip(r.fields["url"].StartOffset, `"url" is empty`, "")
	default:
		r.skip(r.at, `the row has neither "url" nor "command"`, "")
	}
}

// declared is the transport that the row names; "" where it names none.
func (r *reading) declared() (interop.TransportKind, bool) {
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
	name, ok := r.literal(v, field)
	if !ok {
		return "", false
	}
	kind, ok := kindNamed(name)
	if !ok {
		r.skip(v.StartOffset, "unknown "+field+" "+tree.Quote(name), "try stdio, http (or streamable-http) or sse")
	}
	return kind, ok
}

func kindNamed(name string) (kind interop.TransportKind, ok bool) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "stdio":
		return interop.KindStdio, true
	case "sse":
		return interop.KindSSE, true
	case "http", "streamablehttp":
		return interop.KindHTTP, true
	}
	return "", false
}

// has reports whether a field is there; "" is as good as absent, because forms write it.
func (r *reading) has(field string) bool {
	v := r.fields[field]
	return v != nil && (v.Value.Kind() != '"' || tree.Text(*v) != "")
}

// unused notes, in one sentence that begins with why, which of the fields do nothing.
func (r *reading) unused(why string, fields ...string) {
	var there []string
	at := r.at
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
		r.note(at, why+" "+there[0]+" is not used", "")
	default:
		r.note(at, why+" "+strings.Join(there[:n-1], ", ")+" and "+there[n-1]+" are not used", "")
	}
}
