package ledger

import (
	"bytes"
	"cmp"
	"time"
)

// Op says what an [Entry] records.
type Op string

// What is recorded. [Reduce] goes by Enroll, Retire and End; it reads over the
// others, and over those of a later version.
const (
	Begin  Op = "begin"  // a run begins; Config is its configuration's fingerprint, Note whose it is
	Enroll Op = "enroll" // a tool is live from now on, or in a new version
	Retire Op = "retire" // it is not any more; Note says why
	Hold   Op = "hold"   // it is listed, and kept back: this version is not approved
	Accept Op = "accept" // a person approved this version of it
	Health Op = "health" // its server was lost, or is back; Note says which
	Reload Op = "reload" // the run goes on with another configuration; Config is its fingerprint
	End    Op = "end"    // the run is over: nothing of it is live
	// Reset: the log before this entry was removed, and with it what was approved. From here on no tool counts as
	// approved because it is listed for the first time.
	Reset Op = "reset"
	// Archive: the entries before this one are in a file of their own. This one, the first of its file, holds those on
	// which the present depends, and Log.Read returns them in its place.
	Archive Op = "archive"
	// Describe: what a server says of itself and lists beside its tools; Capability.Wire has it, as
	// [Attachment.Describe] was given it.
	Describe Op = "describe"
)

// hasObject reports whether entries have a tool object, or a description.
func (o Op) hasObject() bool { return o == Enroll || o == Hold || o == Describe }

// Entry is one event of the log. Entries are immutable, and so is what they point to.
type Entry struct {
	Op  Op
	Key Key
	// Server and Tool are the owner's id and its own name for the tool; Name is what
	// the tool is mounted as.
	Server, Tool, Name string
	// Capability is the tool, of an Enroll or a Hold, or the description of a server; nil of all others, and where
	// the log has kept no more than Sum of it.
	Capability *Capability
	// Seq orders the log: 1, 2, 3, … A later entry of a key stands.
	Seq uint64
	// At is when it happened, by the clock of who wrote it, to the millisecond.
	At time.Time
	// Run is the ULID of the run that wrote it, "" where there is no more than one.
	Run string
	// Config is the [Fingerprint] of the server, or in a Begin or Reload of all servers.
	Config string
	// Sum is the SHA-256 of the owner's whole tool object: of the bytes as they came, never
	// of a canonical form. Approvals go by it.
	Sum string
	// Changed: this version is not approved. An Enroll is live nevertheless, because the
	// policy accepts changes.
	Changed bool
	// Note is a word to the reader.
	Note string
	// Prev and Hash chain the lines of a [File]; "" in memory.
	Prev, Hash string
}

// Notes of entries that are read again, or shown.
const (
	NoteLost     = "lost"     // the server is gone, its tools may come back
	noteUnlisted = "unlisted" // the server does not list it any more
	noteLeftOut  = "left out" // the configuration leaves it out: interop.ToolRules
	NoteRemoved  = "removed"  // the server is not configured any more
	noteReplaced = "replaced" // it has another schema now
	noteHeld     = "held"     // what it became is kept back
	noteDenied   = "denied"   // so it is, and for the whole run
	noteReady    = "ready"    // the server is back
	noteSome     = "listed to clients that declare a capability"
	noteSeen     = "seen" // of a Describe: by a command, which enrolls nothing
	noteReset    = "the ledger before this was removed: its approvals are not known"
)

// order is total but for entries that say the same, so that what is made of a log
// does not depend on the order in which it is given, not even of a broken one that
// has a number twice.
func (e Entry) order(o Entry) int {
	if e.Seq != o.Seq {
		return cmp.Compare(e.Seq, o.Seq)
	}
	return bytes.Compare(newRecord(e).appendLine(nil), newRecord(o).appendLine(nil))
}
