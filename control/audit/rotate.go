package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rotatedLayout is the layout of the time in the name of an earlier file. Names sort in the order of the files.
const rotatedLayout = "20060102T150405.000Z"

// splitName returns the beginning and the end of the names of earlier files, between which the time stands.
func splitName(path string) (before, after string) {
	after = filepath.Ext(path)
	return strings.TrimSuffix(filepath.Base(path), after) + "-", after
}

// earlierFiles returns the paths of the earlier files of a log, the oldest first.
func earlierFiles(path string) (paths []string, err error) {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	before, after := splitName(path)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), before)
		stamp, ends := strings.CutSuffix(rest, after)
		if ok && ends && isStamp(stamp) && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

func isStamp(s string) bool {
	_, err := time.Parse(rotatedLayout, s)
	return err == nil
}

// rotatedPath returns a new name for the file, which sorts after the names of all earlier files.
func rotatedPath(path string, earlier []string) string {
	before, after := splitName(path)
	at := time.Now().UTC()
	if n := len(earlier); n > 0 {
		stamp := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(earlier[n-1]), before), after)
		if last, err := time.Parse(rotatedLayout, stamp); err == nil && !at.Truncate(time.Millisecond).After(last) {
			at = last.Add(time.Millisecond)
		}
	}
	return filepath.Join(filepath.Dir(path), before+at.Format(rotatedLayout)+after)
}

// rotate gives the file the name of an earlier file, and begins a new one. If the file cannot be renamed, it grows.
func (f *writtenFile) rotate() error {
	earlier, err := earlierFiles(f.path)
	if err != nil {
		return f.grow(err)
	}
	if info, err := os.Stat(f.path); err != nil || !os.SameFile(info, f.info) {
		return nil // the check after the write finds it
	}
	name := rotatedPath(f.path, earlier)
	f.out.Close() // Windows renames no open file
	f.out = nil
	renamed := os.Rename(f.path, name)
	if err := f.open(); err != nil {
		return err
	}
	if renamed != nil {
		return f.grow(renamed)
	}
	f.noteHolder()
	f.prune(append(earlier, name))
	return nil
}

// grow logs that the file could not be rotated. The next attempt is made when it has grown by as much again.
func (f *writtenFile) grow(err error) error {
	f.log.logger.Warn("the audit log cannot begin a new file, and grows", "path", f.path, "err", err)
	f.rotateAt = f.size + f.log.options.MaxSize
	f.began = time.Now()
	return nil
}

// prune selects the earlier files that are too many. They are removed after a Pruned record is written.
func (f *writtenFile) prune(earlier []string) {
	surplus := len(earlier) - f.log.options.Keep
	if f.log.options.Keep <= 0 || surplus <= 0 {
		return
	}
	kept, err := os.Open(earlier[surplus])
	if err != nil {
		return
	}
	defer kept.Close()
	first, ok := firstRecord(kept)
	if !ok {
		f.log.logger.Warn("earlier audit files are not removed: the first line of the next file is damaged",
			"path", kept.Name())
		return
	}
	f.doomed, f.prunedTo = earlier[:surplus], first.Seq-1
	f.log.note(Record{
		Type: TypePruned, Outcome: Allowed, Lost: f.prunedTo,
		Reason: fmt.Sprintf("%d earlier files are kept", f.log.options.Keep),
	})
}

// removeDoomed removes the files that prune selected, if the record about them is written.
func (f *writtenFile) removeDoomed(notes []Record) {
	if !slices.ContainsFunc(notes, func(r Record) bool { return r.Type == TypePruned && r.Lost == f.prunedTo }) {
		return
	}
	for _, path := range f.doomed {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.log.logger.Warn("an earlier audit file cannot be removed", "path", path, "err", err)
		}
	}
	f.doomed = nil
}
