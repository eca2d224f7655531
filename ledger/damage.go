package ledger

import "fmt"

// Damage is something that is wrong with a log. Reading goes on behind it.
type Damage struct {
	Kind DamageKind `json:"kind"`
	// Line counts from 1, and Offset is where it begins in the file.
	Line   int   `json:"line"`
	Offset int64 `json:"offset"`
	// Seq is the first entry that it concerns, 0 where that cannot be told, and Last
	// the last one.
	Seq  uint64 `json:"seq,omitempty"`
	Last uint64 `json:"last,omitempty"`
	Why  string `json:"why"`
}

// DamageKind says what happened to a log.
type DamageKind string

// What happens to logs.
const (
	Torn       DamageKind = "torn"       // its writer was cut off: no entry that was kept
	Altered    DamageKind = "altered"    // a line does not say what was written
	Missing    DamageKind = "missing"    // entries were taken out
	Reordered  DamageKind = "reordered"  // an entry stands in another place
	Unreadable DamageKind = "unreadable" // a line is no entry at all
)

func (d Damage) String() string {
	s := fmt.Sprintf("line %d: %s", d.Line, d.Kind)
	switch {
	case d.Last > d.Seq:
		s += fmt.Sprintf(" (entries %d to %d)", d.Seq, d.Last)
	case d.Seq > 0:
		s += fmt.Sprintf(" (entry %d)", d.Seq)
	}
	return s + ": " + d.Why
}
