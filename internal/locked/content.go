package locked

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/atomicfile"
)

// Check compares the files of a directory with the list of their hashes at [FilesOf]. Its error names the first file
// that is new, missing or has changed. Files are read only if their times, sizes or places differ from the ones at the
// last check: no program of the user can set the time of the last change of a file (ctime).
func Check(dir string) error {
	seen, err := stateOf(dir)
	if err != nil {
		return ErrMissing
	}
	if last, err := atomicfile.ReadPlain(dir+".seen", maxFile); err == nil && seen != "" && string(last) == seen {
		return nil
	}
	if err := compare(dir); err != nil || seen == "" {
		return err
	}
	_ = atomicfile.Publish(dir+".seen", []byte(seen)) // without it the next check reads all files
	return nil
}

// stateOf returns a hash of what the file system knows of the files, and of the list of their hashes. It is "" if the
// system has no time that programs cannot set.
func stateOf(dir string) (string, error) {
	h := sha256.New()
	note := func(path string, info fs.FileInfo) bool {
		changed, ok := changeOf(info)
		fmt.Fprintf(h, "%q %s %d %s\n", path, info.Mode(), info.Size(), changed)
		return ok
	}
	list, err := os.Stat(FilesOf(dir))
	if err != nil {
		return "", err
	}
	known := note(FilesOf(dir), list)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			known = note(path, info) && known
		}
		return err
	})
	if !known || err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// compare reads all files.
func compare(dir string) error {
	want, err := atomicfile.ReadPlain(FilesOf(dir), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	}
	if err != nil {
		return err
	}
	got, err := hashFiles(dir)
	if err != nil {
		return err
	}
	if bytes.Equal(want, got) {
		return nil
	}
	before, after := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	i := 0
	for i < len(before) && i < len(after) && bytes.Equal(before[i], after[i]) {
		i++
	}
	name := func(lines [][]byte) string {
		if i >= len(lines) {
			return ""
		}
		_, path, _ := bytes.Cut(lines[i], []byte(" "))
		return string(path)
	}
	was, is := name(before), name(after)
	switch {
	case was == is:
		return fmt.Errorf("the file %s has changed since it was locked", is)
	case is != "" && (was == "" || is < was):
		return fmt.Errorf("the file %s is new since it was locked", is)
	}
	return fmt.Errorf("the file %s is missing since it was locked", was)
}

// hashFiles returns a line for each file and link below a directory, sorted by path: the hash of its content and of
// whether it can be executed, and the quoted path. Directories count by their files.
func hashFiles(dir string) ([]byte, error) {
	type file struct {
		path string
		mode fs.FileMode
		sum  string
		err  error
	}
	var all []*file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all = append(all, &file{path: path, mode: info.Mode()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	work := make(chan *file)
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for f := range work {
				f.sum, f.err = hashFile(f.path, f.mode)
			}
		})
	}
	for _, f := range all {
		work <- f
	}
	close(work)
	readers.Wait()
	slices.SortFunc(all, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
	var out strings.Builder
	for _, f := range all {
		if f.err != nil {
			return nil, f.err
		}
		relative, err := filepath.Rel(dir, f.path)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s %s\n", f.sum, strconv.Quote(filepath.ToSlash(relative)))
	}
	return []byte(out.String()), nil
}

func hashFile(path string, mode fs.FileMode) (string, error) {
	h := sha256.New()
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "link %q", target)
	case mode.IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		fmt.Fprintf(h, "file %t\n", mode&0o100 != 0)
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%s is neither a file nor a link", path)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
