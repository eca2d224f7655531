package ledger

import "context"

// Head is the end of a log: who keeps it elsewhere can tell later whether all that
// stood before it is still there.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Report is what [File.Verify] found.
type Report struct {
	Entries int      `json:"entries"`
	Head    Head     `json:"head"`
	Damage  []Damage `json:"damage"` // in the order of the file; empty: the log is whole
}

// Verify reads the whole log and says which lines are not as they were written:
// altered, missing, out of order, unreadable. The chain tells, because each entry
// has the hash of the one before it. What nothing stands behind, the last lines, can
// be taken away unseen, and who may write the file can write all of it anew: so
// Verify also checks that the heads it is given, which somebody has kept, are in
// the log.
//
// The error is that of reading; damage is none.
func (f *File) Verify(ctx context.Context, kept ...Head) (*Report, error) {
	s, r := newScan(), &Report{}
	seqs, hashes := map[uint64]bool{}, map[Head]bool{}
	s.each = func(e Entry, _ []byte) {
		r.Entries++
		seqs[e.Seq] = true
		hashes[Head{e.Seq, e.Hash}] = true
		if e.Seq >= r.Head.Seq {
			r.Head = Head{e.Seq, e.Hash}
		}
	}
	if _, err := f.scan(ctx, s); err != nil {
		return nil, err
	}
	for _, h := range kept {
		if h.Seq == 0 || hashes[h] {
			continue
		}
		s.line++
		if seqs[h.Seq] {
			s.report(Altered, h.Seq, 0, "it is not the entry whose head was kept")
		} else {
			s.report(Missing, h.Seq, 0, "the entry whose head was kept is not there")
		}
		s.line--
	}
	r.Damage = moved(s.damage, seqs)
	return r, nil
}

// moved calls out of order what is not missing but stands elsewhere.
func moved(damage []Damage, there map[uint64]bool) []Damage {
	for i, d := range damage {
		if d.Kind != Missing || d.Last-d.Seq >= uint64(len(there)) {
			continue
		}
		all := true
		for seq := d.Seq; seq <= d.Last; seq++ {
			all = all && there[seq]
		}
		if all {
			damage[i].Kind, damage[i].Why = Reordered, "what belongs before it stands elsewhere"
		}
	}
	return damage
}
