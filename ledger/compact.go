package ledger

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"time"
)

// Compact makes the log smaller and says by how many bytes. What goes is the text of
// old versions of tools: their objects, but not their sums. Every entry stays, with
// its number, its time, its run, its server and its hash: who did what when is never
// lost, the chain holds, and [File.Verify] finds in the new file what it would have
// found in the old one. Damaged lines stay as they are, but for what is too long to be
// read, of which an empty line stays.
//
// The text stays of every version that is live in a run, of the newest of each tool,
// of the one that was approved last, and of all that was recorded since a time; the
// zero time keeps nothing more, nor does one to come.
//
// Others may append and read meanwhile: they wait, as for an append.
func (f *File) Compact(ctx context.Context, since time.Time) (saved int64, err error) {
	return f.compact(ctx, since, 0)
}

// compact is Compact where that saves at least so many bytes.
func (f *File) compact(ctx context.Context, since time.Time, least int64) (saved int64, err error) {
	err = f.atEnd(ctx, func(file *os.File) error {
		before := f.tail.offset
		needed, old, err := f.neededBodies(file, since)
		if err != nil || old < least {
			return err
		}
		after, err := f.rewrite(file, needed)
		if err != nil {
			return err
		}
		saved = before - after
		return nil
	})
	if err == nil {
		err = f.atEnd(ctx, func(*os.File) error { return nil }) // read the new one
	}
	return saved, err
}

// neededBodies is the sums of the tool objects that stay, and how many bytes all others have.
func (f *File) neededBodies(file *os.File, since time.Time) (needed map[string]bool, old int64, err error) {
	var entries []Entry
	bodies := map[string]int{}
	s := newScan()
	s.each = func(r *record, _ []byte) {
		entries = append(entries, r.Entry)
		bodies[r.Sum] = max(bodies[r.Sum], len(r.body))
	}
	if err := s.from(file); err != nil {
		return nil, 0, err
	}
	needed = neededOf(entries, since)
	for sum, n := range bodies {
		if !needed[sum] {
			old += int64(n)
		}
	}
	return needed, old, nil
}

// neededOf is the sums of the tool objects of which the text stays.
func neededOf(entries []Entry, since time.Time) map[string]bool {
	sums := map[string]bool{}
	for _, e := range Live(entries) {
		sums[e.Sum] = true
	}
	newest, approved := map[toolID]string{}, newApprovals()
	for _, e := range sortedLog(entries) {
		if e.Op == Enroll || e.Op == Hold || e.Op == Describe {
			newest[e.toolID()] = e.Sum
			if e.Op != Describe && !since.IsZero() && !e.At.Before(since) {
				sums[e.Sum] = true
			}
		}
		approved.take(e)
	}
	for _, sum := range newest {
		sums[sum] = true
	}
	for _, e := range entries {
		if e.Sum != "" && approved.sums[e.toolID()] == e.Sum {
			sums[e.Sum] = true
		}
	}
	return sums
}

const (
	// maxOld is how much text of old versions a log may have before [Attach] compacts
	// it, in bytes: a server that writes the time of day into its descriptions comes to
	// it, others hardly ever.
	maxOld = 16 << 20
	// keepOld is for how long the text of old versions stays in any case.
	keepOld = 90 * 24 * time.Hour
)

// tidy compacts a log that has too much text of old versions. It looks each time that the
// log has become so much longer.
func (f *File) tidy(ctx context.Context) error {
	f.mu.Lock()
	grown := f.grown
	f.mu.Unlock()
	if !grown {
		return nil
	}
	saved, err := f.compact(ctx, time.Now().Add(-keepOld), maxOld)
	if saved > 0 {
		f.logger.Info("the ledger is compacted: old versions of tools have no text any more", "saved", saved)
	}
	return err
}

// from reads a file from its beginning.
func (s *scan) from(file *os.File) error {
	if _, err := file.Seek(0, 0); err != nil {
		return err
	}
	_, err := s.read(file)
	return err
}

// rewrite writes the file anew, without the objects that nobody needs, and puts it
// in the place of the old one.
func (f *File) rewrite(file *os.File, needed map[string]bool) (size int64, err error) {
	temp := f.path + ".compact"
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	w := bufio.NewWriter(out)
	s := newScan()
	s.bad = func(line []byte) { w.Write(append(line, '\n')) }
	s.each = func(r *record, line []byte) {
		if !needed[r.Sum] {
			line = withoutBody(line)
		}
		w.Write(append(line, '\n'))
	}
	err = s.from(file)
	if err = errors.Join(err, w.Flush(), f.sync(out), out.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(temp)
	if err != nil {
		return 0, err
	}
	if err = os.Rename(temp, f.path); err != nil {
		return 0, err
	}
	syncDir(f.path)
	return info.Size(), nil
}

// withoutBody is a line without its body.
func withoutBody(line []byte) []byte {
	head := bytes.Index(line, []byte(hashKey)) + len(hashKey) + hashLen + 1
	return append(bytes.Clone(line[:head]), '}')
}
