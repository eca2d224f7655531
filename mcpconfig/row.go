package mcpconfig

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// State is what becomes of a row.
type State string

// The states of a row.
const (
	// Active rows may start.
	Active State = "active"
	// Held rows are in a project's file that was discovered, or take something from the project, and are not approved, or
	// not as they are now. Until then another row of that id may be active: a row that waits
	// takes no server of the user's away.
	Held State = "held"
	// Disabled rows say so themselves.
	Disabled State = "disabled"
	// Shadowed rows lost their id to a row of a file, or of a place in it, that goes first.
	Shadowed State = "shadowed"
	// Skipped rows cannot be used; their id goes to the next row that has it, unless a
	// ${file:…} or ${cmd:…} failed: a locked keyring must not start another server.
	Skipped State = "skipped"
)

// Scope is where a file was found, in order of precedence.
type Scope string

// The scopes. All but [Project] are the user's own, and so approved.
const (
	// Explicit is a file that was named.
	Explicit Scope = "file"
	// Project is .indusvx/mcp.json in the directory that is searched.
	Project Scope = "project"
	// User is indusvx/mcp.json in $XDG_CONFIG_HOME, or else in ~/.config.
	User Scope = "user"
	// Legacy is ~/.indusvx/agent/mcp.json.
	Legacy Scope = "legacy"
	// LegacyAlt is ~/.indusvx/agent/mcp-servers.json.
	LegacyAlt Scope = "legacy-alt"
)

// Row is one server as a file has it, and what becomes of it. It prints, in every
// format of package fmt and as JSON, without any value of a variable, an
// environment or a header.
type Row struct {
	// Server is complete where State is [Active], [Held] or [Shadowed], but for rows that
	// say that they are disabled, and for the ${file:…} and ${cmd:…} of rows that do not
	// start, which are in it as they are.
	// Otherwise it has the id alone, which of a [Skipped] row may be "".
	Server interop.Server
	// Kind of transport; "" where the row does not say.
	Kind interop.TransportKind
	// Target is the command line, or the URL without user, query and fragment, as
	// the file writes it: variables are not replaced, and those of a URL all stay, for
	// they say where it leads, what is sent along and what runs. What looks like a
	// credential is "<secret>". Safe to print on a terminal.
	Target string
	// File and Line are where the row begins.
	File string
	Line int
	// Scope of the file.
	Scope Scope
	// State of the row.
	State State
	// Reason and Hint say why State is not [Active] and what to do; "" where it is.
	Reason, Hint string
	// Approval is the fingerprint of what would run, for [Approve]; "" of rows that need none and of those that are
	// [Skipped]. Of a disabled row it is for hiding others.
	Approval string
	// Project is the directory for which a row that is not the project's own is approved: it takes something from
	// there, such as the directory in which it starts. "" if it takes nothing.
	Project string
	// Files are the files of the project that the row names: an approval covers what they hold.
	Files []RowFile
}

// Pinned reports whether an approval of the row covers what a ${cmd:…} or ${file:…} gives: see [Config.Resolve]. A reading
// with Options.Dry does not know whether that has changed.
func (r Row) Pinned() bool { return strings.HasSuffix(r.Approval, pinSeparator) }

// String is one line: id, state, kind, target.
func (r Row) String() string {
	return fmt.Sprintf("%s (%s) %s %s", tree.Quote(r.Server.ID), r.State, r.Kind, r.Target)
}

// Format prints [Row.String] whatever the verb, so that no verb prints the server's values.
func (r Row) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// MarshalJSON writes id, transport, target, file, line, scope, state, reason and hint.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string                `json:"id"`
		Transport interop.TransportKind `json:"transport,omitempty"`
		Target    string                `json:"target,omitempty"`
		File      string                `json:"file"`
		Line      int                   `json:"line"`
		Scope     Scope                 `json:"scope"`
		State     State                 `json:"state"`
		Reason    string                `json:"reason,omitempty"`
		Hint      string                `json:"hint,omitempty"`
	}{r.Server.ID, r.Kind, r.Target, r.File, r.Line, r.Scope, r.State, r.Reason, r.Hint})
}

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
