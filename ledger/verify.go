package ledger

import (
	"context"
	"maps"
	"path/filepath"

	"github.com/indusagi/indus/internal/chain"
)

// Damage is a defect of a log. Reading continues after it. Its Kind is [Torn], [Missing], "altered", "reordered" or
// "unreadable".
type Damage = chain.Damage

// These are the kinds of damage that callers treat differently.
const (
	Torn    = chain.Torn    // the writer was cut off; no stored entry is affected
	Missing = chain.Missing // entries were removed
)

// Head is the end of a log. With a copy kept elsewhere, [File.Verify] can check later that everything before it is
// still there.
type Head = chain.Head

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
// given heads are in the log. It looks up a head with the Seq 0 by its hash.
//
// The error is about reading only. Damage is not an error.
func (f *File) Verify(ctx context.Context, heads ...Head) (*Report, error) {
	return verifyLog(heads, func(s *scan) (missing string, err error) {
		_, missing, err = f.readAll(ctx, s, 0)
		return missing, err
	})
}

// verifyLog verifies the log that read passes to the scan. read returns the name of an archive that does not exist.
func verifyLog(heads []Head, read func(*scan) (missing string, err error)) (*Report, error) {
	v := verifier{scan: newScan(), check: chain.NewCheck(heads...), approved: newApprovals()}
	v.scan.each = v.addEntry
	v.scan.eachCarried = func(r *record, _ []byte) { v.approved.add(r.Entry) }
	missing, err := read(v.scan)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		lost := Damage{Kind: Missing, Line: 1, Seq: 1, Last: v.scan.first.Seq - 1, Why: "the archive is not there"}
		lost.File = filepath.Base(missing)
		v.scan.Damage = append([]Damage{lost}, v.scan.Damage...)
	}
	v.scan.Line++
	v.report.Damage = v.check.Finish(&v.scan.Scan)
	v.report.Head = v.check.Head
	return &v.report, nil
}

// verifier is one reading of the whole log.
type verifier struct {
	scan     *scan
	report   Report
	check    *chain.Check
	approved approvals // the result of the entries so far
}

func (v *verifier) addEntry(e *record, _ []byte) {
	v.report.Entries++
	switch {
	case e.Op == Reset:
		v.scan.Report(Missing, 0, 0, noteReset)
	case e.Op == Archive && len(v.scan.Damage) == 0 && !v.approvalsMatch(e):
		v.scan.Report(chain.Altered, e.Seq, 0, "its approvals do not match the entries before it")
	}
	v.approved.add(e.Entry)
	v.check.Add(Head{Seq: e.Seq, Hash: e.Hash})
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
