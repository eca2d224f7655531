package ledger

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
)

// Damage is a defect of a log. Reading continues after it.
type Damage struct {
	Kind string `json:"kind"` // [Torn], [Missing], "altered", "reordered" or "unreadable"
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
	Torn           = "torn"       // the writer was cut off; no stored entry is affected
	Missing        = "missing"    // entries were removed
	altered        = "altered"    // a line was changed after it was written
	reordered      = "reordered"  // an entry is in another place
	unreadableLine = "unreadable" // a line is not an entry
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

// Head is the end of a log. With a copy kept elsewhere, [File.Verify] can check later that everything before it is
// still there.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Report is the result of [File.Verify].
type Report struct {
	Entries int      `json:"entries"`
	Head    Head     `json:"head"`
	Damage  []Damage `json:"damage"` // in the order of the file; empty: the log is intact
}

// Verify reads the whole log with its archives, and reports the lines that are altered, missing, out of order or
// unreadable. The chain shows this, because each entry has the hash of the one before it. Verify also checks that the
// approvals in an Archive entry result from the entries before it. The last lines can be removed unnoticed, because
// nothing follows them. A program that may write the file can also replace all of it. Therefore Verify checks that the
// given heads are in the log.
//
// The error is about reading only. Damage is not an error.
func (f *File) Verify(ctx context.Context, heads ...Head) (*Report, error) {
	v := verifier{scan: newScan(), hashes: map[uint64]bool{}, heads: map[Head]bool{}, approved: newApprovals()}
	v.scan.each = v.addEntry
	v.scan.eachCarried = func(r *record, _ []byte) { v.approved.add(r.Entry) }
	_, missing, err := f.readAll(ctx, v.scan, 0)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		lost := Damage{Kind: Missing, Line: 1, Seq: 1, Last: v.scan.first.Seq - 1, Why: "the archive is not there"}
		lost.File = filepath.Base(missing)
		v.scan.damage = append([]Damage{lost}, v.scan.damage...)
	}
	v.scan.line++
	v.checkHeads(heads)
	v.report.Damage = findReordered(v.scan.damage, v.hashes)
	return &v.report, nil
}

// verifier is one reading of the whole log.
type verifier struct {
	scan     *scan
	report   Report
	hashes   map[uint64]bool
	heads    map[Head]bool
	approved approvals // the result of the entries so far
}

func (v *verifier) addEntry(e *record, _ []byte) {
	v.report.Entries++
	switch {
	case e.Op == Reset:
		v.scan.report(Missing, 0, 0, noteReset)
	case e.Op == Archive && len(v.scan.damage) == 0 && !v.approvalsMatch(e):
		v.scan.report(altered, e.Seq, 0, "what it holds as approved is not what the entries before it come to")
	}
	v.approved.add(e.Entry)
	v.hashes[e.Seq] = true
	v.heads[Head{e.Seq, e.Hash}] = true
	if e.Seq >= v.report.Head.Seq {
		v.report.Head = Head{e.Seq, e.Hash}
	}
}

// approvalsMatch reports whether an Archive entry holds the approvals of the entries before it.
func (v *verifier) approvalsMatch(e *record) bool {
	held := newApprovals()
	for _, line := range e.archivedLines() {
		if r, err := readLine(line, v.scan.text); err == nil {
			held.add(r.Entry)
		}
	}
	return maps.Equal(held.sums, v.approved.sums) && maps.Equal(held.enrolled, v.approved.enrolled)
}

// checkHeads checks that the heads are in the log.
func (v *verifier) checkHeads(heads []Head) {
	for _, h := range heads {
		switch {
		case h.Seq == 0 || v.heads[h]:
		case v.hashes[h.Seq]:
			v.scan.report(altered, h.Seq, 0, "it is not the entry whose head was kept")
		default:
			v.scan.report(Missing, h.Seq, 0, "the entry whose head was kept is not there")
		}
	}
}

// findReordered changes the kind of missing entries that are elsewhere in the log.
func findReordered(damage []Damage, present map[uint64]bool) []Damage {
	for i, d := range damage {
		if d.Kind != Missing || d.Last-d.Seq >= uint64(len(present)) {
			continue
		}
		all := true
		for seq := d.Seq; seq <= d.Last; seq++ {
			all = all && present[seq]
		}
		if all {
			damage[i].Kind, damage[i].Why = reordered, "what belongs before it is elsewhere"
		}
	}
	return damage
}
