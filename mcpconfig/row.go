package mcpconfig

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// State is the outcome of reading a row.
type State string

// The states of a row.
const (
	// Active rows may start.
	Active State = "active"
	// Held rows wait for approval. They are in a project's file that was discovered, or take something from the
	// project. They were never approved, or have changed since. Until then another row with that id may be active: a
	// row that waits removes no server of the user.
	Held State = "held"
	// Disabled rows are switched off by their own keys.
	Disabled State = "disabled"
	// Shadowed rows lost their id to a row of a file, or of a place in a file, that takes precedence.
	Shadowed State = "shadowed"
	// Skipped rows cannot be used. Their id goes to the next row that has it. If a ${file:…} or ${cmd:…} failed, the id
	// stays taken, because a locked keyring must not start another server.
	Skipped State = "skipped"
)

// Scope is the kind of place at which a file was found, in order of precedence.
type Scope string

// The scopes. All but [Project] belong to the user, and so need no approval.
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

// Row is one server as a file has it, with its state. Every format of package fmt, and JSON, print it without any value
// of a variable, an environment or a header.
type Row struct {
	// Server is complete if State is [Active], [Held] or [Shadowed]. There are two exceptions: rows with a key that
	// disables them, and ${file:…} and ${cmd:…} of rows that do not start, which are not replaced. Otherwise it has
	// only the id, which may be "" if the row is [Skipped].
	Server config.Server
	// Kind is the kind of transport. It is "" if the row does not have it.
	Kind config.TransportKind
	// Target is the command line, or the URL without user, query and fragment, as the file has it. Variables are not
	// replaced. All variables of a URL are shown, because they decide where it leads, which data is sent and which
	// commands run. Text that looks like a credential is replaced with "<secret>". Target is safe to print on a
	// terminal.
	Target string
	// File and Line are the position at which the row begins.
	File string
	Line int
	// Scope is the scope of the file.
	Scope Scope
	// State is the state of the row.
	State State
	// Reason and Hint are why State is not [Active], and the remedy. They are "" if it is.
	Reason, Hint string
	// Approval is the fingerprint that [Approve] stores. It is "" if the row needs no approval or is [Skipped]. For a
	// disabled row it covers only that it hides other rows.
	Approval string
	// Project is the directory for which a row is approved that does not belong to the project. The row takes something
	// from there, such as the directory in which it starts. It is "" if the row takes nothing.
	Project string
	// Files are the files of the project that the row names. An approval covers their content.
	Files []RowFile
}

// Sandbox returns the sandbox of a server that is a command. It is nil if the server has none.
func (r Row) Sandbox() *config.Sandbox {
	t, _ := r.Server.Transport.(config.Stdio)
	return t.Sandbox
}

// Pinned reports whether an approval of the row covers the value of a ${cmd:…} or ${file:…}: see [Config.Resolve]. A
// reading with Options.Dry cannot detect a change of that value.
func (r Row) Pinned() bool { return strings.HasSuffix(r.Approval, pinSeparator) }

// String returns one line: id, state, kind, target.
func (r Row) String() string {
	return fmt.Sprintf("%s (%s) %s %s", tree.Quote(r.Server.ID), r.State, r.Kind, r.Target)
}

// Format prints [Row.String] for every verb, so that no verb prints the server's values.
func (r Row) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// MarshalJSON writes id, transport, target, file, line, scope, state, reason and hint.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string               `json:"id"`
		Transport config.TransportKind `json:"transport,omitempty"`
		Target    string               `json:"target,omitempty"`
		File      string               `json:"file"`
		Line      int                  `json:"line"`
		Scope     Scope                `json:"scope"`
		State     State                `json:"state"`
		Reason    string               `json:"reason,omitempty"`
		Hint      string               `json:"hint,omitempty"`
	}{r.Server.ID, r.Kind, r.Target, r.File, r.Line, r.Scope, r.State, r.Reason, r.Hint})
}

// RowFile is a file or a value that an approval covers by its content. It is a file of the project that a row names, or
// the file of authorities of a project's row. After [Config.Resolve] it can also be a fetched value.
type RowFile struct {
	// Path is absolute, or "${cmd:…}" for the output of a command.
	Path string `json:"path"`
	// Text is the content. For a certificate, a key or a file outside of the project it is a digest.
	Text string `json:"text"`
	// Wrong is why the file cannot be read. It is "" if it can.
	Wrong string `json:"wrong,omitempty"`
}

// pinSeparator is between the fingerprint of the written row and the fingerprint of the fetched values.
const pinSeparator = "."

// Approved is a row that a person approved.
type Approved struct {
	// File is the absolute path, with its symbolic links resolved.
	File string `json:"file"`
	// ID is the id of the row.
	ID string `json:"id"`
	// Project is the [Row.Project]. It is "" for a row of the project's own file.
	Project string `json:"project,omitempty"`
	// Fingerprint is the [Row.Approval] of the row when it was approved.
	Fingerprint string `json:"fingerprint"`
	// Sandbox is the [Row.Sandbox] of the row when it was approved. A narrower one needs no new approval. It is nil if
	// the row had none.
	Sandbox *config.Sandbox `json:"sandbox,omitempty"`
	// At is the time of the approval, in UTC.
	At time.Time `json:"at"`
}
