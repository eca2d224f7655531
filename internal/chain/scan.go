package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// HashLen is the length of a hash in a line, in bytes.
const HashLen = 2 * sha256.Size

// Hash returns the hash of a text, as lines contain it.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// IsHash reports whether a text has the form of a hash.
func IsHash(s string) bool { return len(s) == HashLen && strings.Trim(s, "0123456789abcdef") == "" }

// ErrHash is the reason to refuse a line with a number and a hash that its text does not have.
var ErrHash = errors.New("it was altered: its hash does not match its text")

// Link is the part of a line on which the chain depends.
type Link struct {
	Seq        uint64 // the number of the entry
	Prev, Hash string
}

// Scan reads a log line by line, and checks the chain. The reader of a line calls Link for a good line, and Refuse for
// any other. The zero value is before the first line.
type Scan struct {
	Offset int64  // of the end of the last complete line in the file
	Line   int    // the number of the last line in the file
	High   uint64 // the highest number
	Seq    uint64 // the number of the last line
	Prev   string // the hash of the last line
	Damage []Damage
	// Unreadable is the number of unreadable lines after the last line.
	Unreadable uint64

	file       string // the base name of the archive that is read; "" for the log itself
	lastLine   []byte // the beginning of the last line
	lastOffset int64  // the offset of lastLine
}

// NextFile continues with another file of the chain.
func (s *Scan) NextFile(file string) { s.file, s.Offset, s.Line = file, 0, 0 }

// Read calls each with all complete lines of b, which is at Offset. It returns the length of a last line that has no
// end.
func (s *Scan) Read(b []byte, each func(line []byte)) (torn int) {
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			return len(b)
		}
		s.Line++
		each(b[:n])
		s.AdvancePast(b[:n+1])
		b = b[n+1:]
	}
}

// readSize is the size of the parts in which [Scan.ReadAll] reads, in bytes.
const readSize = 256 << 10

// ReadAll is [Scan.Read] for a file of any size. Of a line that is longer than longest bytes, each gets the beginning,
// which is also too long.
func (s *Scan) ReadAll(r io.Reader, longest int, each func(line []byte)) (torn int, err error) {
	buf := make([]byte, 0, readSize)
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		torn = s.Read(buf, each)
		buf = buf[:copy(buf, buf[len(buf)-torn:])]
		if errors.Is(err, io.EOF) {
			return torn, nil
		} else if err != nil {
			return torn, err
		}
		if excess := len(buf) - longest - 1; excess > readSize {
			s.Offset += int64(excess)
			buf = buf[:longest+1]
		}
	}
}

// maxLastLine is the size of the kept beginning of the last line. It includes the line's number and hashes.
const maxLastLine = 32 << 10

// AdvancePast advances past a line with its end, and keeps its beginning.
func (s *Scan) AdvancePast(line []byte) {
	s.lastOffset = s.Offset
	s.Offset += int64(len(line))
	s.lastLine = append(s.lastLine[:0], line[:min(len(line), maxLastLine)]...)
}

// Matches reports whether r is the file that was read. It compares only the last line, which has the hash of the line
// before it.
func (s *Scan) Matches(r io.ReaderAt) bool {
	current := make([]byte, len(s.lastLine))
	_, err := r.ReadAt(current, s.lastOffset)
	return len(current) == 0 || err == nil && bytes.Equal(current, s.lastLine)
}

// Refuse skips a line. It accepts the claimed number and hash of an altered line for the chain, so that one altered
// line is one damage.
func (s *Scan) Refuse(seq uint64, hash string, reason error) {
	kind := Unreadable
	if errors.Is(reason, ErrHash) {
		kind = Altered
	}
	s.Report(kind, seq, 0, reason.Error())
	if kind == Altered && seq == s.Seq+1 {
		s.Advance(seq, hash)
	} else {
		s.Unreadable++
	}
}

// Link checks that an entry follows the one before it. If begins is true, the entry may be the first that is read,
// whatever its number.
func (s *Scan) Link(l Link, begins bool) {
	switch seq := l.Seq; {
	case seq == s.Seq+1 && l.Prev == s.Prev:
	case begins && s.High == 0 && s.Unreadable == 0:
	case s.Unreadable > 0 && seq == s.Seq+1+s.Unreadable:
	case seq > s.Seq+1:
		s.Report(Missing, s.Seq+1, seq-1, "the line before it is not there")
	case seq <= s.Seq:
		s.Report(Reordered, seq, 0, fmt.Sprintf("it follows entry %d", s.Seq))
	default:
		s.Report(Altered, seq, 0, "it was written after another line than the one before it")
	}
	s.Advance(l.Seq, l.Hash)
}

// Advance makes an entry the last one.
func (s *Scan) Advance(seq uint64, hash string) {
	s.Prev, s.Seq, s.Unreadable = hash, seq, 0
	s.High = max(s.High, seq)
}

// Report adds a damage at the present line.
func (s *Scan) Report(kind string, seq, last uint64, reason string) {
	d := Damage{Kind: kind, File: s.file, Line: s.Line, Offset: s.Offset, Seq: seq, Last: max(seq, last), Why: reason}
	s.Damage = append(s.Damage, d)
}

// ReportTorn reports a last line without an end.
func (s *Scan) ReportTorn(bytes int, suffix string) {
	if bytes > 0 {
		s.Line++
		s.Report(Torn, 0, 0, fmt.Sprintf("%d bytes of a line that was never finished%s", bytes, suffix))
		s.Line--
	}
}
