package chain

import (
	"fmt"
	"slices"
)

// Damage is a defect of a log. Reading continues after it.
type Damage struct {
	Kind string `json:"kind"` // [Torn], [Missing], [Altered], [Reordered] or [Unreadable]
	// File is the name of the damaged archive. "" means the log itself.
	File string `json:"file,omitempty"`
	// Line counts from 1, and Offset is the offset at which it begins in the file.
	Line   int   `json:"line"`
	Offset int64 `json:"offset"`
	// Seq is the first entry that is affected, or 0 if it is unknown. Last is the last one.
	Seq  uint64 `json:"seq,omitempty"`
	Last uint64 `json:"last,omitempty"`
	Why  string `json:"why"`
}

// These are the kinds of damage.
const (
	Torn       = "torn"       // the writer was cut off; no stored entry is affected
	Missing    = "missing"    // entries were removed
	Altered    = "altered"    // a line was changed after it was written
	Reordered  = "reordered"  // an entry is in another place
	Unreadable = "unreadable" // a line is not an entry
)

func (d Damage) String() string {
	s := fmt.Sprintf("line %d: %s", d.Line, d.Kind)
	if d.File != "" {
		s = d.File + ", " + s
	}
	switch {
	case d.Last > d.Seq:
		s += fmt.Sprintf(" (entries %d to %d)", d.Seq, d.Last)
	case d.Seq > 0:
		s += fmt.Sprintf(" (entry %d)", d.Seq)
	}
	return s + ": " + d.Why
}

// Intact reports whether no entry is damaged. A torn line is none.
func Intact(damage []Damage) bool {
	return !slices.ContainsFunc(damage, func(d Damage) bool { return d.Kind != Torn })
}

// Head is the end of a log. With a copy kept elsewhere, a later check shows that everything before it is still there.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}
