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
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.locked(ctx, func(file *os.File) error {
		before := f.tail.offset
		needed, err := f.needed(file, since)
		if err != nil {
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
		err = f.locked(ctx, func(*os.File) error { return nil }) // read the new one
	}
	return saved, err
}

// needed is the sums of the tool objects that stay.
func (f *File) needed(file *os.File, since time.Time) (map[string]bool, error) {
	var entries []Entry
	s := newScan()
	s.each = func(e Entry, _ []byte) { entries = append(entries, e) }
	if err := s.from(file); err != nil {
		return nil, err
	}
	return neededOf(entries, since), nil
}

// neededOf is the sums of the tool objects of which the text stays.
func neededOf(entries []Entry, since time.Time) map[string]bool {
	sums := map[string]bool{}
	for _, e := range Live(entries) {
		sums[e.Sum] = true
	}
	newest, approved := map[tool]string{}, approvals{}
	for _, e := range sorted(entries) {
		if e.Op == Enroll || e.Op == Hold {
			newest[e.tool()] = e.Sum
			if !since.IsZero() && !e.At.Before(since) {
				sums[e.Sum] = true
			}
		}
		approved.take(e)
	}
	for _, sum := range newest {
		sums[sum] = true
	}
	for _, e := range entries {
		if e.Seal != "" && approved[e.tool()] == e.Seal {
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

// compacter is a log that can be made smaller.
type compacter interface {
	Compact(ctx context.Context, since time.Time) (saved int64, err error)
}

var _ compacter = (*File)(nil)

// tidy compacts a log that has too much text of old versions, in the background.
func (a *Attachment) tidy(log []Entry) {
	c, ok := a.opts.Log.(compacter)
	since := time.Now().Add(-keepOld)
	if !ok || oldText(log, since) <= maxOld {
		return
	}
	a.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite) // Close waits for it
		defer cancel()
		saved, err := c.Compact(ctx, since)
		if err != nil {
			a.logger.Warn("the ledger cannot be compacted", "err", err)
			return
		}
		a.logger.Info("the ledger is compacted: old versions of tools have no text any more", "saved", saved)
	})
}

// oldText is how many bytes of tool objects a log would lose, 0 where it has not that
// many in all: to tell which of them are needed takes longer.
func oldText(log []Entry, since time.Time) (n int) {
	text := map[string]int{}
	for i := range log {
		if e := &log[i]; e.Capability != nil && text[e.Sum] == 0 {
			text[e.Sum] = len(e.Capability.Wire.JSON)
			n += text[e.Sum]
		}
	}
	if n <= maxOld {
		return 0
	}
	for sum := range neededOf(log, since) {
		n -= text[sum]
	}
	return n
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
	s.each = func(e Entry, line []byte) {
		if !needed[e.Sum] {
			line = bodiless(line)
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

// bodiless is a line without its body.
func bodiless(line []byte) []byte {
	head := bytes.Index(line, []byte(hashKey)) + len(hashKey) + hashLen + 1
	return append(bytes.Clone(line[:head]), '}')
}
