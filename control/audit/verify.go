package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/filelock"
)

// Head is the end of a log. With a copy kept elsewhere, Verify can check later that everything before it is still
// there.
type Head = chain.Head

// Damage is a defect of a log. Its Kind is "torn", "missing", "altered", "reordered" or "unreadable". Torn means that
// the writer was cut off, and that no record is affected.
type Damage = chain.Damage

// Report is the result of [Verify].
type Report struct {
	Records int `json:"records"`
	Files   int `json:"files"`
	// First is the number of the first record. It is above 1 if earlier files were removed.
	First uint64 `json:"first"`
	// Lost is the number of records that could not be written, as the Gap records state.
	Lost   uint64   `json:"lost"`
	Head   Head     `json:"head"`
	Damage []Damage `json:"damage"` // in the order of the files; empty: the log is intact
}

// Intact reports whether no record is damaged. A torn line is none.
func (r *Report) Intact() bool { return chain.Intact(r.Damage) }

// Verify reads the whole log at path with its earlier files, and reports the lines that are altered, missing, out of
// order or unreadable. The chain shows this, because each record has the hash of the one before it. The last lines can
// be removed unnoticed, because nothing follows them: Verify checks that the given heads are in the log, and the head
// that the last writer noted beside the log. It looks up a head with the Seq 0 by its hash.
//
// Earlier files may be missing if a Pruned record states it. A process may write the log meanwhile.
func Verify(ctx context.Context, path string, heads ...Head) (*Report, error) {
	v := newVerifier(append(heads, readHolder(path).Head)...)
	files, err := openFiles(path)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer files.close()
	written := isWritten(path)
	for _, in := range files {
		name := ""
		if in.path != path {
			name = filepath.Base(in.path)
		}
		torn, err := v.readFile(ctx, io.NewSectionReader(in, 0, in.size), name)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		if name != "" || !written { // otherwise the line is being written
			v.scan.ReportTorn(torn, "")
		}
	}
	v.scan.Line++
	v.report.Files = len(files)
	v.scan.Damage = v.withoutPruned(v.scan.Damage)
	v.report.Damage = v.check.Finish(&v.scan)
	v.report.Head = v.check.Head
	return &v.report, nil
}

// isWritten reports whether a process writes the log now.
func isWritten(path string) bool {
	lock, err := os.OpenFile(lockPath(path), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(filelock.Try(lock), filelock.ErrHeld)
}

// verifier is one reading of the whole log.
type verifier struct {
	scan   chain.Scan
	check  *chain.Check
	lines  *lineReader
	report Report
	pruned uint64 // the records up to here may be missing
}

func newVerifier(heads ...Head) *verifier {
	return &verifier{check: chain.NewCheck(heads...), lines: newLineReader()}
}

// readFile reads a file of the log. It returns the length of a last line that has no end.
func (v *verifier) readFile(ctx context.Context, in io.Reader, name string) (torn int, err error) {
	v.scan.NextFile(name)
	return v.scan.ReadAll(stopReader{&reading{Context: ctx}, in}, maxLine, v.readRecord)
}

func (v *verifier) readRecord(line []byte) {
	r, err := v.lines.read(line)
	if err != nil {
		v.scan.Refuse(r.Seq, r.Hash, err)
		return
	}
	v.scan.Link(chain.Link{Seq: r.Seq, Prev: r.Previous, Hash: r.Hash}, false)
	v.check.Add(Head{Seq: r.Seq, Hash: r.Hash})
	v.report.Records++
	if v.report.First == 0 {
		v.report.First = r.Seq
	}
	switch r.Type {
	case TypeGap:
		v.report.Lost += r.Lost
	case TypePruned:
		v.pruned = max(v.pruned, r.Lost)
	}
}

// withoutPruned removes the records that a Pruned record counts from the missing ones.
func (v *verifier) withoutPruned(damage []Damage) []Damage {
	out := damage[:0]
	for _, d := range damage {
		if d.Kind == chain.Missing && d.Seq > 0 && d.Seq <= v.pruned {
			d.Seq = v.pruned + 1
			if d.Seq > d.Last {
				continue
			}
		}
		out = append(out, d)
	}
	return out
}
