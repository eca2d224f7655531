package mcpconfig

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/commandline"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// noteCommandLine notes frequent mistakes in a command line. The server may start in spite of them, but it does not
// answer, or not as meant.
func (r *valuedRow) noteCommandLine(written textValue) {
	if r.skipped {
		return
	}
	args := slices.Collect(func(yield func(*hujson.Value) bool) {
		for _, e := range tree.Elements(r.fields["args"]) {
			if tree.Has(e, '"', '0', 't', 'f') && !yield(e) {
				return
			}
		}
	})
	if !written.pending() {
		r.noteCommand(written.text, r.note)
	}
	var words []string
	for _, v := range r.args {
		words = append(words, v.text)
	}
	isKnown := func(i int) bool { return !r.args[i].pending() }
	for _, m := range commandline.Mistakes(written.text, words, isKnown) {
		at := r.fields["command"].StartOffset
		if m.Arg >= 0 && m.Arg < len(args) {
			at = args[m.Arg].StartOffset
		}
		r.note(at, m.Reason, m.Hint)
	}
}

// noteCommand notes a command that is a command line, or that only a shell could read. It reports whether it did.
func (r *valuedRow) noteCommand(command string, note func(offset int, reason, hint string)) bool {
	m, found := commandline.OfCommand(command)
	if found {
		note(r.fields["command"].StartOffset, m.Reason, m.Hint)
	}
	return found
}

// noteControls notes control characters that a backslash of a Windows path has become: "c:\temp" in JSON has a tab.
func (r *valuedRow) noteControls(s string, offset int, field string) {
	name, _, _ := strings.Cut(field, "[")
	name, _, _ = strings.Cut(name, " ")
	if !slices.Contains([]string{"command", "args", "cwd", "url", "env", "envFile"}, name) {
		return
	}
	isPath := name == "command" || name == "cwd" || name == "url" || name == "envFile"
	if kind := commandline.Control(s, isPath); kind != "" {
		r.note(offset, field+" holds "+kind, `write \\ for a backslash`)
	}
}
