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
	offset int64 // of the end of the last complete line
	line   int
	high   uint64           // the highest number
	prev   string           // the last line's hash
	seq    uint64           // and its number
	lost   uint64           // unreadable lines since then
	last   []byte           // the last line, without its end; nil: it was too long
	bodies map[string]int64 // the offset of the last line that has a tool object, by sum
	damage []Damage
	texts  map[string]string // that lines repeat

	each func(*record, []byte) // every good entry and its line; nil: nobody
	bad  func([]byte)          // every other line
}

func newScan() *scan { return &scan{bodies: map[string]int64{}, texts: map[string]string{}} }

// read takes all complete lines from r, which is at offset, and leaves a last one
// that has no end. It returns how long that one is.
func (s *scan) read(r io.Reader) (torn int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, n, err := nextLine(in)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		s.line++
		s.take(line)
		s.offset += n
		s.remember(line)
	}
}

// remember keeps the last line.
func (s *scan) remember(line []byte) {
	if line == nil {
		s.last = nil
		return
	}
	s.last = append(s.last[:0], line...)
	if s.last == nil {
		s.last = []byte{}
	}
}

// isIn reports whether r is what was read, as far as the last line shows: it has the hash
// of the one before it, and is where it was only if nothing before it has changed.
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

// nextLine is the next line without its end, nil if it is too long, and its length
// with its end. It is valid until the next one is read. io.EOF: there is no end.
func nextLine(in *bufio.Reader) (line []byte, n int64, err error) {
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
		s.refuse(line, 0, "", errTooLong)
		return
	}
	r, err := readLine(line, s.text)
	switch {
	case errors.Is(err, errBody):
		s.report(Altered, r.Seq, 0, err.Error())
	case err != nil:
		s.refuse(line, r.Seq, r.Hash, err)
		return
	}
	s.link(r.Seq, r.Prev, r.Hash)
	if r.body != nil {
		s.bodies[r.Sum] = s.offset
	}
	if s.each != nil {
		s.each(&r, line)
	}
}

// body is the offset of a line that has a tool object, -1 where none is known.
func (s *scan) body(sum string) int64 {
	if at, ok := s.bodies[sum]; ok {
		return at
	}
	return -1
}

// refuse skips a line. What it claims to be is believed as far as the chain
// goes, so that one altered line is one damage.
func (s *scan) refuse(line []byte, seq uint64, hash string, why error) {
	kind := Unreadable
	if errors.Is(why, errHash) {
		kind = Altered
	}
	s.report(kind, seq, 0, why.Error())
	if kind == Altered && seq == s.seq+1 {
		s.advance(seq, hash)
	} else {
		s.lost++
	}
	if s.bad != nil {
		s.bad(line)
	}
}

// link checks that an entry follows the one before it.
func (s *scan) link(seq uint64, prev, hash string) {
	switch {
	case seq == s.seq+1 && prev == s.prev:
	case s.lost > 0 && seq == s.seq+1+s.lost:
	case seq > s.seq+1:
		s.report(Missing, s.seq+1, seq-1, "the line before it is not there")
	case seq <= s.seq:
		s.report(Reordered, seq, 0, fmt.Sprintf("it follows entry %d", s.seq))
	default:
		s.report(Altered, seq, 0, "the line before it is not the one that it was written after")
	}
	s.advance(seq, hash)
}

func (s *scan) advance(seq uint64, hash string) {
	s.prev, s.seq, s.lost = hash, seq, 0
	s.high = max(s.high, seq)
}

func (s *scan) report(kind DamageKind, seq, last uint64, why string) {
	s.damage = append(s.damage, Damage{Kind: kind, Line: s.line, Offset: s.offset, Seq: seq, Last: max(seq, last), Why: why})
}

// reportTorn reports a last line without an end.
func (s *scan) reportTorn(bytes int64, what string) {
	if bytes > 0 {
		s.line++
		s.report(Torn, 0, 0, fmt.Sprintf("%d bytes of a line that was never finished%s", bytes, what))
		s.line--
	}
}

// toolObjects gives entries their tools, which their own line or an earlier one has.
type toolObjects map[string]*Capability // by sum

func (t toolObjects) resolve(r *record) {
	if r.Op != Enroll && r.Op != Hold && r.Op != Describe || r.Sum == "" {
		return
	}
	known := t[r.Sum]
	if r.body != nil && known == nil {
		known = recorded(&r.Entry, toolbox.Wire{Format: r.format, JSON: bytes.Clone(r.body)})
		t[r.Sum] = known
	}
	switch {
	case known == nil:
	case known.Name == r.Name && known.Server == r.Server && known.Tool == r.Tool && known.Wire.Format == r.format:
		r.Capability = known
	default:
		r.Capability = recorded(&r.Entry, toolbox.Wire{Format: r.format, JSON: known.Wire.JSON})
	}
}
