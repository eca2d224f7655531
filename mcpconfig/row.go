package mcpconfig

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

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
