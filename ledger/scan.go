package ledger

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/toolbox"
)

// scan reads a log line by line, and checks the chain. It reads archives and the log itself as one chain.
type scan struct {
	chain.Scan
	first       Entry           // the first entry, zero if there is none
	firstLength int64           // the length of the first line, if that is an Archive entry
	grown       int64           // the size up to which the file has grown without becoming an archive
	bodies      map[string]bool // the sums of the tool objects that were read
	texts       chain.Texts     // texts that lines repeat

	each        func(*record, []byte) // takes every good entry and its line; nil: none
	eachCarried func(*record, []byte) // takes the entries in the first entry, before each takes that entry; nil: none
}

func newScan() *scan { return &scan{bodies: map[string]bool{}, texts: chain.Texts{}} }

// read takes all complete lines of b, which is at Offset. It returns the length of a last line that has no end.
func (s *scan) read(b []byte) (torn int) { return s.Read(b, s.readEntry) }

// archiveSize returns the length at which the log becomes an archive. size is this length for a log with a short first
// line.
func (s *scan) archiveSize(size int64) int64 { return max(size, 2*s.firstLength) + s.grown }

// text returns b as a string. Lines that repeat a text share one string.
func (s *scan) text(b []byte) string {
	if string(b) == s.Prev {
		return s.Prev
	}
	return s.texts.Text(b)
}

func (s *scan) readEntry(line []byte) {
	if len(line) > maxLine && s.Line > 1 || len(line) > maxFirst {
		s.Refuse(0, "", errTooLong)
		return
	}
	r, err := readLine(line, s.text)
	switch {
	case errors.Is(err, errBody):
		s.Report(chain.Altered, r.Seq, 0, err.Error())
	case err != nil:
		s.Refuse(r.Seq, r.Hash, err)
		return
	}
	if s.first.Op == "" {
		s.first = r.Entry
		s.readCarried(&r)
		if r.Op == Archive {
			s.firstLength = int64(len(line))
		}
	}
	s.Link(chain.Link{Seq: r.Seq, Prev: r.Prev, Hash: r.Hash}, r.Op == Archive)
	s.bodies[r.Sum] = s.bodies[r.Sum] || r.body != nil
	if s.each != nil {
		s.each(&r, line)
	}
}

// readCarried takes the entries that the first entry holds. If the first entry holds nothing and is not the beginning
// of a log, it counts as a [Reset]: earlier approvals are unknown.
func (s *scan) readCarried(r *record) {
	lines := r.archivedLines()
	for _, line := range lines {
		if held, err := readLine(line, s.text); err == nil {
			s.bodies[held.Sum] = s.bodies[held.Sum] || held.body != nil
			if s.eachCarried != nil {
				s.eachCarried(&held, line)
			}
		}
	}
	if lines == nil && r.Seq > s.Seq+1+s.Unreadable && s.eachCarried != nil {
		reset := newRecord(Entry{Op: Reset, Seq: r.Seq - 1, At: r.At, Note: noteReset})
		line := reset.appendLine(nil)
		s.eachCarried(reset, line[:len(line)-1])
	}
}

// records converts entries to records and lines. It leaves out tool objects that the log has already.
func (s *scan) records(entries []Entry) (batch []*record, lines []byte) {
	now, prev, bodies := time.Now(), s.Prev, map[string]bool{}
	for i, e := range entries {
		if e.At.IsZero() {
			e.At = now
		}
		r := newRecord(e)
		r.Seq, r.Prev = s.High+uint64(i)+1, prev
		if s.bodies[r.Sum] || bodies[r.Sum] {
			r.body = nil
		}
		bodies[r.Sum] = bodies[r.Sum] || r.body != nil
		lines = r.appendLine(lines)
		prev = r.Hash
		batch = append(batch, r)
	}
	return batch, lines
}

// advanceTail moves past the written lines.
func (s *scan) advanceTail(batch []*record, lines []byte) (stored []Entry) {
	for _, r := range batch {
		s.Line++
		s.Advance(r.Seq, r.Hash)
		if r.body != nil {
			s.bodies[r.Sum] = true
		}
		stored = append(stored, r.Entry)
	}
	last := 1 + bytes.LastIndexByte(lines[:len(lines)-1], '\n')
	s.Offset += int64(last)
	s.AdvancePast(lines[last:])
	return stored
}

// collectEntries returns the entries after the number after, of all that read passes to the scan.
func collectEntries(after uint64, read func(*scan) error) (out []Entry, s *scan, err error) {
	s, tools := newScan(), toolObjects{}
	s.each = func(r *record, _ []byte) {
		tools.resolve(r)
		out = append(out, r.Entry)
	}
	s.eachCarried = s.each
	if err := read(s); err != nil {
		return nil, nil, err
	}
	if after <= s.High {
		out = slices.DeleteFunc(out, func(e Entry) bool { return e.Seq <= after })
	}
	return sortedLog(out), s, nil
}

// toolObjects gives entries their tools. The tool object is in the line of the entry or in an earlier line.
type toolObjects map[string]*Capability // by sum

func (t toolObjects) resolve(r *record) {
	if !r.Op.hasObject() || r.Sum == "" {
		return
	}
	known := t[r.Sum]
	if r.body != nil && known == nil {
		known = capabilityFromLog(&r.Entry, toolbox.Wire{Format: r.format, JSON: bytes.Clone(r.body)})
		t[r.Sum] = known
	}
	switch {
	case known == nil:
	case known.Name == r.Name && known.Server == r.Server && known.Tool == r.Tool && known.Wire.Format == r.format:
		r.Capability = known
	default:
		r.Capability = capabilityFromLog(&r.Entry, toolbox.Wire{Format: r.format, JSON: known.Wire.JSON})
	}
}
