package ledger

import (
	"context"
	"fmt"
)

// Damage is something that is wrong with a log. Reading continues behind it.
type Damage struct {
	Kind DamageKind `json:"kind"`
	// Line counts from 1, and Offset is where it begins in the file.
	Line   int   `json:"line"`
	Offset int64 `json:"offset"`
	// Seq is the first entry that it concerns, 0 where that is not known, and Last
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
	Reordered  DamageKind = "reordered"  // an entry is in another place
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

// Head is the end of a log: who keeps it elsewhere can tell later whether everything
// before it is still there.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Report is what [File.Verify] found.
type Report struct {
	Entries int      `json:"entries"`
	Head    Head     `json:"head"`
	Damage  []Damage `json:"damage"` // in the order of the file; empty: the log is intact
}

// Verify reads the whole log and says which lines are not as they were written:
// altered, missing, out of order, unreadable. The chain shows it, because each entry
// has the hash of the one before it; and the checkpoint, if there is one, has to be what
// the log comes to. What nothing follows, the last lines, can be taken away unnoticed, and
// who may write the file can write all of it anew: so Verify also checks that the
// heads it is given, which somebody has kept, are in the log.
//
// The error is that of reading; damage is none.
func (f *File) Verify(ctx context.Context, kept ...Head) (*Report, error) {
	file, of, err := f.openToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, r := newScan(), &Report{}
	hashes, heads := map[uint64]bool{}, map[Head]bool{}
	each := func(e *record, _ []byte) {
		r.Entries++
		if e.Op == Reset {
			s.report(Missing, 0, 0, noteReset)
		}
		hashes[e.Seq] = true
		heads[Head{e.Seq, e.Hash}] = true
		if e.Seq >= r.Head.Seq {
			r.Head = Head{e.Seq, e.Hash}
		}
	}
	if err := f.verifyCheckpoint(ctx, file, s, each); err != nil {
		return nil, err
	}
	s.each = each
	if err := s.section(ctx, file, of.Size()); err != nil {
		return nil, err
	}
	s.line++
	for _, h := range kept {
		switch {
		case h.Seq == 0 || heads[h]:
		case hashes[h.Seq]:
			s.report(Altered, h.Seq, 0, "it is not the entry whose head was kept")
		default:
			s.report(Missing, h.Seq, 0, "the entry whose head was kept is not there")
		}
	}
	r.Damage = findReordered(s.damage, hashes)
	return r, nil
}

// findReordered calls out of order what is not missing but elsewhere.
func findReordered(damage []Damage, there map[uint64]bool) []Damage {
	for i, d := range damage {
		if d.Kind != Missing || d.Last-d.Seq >= uint64(len(there)) {
			continue
		}
		all := true
		for seq := d.Seq; seq <= d.Last; seq++ {
			all = all && there[seq]
		}
		if all {
			damage[i].Kind, damage[i].Why = Reordered, "what belongs before it is elsewhere"
		}
	}
	return damage
}
