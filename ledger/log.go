package ledger

import "context"

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
