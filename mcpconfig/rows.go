package mcpconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// rawRow is one row as the file has it: its members by name, each with its position. Nothing is checked.
type rawRow struct {
	n          int                      // counts the rows of the file from 1
	key, v     *hujson.Value            // key is its name in an object of rows, and nil in a list
	at         int                      // where the row begins
	fields     map[string]*hujson.Value // by name; null is the same as absent
	duplicates []*hujson.Value          // earlier names of keys that occur again in the row
	extra      []*hujson.Value          // unknown names
}

// newRawRow sorts the members of a row by name. If two have one name, the later one counts.
func newRawRow(n int, key, v *hujson.Value) *rawRow {
	r := &rawRow{n: n, key: key, v: v, at: tree.Start(key, v), fields: map[string]*hujson.Value{}}
	if !tree.Has(v, '{') {
		return r
	}
	known, seen := fields.Names(fields.Row()), map[string]*hujson.Value{}
	for name, m := range tree.Members(r.v) {
		if before := seen[name]; before != nil {
			r.duplicates = append(r.duplicates, before)
			delete(r.fields, name)
		}
		seen[name] = &m.Name
		switch {
		case slices.Contains(known, name):
			if m.Value.Value.Kind() != 'n' {
				r.fields[name] = &m.Value
			}
		case !tree.IsComment(name):
			r.extra = append(r.extra, &m.Name)
		}
	}
	return r
}

// isSet reports whether a field is present. "" counts as absent, because forms write it.
func (r *rawRow) isSet(field string) bool {
	v := r.fields[field]
	return v != nil && (v.Value.Kind() != '"' || tree.Text(*v) != "")
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

// maxTarget bounds the text that a hostile file can put on a terminal.
const maxTarget = 4096

// describe returns the kind and the target of a row from the text of the file, before anything is checked or replaced.
// So rows that do not start have them too.
func (r *rawRow) describe() (kind config.TransportKind, target string) {
	declared := config.KindHTTP
	for _, field := range []string{"type", "transport"} {
		if v := r.fields[field]; v != nil {
			declared, _ = kindNamed(tree.Text(*v))
		}
	}
	switch {
	case r.isSet("command") && (declared == config.KindStdio || !r.isSet("url")):
		kind, target = config.KindStdio, r.commandLine()
	case r.isSet("url"):
		kind = config.KindHTTP
		if url := tree.Text(*r.fields["url"]); url != "" { // otherwise the row will be skipped
			target = tree.QuoteWord(secret.Target(url))
		}
		if declared == config.KindSSE {
			kind = config.KindSSE
		}
	}
	if n := len(target); n > maxTarget {
		target = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(target[:maxTarget], ""), n)
	}
	return kind, target
}

func (r *rawRow) commandLine() string {
	command := tree.Text(*r.fields["command"])
	if command == "" { // not a string: the row will be skipped
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
