package ledger

import "context"

// Log keeps entries beyond the life of a process, and for several processes at
// once. [File] is one.
//
// Users may call both methods from any goroutine. Implementers number the entries
// of all writers 1, 2, 3, … in the order in which they are kept.
type Log interface {
	// Append keeps these entries, all of them or, with an error, none that a reader
	// could take for kept; they follow each other with nobody else's between. Once
	// it returns they survive the end of the process and of the machine. It returns
	// them as they were kept, with Seq, Hash and Prev, and with At where that was
	// zero.
	Append(ctx context.Context, entries ...Entry) ([]Entry, error)
	// Read returns what is kept after a Seq, in order. After 0 it returns at least all entries on which the present
	// depends: what is approved, known and live. Damaged entries are left out.
	Read(ctx context.Context, after uint64) ([]Entry, error)
}
