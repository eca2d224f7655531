package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/indusagi/indus/toolbox"
)

// scan reads a log line by line, and checks the chain. It reads archives and the log itself as one chain.
type scan struct {
	file        string // the base name of the archive that is read; "" for the log itself
	offset      int64  // of the end of the last complete line in that file
	line        int
	first       Entry           // the first entry, zero if there is none
	firstLength int64           // the length of the first line, if that is an Archive entry
	grown       int64           // the size up to which the file has grown without becoming an archive
	high        uint64          // the highest number
	prev        string          // the hash of the last line
	seq         uint64          // the number of the last line
	unreadable  uint64          // unreadable lines since then
	lastLine    []byte          // the beginning of the last line
	lastOffset  int64           // the offset of last
	bodies      map[string]bool // the sums of the tool objects that were read
	damage      []Damage
	texts       map[string]string // texts that lines repeat

	each        func(*record, []byte) // takes every good entry and its line; nil: none
	eachCarried func(*record, []byte) // takes the entries in the first entry, before each takes that entry; nil: none
}

func newScan() *scan { return &scan{bodies: map[string]bool{}, texts: map[string]string{}} }

// nextFile goes on with another file of the chain.
func (s *scan) nextFile(file string) { s.file, s.offset, s.line = file, 0, 0 }

// read takes all complete lines of b, which is at offset. It returns the length of a last line that has no end.
func (s *scan) read(b []byte) (torn int) {
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			return len(b)
		}
		s.line++
		s.readEntry(b[:n])
		s.advancePast(b[:n+1])
		b = b[n+1:]
	}
}

// maxLastLine is the size of the kept beginning of the last line. It includes the line's number and hashes.
const maxLastLine = 32 << 10

// advancePast advances past a line, and keeps its beginning.
func (s *scan) advancePast(line []byte) {
	s.lastOffset = s.offset
	s.offset += int64(len(line))
	s.lastLine = append(s.lastLine[:0], line[:min(len(line), maxLastLine)]...)
}

// matches reports whether r is the file that was read. It compares only the last line, which has the hash of the line
// before it.
func (s *scan) matches(r io.ReaderAt) bool {
	current := make([]byte, len(s.lastLine))
	_, err := r.ReadAt(current, s.lastOffset)
	return len(current) == 0 || err == nil && bytes.Equal(current, s.lastLine)
}

// archiveSize returns the length at which the log becomes an archive. size is this length for a log with a short first
// line.
func (s *scan) archiveSize(size int64) int64 { return max(size, 2*s.firstLength) + s.grown }

// maxTexts bounds the texts that are kept because they may be repeated.
const maxTexts = 1 << 16

// text returns b as a string. Lines that repeat a text share one string.
func (s *scan) text(b []byte) string {
	if string(b) == s.prev {
		return s.prev
	}
	known, ok := s.texts[string(b)]
	if !ok {
		known = string(b)
		if len(s.texts) < maxTexts && len(b) <= hashLen {
			s.texts[known] = known
		}
	}
	return known
}

func (s *scan) readEntry(line []byte) {
	if len(line) > maxLine && s.line > 1 || len(line) > maxFirst {
		s.refuse(0, "", errTooLong)
		return
	}
	r, err := readLine(line, s.text)
	switch {
	case errors.Is(err, errBody):
		s.report(altered, r.Seq, 0, err.Error())
	case err != nil:
		s.refuse(r.Seq, r.Hash, err)
		return
	}
	if s.first.Op == "" {
		s.first = r.Entry
		s.readCarried(&r)
		if r.Op == Archive {
			s.firstLength = int64(len(line))
		}
	}
	s.link(&r)
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
	if lines == nil && r.Seq > s.seq+1+s.unreadable && s.eachCarried != nil {
		reset := newRecord(Entry{Op: Reset, Seq: r.Seq - 1, At: r.At, Note: noteReset})
		line := reset.appendLine(nil)
		s.eachCarried(reset, line[:len(line)-1])
	}
}

// refuse skips a line. It accepts the claimed number and hash of an altered line for the chain, so that one altered
// line is one damage.
func (s *scan) refuse(seq uint64, hash string, reason error) {
	kind := unreadableLine
	if errors.Is(reason, errHash) {
		kind = altered
	}
	s.report(kind, seq, 0, reason.Error())
	if kind == altered && seq == s.seq+1 {
		s.advance(seq, hash)
	} else {
		s.unreadable++
	}
}

// link checks that an entry follows the one before it. An Archive entry may be the first entry that is read.
func (s *scan) link(r *record) {
	switch seq := r.Seq; {
	case seq == s.seq+1 && r.Prev == s.prev:
	case r.Op == Archive && s.high == 0 && s.unreadable == 0:
	case s.unreadable > 0 && seq == s.seq+1+s.unreadable:
	case seq > s.seq+1:
		s.report(Missing, s.seq+1, seq-1, "the line before it is not there")
	case seq <= s.seq:
		s.report(reordered, seq, 0, fmt.Sprintf("it follows entry %d", s.seq))
	default:
		s.report(altered, seq, 0, "the line before it is not the one that it was written after")
	}
	s.advance(r.Seq, r.Hash)
}

func (s *scan) advance(seq uint64, hash string) {
	s.prev, s.seq, s.unreadable = hash, seq, 0
	s.high = max(s.high, seq)
}

func (s *scan) report(kind string, seq, last uint64, reason string) {
	d := Damage{Kind: kind, File: s.file, Line: s.line, Offset: s.offset, Seq: seq, Last: max(seq, last), Why: reason}
	s.damage = append(s.damage, d)
}

// reportTorn reports a last line without an end.
func (s *scan) reportTorn(bytes int, suffix string) {
	if bytes > 0 {
		s.line++
		s.report(Torn, 0, 0, fmt.Sprintf("%d bytes of a line that was never finished%s", bytes, suffix))
		s.line--
	}
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
