package mcpconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// newTypedRow reads the fields of a row that have no variables, in the order in which mistakes are reported. changes is
// the policy of the file for changed tools, or nil.
func newTypedRow(raw *rawRow, changes *hujson.Value) *typedRow {
	r := &typedRow{rawRow: raw}
	if raw.key != nil {
		r.setID(tree.Text(*raw.key))
	}
	if !tree.Has(raw.v, '{') {
		r.skip(raw.v.StartOffset, "the row is "+tree.KindOf(raw.v.Value)+" where an object is expected", "")
		return r
	}
	r.readID(raw.key != nil)
	r.kind, r.target = raw.describe()
	enabled, present := r.flag("enabled")
	disabled, _ := r.flag("disabled")
	if present && enabled && disabled {
		r.note(r.fields["enabled"].StartOffset, `the row is both "enabled" and "disabled"; it is disabled`,
			"remove one of the two")
	}
	if r.disabled = disabled || present && !enabled; r.disabled {
		return r
	}
	r.noteUnknown()
	s := &r.server
	if on, present := r.flag("lazy"); present { // otherwise the program that mounts the server decides
		s.Lazy = &on
	}
	s.Pool = r.pool()
	r.take(
		member{"era", storeIn(&s.Era, r.era)}, member{"timeout", storeIn(&s.Timeouts, r.timeouts)},
		member{"idle", storeIn(&s.Idle, r.bound)}, member{"tools", storeIn(&s.Tools, r.rules)},
		member{"profile", storeIn(&s.Profile, r.profile)},
	)
	s.Changes = r.policy(changes)
	r.reached = r.transport()
	return r
}

// noteUnknown notes the names that have no effect.
func (r *typedRow) noteUnknown() {
	for _, v := range r.duplicates {
		if name := tree.Text(*v); name == "tools" || name == "sandbox" { // leaving a rule out would admit more
			r.skip(v.StartOffset, fmt.Sprintf("%q comes twice in this row", name), "make one of the two")
		} else {
			r.note(v.StartOffset, tree.Quote(tree.Text(*v))+" comes again in this row; the last counts", "")
		}
	}
	for _, v := range r.extra[:min(len(r.extra), maxNotes+1)] {
		name, hint, report := tree.Text(*v), "", r.note
		suggested := fields.IntendedKey(name)
		if suggested != "" {
			hint = fmt.Sprintf("did you mean %q?", suggested)
		}
		if suggested == "sandbox" { // the server would start without one
			report = r.skip
		}
		report(v.StartOffset, "unknown key "+tree.Quote(name), hint)
	}
}

// readID finds the row's id: the key, else id, else name.
func (r *typedRow) readID(keyed bool) {
	for _, field := range []string{"id", "name"} {
		v := r.fields[field]
		if v == nil {
			continue
		}
		id, ok := r.literal(field, v)
		switch {
		case !ok:
		case keyed && id != r.id:
			r.note(v.StartOffset, fmt.Sprintf("%q is not used, because the row's key is its id", field), "")
		case r.id == "":
			r.setID(id)
		case id != r.id:
			r.note(v.StartOffset, fmt.Sprintf("%q is not used, because the row has an \"id\"", field), "")
		}
	}
	if strings.TrimSpace(r.id) == "" && !r.skipped {
		hint := `add "name": "…"`
		if keyed {
			hint = fmt.Sprintf("write its name in the place of %q", r.id)
		}
		r.skip(r.at, "the row has no name", hint)
	}
}

// transport returns how the row's server is reached, or "" if that cannot be read.
func (r *typedRow) transport() config.TransportKind {
	declared, ok := r.declared()
	if !ok {
		return ""
	}
	hasURL, hasCommand := r.isSet("url"), r.isSet("command")
	if v := r.fields["sandbox"]; v != nil && hasURL && declared != config.KindStdio {
		r.skip(v.StartOffset, `"sandbox" is only for a command, and the row has a "url"`, "remove it")
		delete(r.fields, "sandbox")
	}
	switch {
	case hasURL && hasCommand && declared == config.KindStdio:
		reason := `the row has both "url" and "command"; by its transport it is a command, and`
		r.remarkUnused(reason, append([]string{"url"}, keysOf(fields.Remote)...)...)
		return config.KindStdio
	case hasURL && hasCommand:
		r.remarkUnused(`the row has both "url" and "command"; it is a url, and`,
			append([]string{"command"}, keysOf(fields.Process)...)...)
		return remoteKind(declared)
	case hasURL && declared == config.KindStdio:
		r.skip(r.at, `transport "stdio" needs a "command", and the row has a "url"`, `remove "transport"`)
	case hasCommand && declared != "" && declared != config.KindStdio:
		r.skip(r.at, fmt.Sprintf(`transport %q needs a "url", and the row has a "command"`, declared),
			`remove "transport"`)
	case hasURL:
		r.remarkUnused("a server with a url is not started, so", keysOf(fields.Process)...)
		return remoteKind(declared)
	case hasCommand:
		r.remarkUnused("a server with a command is not called over HTTP, so", keysOf(fields.Remote)...)
		return config.KindStdio
	case r.fields["command"] != nil:
		r.skip(r.fields["command"].StartOffset, `"command" is empty`, "")
	case r.fields["url"] != nil:
		r.skip(r.fields["url"].StartOffset, `"url" is empty`, "")
	default:
		r.skip(r.at, `the row has neither "url" nor "command"`, "")
	}
	return ""
}

// remoteKind returns the kind of a server at a URL. It is HTTP, which falls back to SSE, unless the row declares SSE.
func remoteKind(declared config.TransportKind) config.TransportKind {
	if declared == config.KindSSE {
		return config.KindSSE
	}
	return config.KindHTTP
}

// declared returns the transport that the row names, or "" if it names none.
func (r *typedRow) declared() (config.TransportKind, bool) {
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

// keysOf returns the keys of a server that is a child process, or of a server at a URL.
func keysOf(side fields.Side) []string {
	return fields.RowNames(func(f fields.Field) bool { return f.Side == side })
}
