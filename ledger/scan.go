package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/indusagi/indus/toolbox"
)

// scan reads a log line by line, and checks the chain as it goes.
type scan struct {
	offset int64 // behind the last whole line
	line   int
	high   uint64 // the highest number
	prev   string // the last line's hash
	seq    uint64 // and its number
	lost   uint64 // lines since then of which nothing can be told
	last   []byte // the last line, without its end; nil: it was too long
	sums   map[string]bool
	damage []Damage
	texts  map[string]string // that lines repeat

	bodies map[string]*Capability // by sum; nil: nobody wants them
	each   func(Entry, []byte)    // every good entry and its line; nil: nobody
	bad    func([]byte)           // every other line
}

func newScan() *scan { return &scan{sums: map[string]bool{}, texts: map[string]string{}} }

// read takes all whole lines from r, which stands at offset, and leaves a last one
// that has no end. It says how long that one is.
func (s *scan) read(r io.Reader) (torn int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, n, err := readTo(in)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		s.line++
		s.take(line)
		s.offset += n
		s.ends(line)
	}
}

// ends keeps the last line.
func (s *scan) ends(line []byte) {
	if line == nil {
		s.last = nil
		return
	}
	s.last = append(s.last[:0], line...)
	if s.last == nil {
		s.last = []byte{}
	}
}

// isIn reports whether r is what was read, as far as the last line tells: it has the hash
// of the one before it, and stands where it stood only if nothing before it has changed.
func (s *scan) isIn(r io.ReaderAt) bool {
	if s.offset == 0 {
		return true
	}
	there := make([]byte, len(s.last)+1)
	_, err := r.ReadAt(there, max(0, s.offset-int64(len(there))))
	return s.last != nil && (err == nil || errors.Is(err, io.EOF)) && string(there) == string(s.last)+"\n"
}

// maxTexts bounds the texts that are kept because they may be repeated.
const maxTexts = 1 << 16

// text is b, as one string for all lines that repeat it.
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

// readTo is the next line without its end, nil if it is too long, and its length
// with its end. It is good until the next one is read. io.EOF: there is no end.
func readTo(in *bufio.Reader) (line []byte, n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		switch {
		case err == nil && line == nil:
			line = part
		case n <= maxLine:
			line = append(line, part...)
		}
		switch {
		case err == nil && n > maxLine:
			return nil, n, nil
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), n, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, n, err
		}
	}
}

func (s *scan) take(line []byte) {
	if line == nil {
		s.refuse(line, Entry{}, errTooLong)
		return
	}
	e, format, body, err := readLine(line, s.text)
	if err != nil && !errors.Is(err, errBody) {
		s.refuse(line, e, err)
		return
	}
	if err != nil {
		s.report(Altered, e.Seq, 0, err.Error())
	}
	s.link(e)
	s.resolve(&e, format, body)
	if s.each != nil {
		s.each(e, line)
	}
}

// refuse reads over a line. What it claims to be is believed as far as the chain
// goes, so that one altered line is one damage.
func (s *scan) refuse(line []byte, e Entry, why error) {
	kind := Unreadable
	if errors.Is(why, errHash) {
		kind = Altered
	}
	s.report(kind, e.Seq, 0, why.Error())
	if kind == Altered && e.Seq == s.seq+1 {
		s.advance(e)
	} else {
		s.lost++
	}
	if s.bad != nil {
		s.bad(line)
	}
}

// link checks that e follows what stands before it.
func (s *scan) link(e Entry) {
	switch {
	case e.Seq == s.seq+1 && e.Prev == s.prev:
	case s.lost > 0 && e.Seq == s.seq+1+s.lost:
	case e.Seq > s.seq+1:
		s.report(Missing, s.seq+1, e.Seq-1, "the line before it is not there")
	case e.Seq <= s.seq:
		s.report(Reordered, e.Seq, 0, fmt.Sprintf("it stands behind entry %d", s.seq))
	default:
		s.report(Altered, e.Seq, 0, "what stands before it is not what it was written behind")
	}
	s.advance(e)
}

func (s *scan) advance(e Entry) {
	s.prev, s.seq, s.lost = e.Hash, e.Seq, 0
	s.high = max(s.high, e.Seq)
}

// resolve gives e its tool, which this line or an earlier one has.
func (s *scan) resolve(e *Entry, format string, body []byte) {
	if body != nil {
		s.sums[e.Sum] = true
	}
	if s.bodies == nil || e.Op != Enroll && e.Op != Hold || e.Sum == "" {
		return
	}
	known := s.bodies[e.Sum]
	if body != nil && known == nil {
		known = remembered(*e, toolbox.Wire{Format: format, JSON: bytes.Clone(body)})
		s.bodies[e.Sum] = known
	}
	switch {
	case known == nil:
	case known.Name == e.Name && known.Server == e.Server && known.Tool == e.Tool && known.Wire.Format == format:
		e.Capability = known
	default:
		e.Capability = remembered(*e, toolbox.Wire{Format: format, JSON: known.Wire.JSON})
	}
}

func (s *scan) report(kind DamageKind, seq, last uint64, why string) {
	s.damage = append(s.damage, Damage{Kind: kind, Line: s.line, Offset: s.offset, Seq: seq, Last: max(seq, last), Why: why})
}
