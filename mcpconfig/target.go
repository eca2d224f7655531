package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxTarget bounds what a hostile file can put on a terminal.
const maxTarget = 4096

// describe fills in Kind and Target from what the file says, before anything is
// checked or replaced, so that rows which do not start have them too.
func (r *reading) describe() {
	declared := interop.KindHTTP
	for _, field := range []string{"type", "transport"} {
		if v := r.fields[field]; v != nil {
			declared, _ = kindNamed(tree.Text(*v))
		}
	}
	switch {
	case r.has("command") && (declared == interop.KindStdio || !r.has("url")):
		r.Kind, r.Target = interop.KindStdio, r.commandLine()
	case r.has("url"):
		r.Kind = interop.KindHTTP
		if url := tree.Text(*r.fields["url"]); url != "" { // else the row will be skipped
			r.Target = tree.QuoteWord(secret.Target(url))
		}
		if declared == interop.KindSSE {
			r.Kind = interop.KindSSE
		}
	}
	if n := len(r.Target); n > maxTarget {
		r.Target = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(r.Target[:maxTarget], ""), n)
	}
}

func (r *reading) commandLine() string {
	command := tree.Text(*r.fields["command"])
	if command == "" { // no string: the row will be skipped
		return ""
	}
	words := []string{command}
	for _, e := range tree.Elements(r.fields["args"]) {
		if l, ok := e.Value.(hujson.Literal); ok && l.Kind() != 'n' {
			words = append(words, l.String())
		}
	}
	for i, w := range secret.Args(words) {
		words[i] = tree.QuoteWord(w)
	}
	return strings.Join(words, " ")
}
