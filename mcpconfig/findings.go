package mcpconfig

import "fmt"

// maxNotes bounds the notes on one row, because half a million mistakes fit into a file.
const maxNotes = 100

// problem is a mistake in a part of a file, or advice about it.
type problem struct {
	at           int
	server       string // the id of the row, as far as it is known
	skips        bool   // the part cannot be used
	reason, hint string
}

// findings collects the problems of a row, or of another part of a file that about names.
type findings struct {
	about   string
	server  string
	list    []problem
	total   int // notes so far
	skipped bool
	reason  string // why the part cannot be used
	hint    string
}

// note adds advice. The part is still used.
func (f *findings) note(at int, reason, hint string) {
	f.addLimited(problem{at: at, reason: reason, hint: hint})
}

// skip marks the part as unusable, with the reason. Further mistakes in it are still noted.
func (f *findings) skip(at int, reason, hint string) {
	p := problem{at: at, skips: true, reason: reason, hint: hint}
	if f.skipped {
		f.addLimited(p)
		return
	}
	f.skipped, f.reason, f.hint = true, reason, hint
	p.server = f.server
	f.list = append(f.list, p) // never left out
}

// addLimited adds a problem, unless the part has too many of them.
func (f *findings) addLimited(p problem) {
	f.total++
	p.server = f.server
	if f.total == maxNotes+1 {
		p.reason, p.hint = fmt.Sprintf("more than %d notes; from here on they are left out", maxNotes), ""
	}
	if f.total <= maxNotes+1 {
		f.list = append(f.list, p)
	}
}
