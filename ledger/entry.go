package ledger

import (
	"bytes"
	"cmp"
	"context"
	"time"
)

// Op is the kind of event that an [Entry] records.
type Op string

// These are the kinds of events. [Reduce] uses Enroll, Retire and End. It ignores the others, and any kinds that a
// later version adds.
const (
	Begin  Op = "begin"  // a run begins; Config is the fingerprint of its configuration, Note names its user
	Enroll Op = "enroll" // a tool is live from now on, or in a new version
	Retire Op = "retire" // a tool is not live any more; Note gives the reason
	Hold   Op = "hold"   // a tool is listed but held: this version is not approved
	Accept Op = "accept" // a person approved this version of a tool
	Health Op = "health" // a server was lost or is back, see Note
	Reload Op = "reload" // the run goes on with another configuration; Config is its fingerprint
	End    Op = "end"    // the run is over: none of its tools is live
	// Reset records that the log before this entry was removed, and with it the approvals. From here on, a first
	// listing approves no tools.
	Reset Op = "reset"
	// Archive records that the entries before this one are in a file of their own. It is the first entry of its file,
	// and holds the entries that the present depends on. Log.Read returns them in its place.
	Archive Op = "archive"
	// Describe records the description of a server. Capability.Wire has it, as [Attachment.Describe] got it.
	Describe Op = "describe"
)

// hasObject reports whether such entries have a tool object or a description.
func (o Op) hasObject() bool { return o == Enroll || o == Hold || o == Describe }

// Entry is one event of the log. Entries and the values that they point to are immutable.
type Entry struct {
	Op  Op
	Key Key
	// Server is the id of the server, and Tool is the server's own name for the tool. Name is the name under which the
	// tool is mounted.
	Server, Tool, Name string
	// Capability is the tool of an Enroll or a Hold, or the description of a server. It is nil for other entries, and
	// if the log has stored only Sum.
	Capability *Capability
	// Seq orders the log: 1, 2, 3, … The latest entry of a key counts.
	Seq uint64
	// At is the time of the event, by the clock of the writer, to the millisecond.
	At time.Time
	// Run is the ULID of the run that wrote the entry. It is "" if there is only one run.
	Run string
	// Config is the [Fingerprint] of the server. In a Begin or Reload, it is the fingerprint of all servers.
	Config string
	// Sum is the SHA-256 of the server's whole tool object: of the received bytes, never of a canonical form. Approvals
	// are for a version: for a Sum, and for each object that differs from its object only in spaces and in the order of
	// members.
	Sum string
	// Changed reports that this version is not approved. The tool of an Enroll is live nevertheless, because the policy
	// accepts changes.
	Changed bool
	// Note is a remark for the reader.
	Note string
	// Prev and Hash chain the lines of a [File]. They are "" in memory.
	Prev, Hash string
}

// These notes are read by this package, or shown.
const (
	NoteLost     = "lost"     // the server is gone, its tools may come back
	noteUnlisted = "unlisted" // the server does not list the tool any more
	noteExcluded = "left out" // the configuration excludes the tool: config.ToolRules
	NoteRemoved  = "removed"  // the server is not configured any more
	noteReplaced = "replaced" // the tool has another schema now
	noteHeld     = "held"     // the new version is held
	noteDenied   = "denied"   // the new version is denied for the whole run
	noteReady    = "ready"    // the server is back
	noteDeclared = "listed to clients that declare a capability"
	noteSeen     = "seen" // of a Describe by a command, which enrolls nothing
	noteReset    = "the ledger before this was removed: its approvals are not known"
)

// order compares entries. Only entries with equal contents compare as equal. Thus the result for a log does not depend
// on the order of its entries, not even if a broken log has a number twice.
func (e Entry) order(o Entry) int {
	if e.Seq != o.Seq {
		return cmp.Compare(e.Seq, o.Seq)
	}
	return bytes.Compare(newRecord(e).appendLine(nil), newRecord(o).appendLine(nil))
}

// Log stores entries beyond the life of a process, and for several processes at once. [File] is a Log.
//
// Users may call both methods from any goroutine. Implementers number the entries of all writers 1, 2, 3, … in the
// order in which they are stored.
type Log interface {
	// Append stores all of these entries. If it returns an error, it stores none that a reader could take for stored.
	// No entries of other writers stand between them. When it returns, they survive the end of the process and of the
	// machine. It returns the entries as stored: with Seq, Hash and Prev, and with At if that was zero.
	Append(ctx context.Context, entries ...Entry) ([]Entry, error)
	// Read returns the stored entries after a Seq, in order. After 0 it returns at least all entries that the present
	// depends on: approvals, known tools and live tools. Damaged entries are left out.
	Read(ctx context.Context, after uint64) ([]Entry, error)
}
