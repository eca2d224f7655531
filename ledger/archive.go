package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/wire"
)

// archiveAt is the size at which the log becomes an archive, in bytes. If the first entry takes more than half of that,
// the log becomes an archive at twice the length of this entry.
const archiveAt = 2 << 20

// archiveName returns the name of the archive with the entries up to last.
func (f *File) archiveName(last uint64) string { return f.path + "." + strconv.FormatUint(last, 10) }

// archive makes the log an archive, and begins a new log with an entry that holds the approved and live tools. The
// caller holds the lock and mu, and tail has read everything. The archive is a copy, and the new log replaces the old
// one in one step. A reader therefore finds one of them. After a crash in between, the next append repeats the step.
func (f *File) archive() error {
	old, err := atomicfile.ReadPlain(f.path, math.MaxInt64-1)
	if err != nil {
		return err
	}
	name := f.archiveName(f.tail.High)
	if existing, err := atomicfile.ReadPlain(name, math.MaxInt64-1); err == nil && !bytes.Equal(existing, old) {
		return fmt.Errorf("%s is not this log", name)
	}
	line := f.tail.firstLine(archiveBody(old), filepath.Base(name))
	if len(line) > maxFirst {
		return fmt.Errorf("it holds %d MiB of tools that are approved or live", len(line)>>20)
	}
	if err := atomicfile.Replace(name, old, nil); err != nil {
		return err
	}
	if err := atomicfile.Replace(atomicfile.Real(f.path), line, nil); err != nil {
		return err
	}
	_ = os.Remove(f.path + ".checkpoint") // of earlier versions
	f.tail, f.loggedDamage = nil, 0
	return nil
}

// firstLine returns the line of an Archive entry that follows the lines so far.
func (s *scan) firstLine(body []byte, note string) []byte {
	e := Entry{Op: Archive, Run: string(NewKey()), At: time.Now(), Sum: chain.Hash(body), Note: note}
	r := newRecord(e)
	r.Seq, r.Prev, r.body = s.High+1, s.Prev, body
	return r.appendLine(nil)
}

// archiveBody returns the body of an Archive entry that follows a log: the lines of the carried entries. Each tool
// object is in one of these lines only.
func archiveBody(log []byte) []byte {
	var entries []Entry
	heads, bodies := map[string][]byte{}, map[string][]byte{}
	s := newScan()
	s.each = func(r *record, line []byte) {
		entries = append(entries, r.Entry)
		heads[r.Hash], line = cutAfterHash(line)
		if r.body != nil && wire.Valid(append(append([]byte(`[[{"":0`), line...), "]]"...)) {
			bodies[r.Sum] = line
		}
	}
	s.eachCarried = s.each
	s.read(log)
	out := []byte(`{"entries":[`)
	for i, e := range neededEntries(entries) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, heads[e.Hash]...)
		if body := bodies[e.Sum]; body != nil && e.Op.hasObject() {
			out = append(out, body...)
			delete(bodies, e.Sum)
		} else {
			out = append(out, '}')
		}
	}
	return append(out, "]}"...)
}

// cutAfterHash cuts a line after its hash.
func cutAfterHash(line []byte) (head, rest []byte) {
	at := bytes.Index(line, []byte(hashKey))
	if at < 0 {
		return nil, nil
	}
	at += len(hashKey) + chain.HashLen + 1
	return line[:at:at], line[at:]
}

// archivedLines returns the lines that an Archive entry holds. It returns nil if the entry is none, or if its lines
// cannot be read.
func (r *record) archivedLines() [][]byte {
	if r.Op != Archive || r.body == nil {
		return nil
	}
	list, _ := wire.Lookup(r.body, "entries")
	elements, err := wire.Elements(list)
	if err != nil {
		return nil
	}
	lines := make([][]byte, len(elements))
	for i, e := range elements {
		lines[i] = e
	}
	return lines
}

// archives returns the names of the archives before the log that begins with beginning, the oldest first. It goes back
// as far as archives have entries after the number after. missing is the name of the next archive if that does not
// exist.
func (f *File) archives(beginning []byte, after uint64) (names []string, missing string, err error) {
	for before := uint64(math.MaxUint64); ; {
		first, ok := firstEntry(beginning)
		if !ok || first.Op != Archive || first.Seq >= before || first.Seq-1 <= after {
			return names, "", nil
		}
		before = first.Seq
		name := f.archiveName(first.Seq - 1)
		beginning, err = readBeginning(name)
		if errors.Is(err, fs.ErrNotExist) {
			return names, name, nil
		} else if err != nil {
			return nil, "", err
		}
		names = append([]string{name}, names...)
	}
}

// firstEntry reads the head of the first line of a log without checking it.
func firstEntry(log []byte) (Entry, bool) {
	head, _, ok := bytes.Cut(log, []byte(hashKey))
	var r record
	ok = ok && r.readHead(head, func(b []byte) string { return string(b) })
	return r.Entry, ok
}

// maxBeginning is the size of the beginning of a log that is read, in bytes. It includes the first entry's number.
const maxBeginning = 32 << 10

func readBeginning(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if err := atomicfile.CheckRegular(info); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, maxBeginning)
	n, _ := file.ReadAt(b, 0)
	return b[:n], nil
}

// readAll reads the log, and before it all archives that have an entry after the number after. It returns the name of
// an archive that does not exist.
func (f *File) readAll(ctx context.Context, s *scan, after uint64) (info os.FileInfo, missing string, err error) {
	log, info, err := f.load(ctx)
	if err != nil {
		return nil, "", err
	}
	names, missing, err := f.archives(log, after)
	for _, name := range names {
		var old []byte
		err = errors.Join(err, ctx.Err())
		if err == nil {
			old, err = atomicfile.ReadPlain(name, math.MaxInt64-1)
		}
		s.NextFile(filepath.Base(name))
		s.ReportTorn(s.read(old), "")
	}
	if err != nil {
		return nil, "", fmt.Errorf("ledger: %w", err)
	}
	s.NextFile("")
	s.ReportTorn(s.read(log), "")
	return info, missing, nil
}
