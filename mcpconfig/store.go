package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/indusagi/indus/mcpconfig/internal/edit"
)

const (
	maxStore      = 8 << 20 // bytes; ten thousand approvals take a third of it
	storeVersion  = 1
	othersMayHere = 0o022 // who may write here besides the user
)

// store is a file of approvals. It is believed only where nobody else could have written it.
type store[T any] struct{ dir, name string }

func (p *readContext) store() store[Approved] { return store[Approved]{p.state, "approvals.json"} }

func (p *readContext) toolStore() store[ApprovedTool] {
	return store[ApprovedTool]{p.state, "tool-approvals.json"}
}

func (s store[T]) path() string { return filepath.Join(s.dir, s.name) }

// stored is the file's text.
type stored[T any] struct {
	Version   int `json:"version"`
	Approvals []T `json:"approvals"`
}

// read is what was approved. Each error says how to mend it.
func (s store[T]) read() ([]T, error) {
	if s.dir == "" {
		return nil, nil
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	text, err := edit.ReadFilled(s.path(), maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.broken(edit.Reason(err))
	}
	var all stored[T]
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, s.broken("it cannot be read")
	}
	if all.Version != storeVersion {
		return nil, s.broken(fmt.Sprintf("it has version %d, and this program knows %d", all.Version, storeVersion))
	}
	return all.Approvals, nil
}

// check is an error where somebody else could have written the file: by its mode, its
// owner, and those of the directory that it is in, or that a link to it leads to.
func (s store[T]) check() error {
	paths := []string{s.dir}
	if to, err := edit.Follow(s.path()); err != nil {
		return fmt.Errorf("%s: %w", s.path(), err)
	} else if to != s.path() {
		paths = append(paths, filepath.Dir(to))
	}
	for _, path := range append(paths, s.path()) {
		if err := checkPrivate(path); err != nil {
			return err
		}
	}
	return nil
}

// checkPrivate is an error where others may write, or own, what is there.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Perm()&othersMayHere != 0: // there the mode says nothing
		return fmt.Errorf("%s: others may write here (mode %04o), so nothing in it counts; look through it, then: chmod go-w %s",
			path, info.Mode().Perm(), quoteWord(path))
	case !isOurs(info):
		return fmt.Errorf("%s: belongs to another user, so nothing in it counts; look through it, then: chown %d %s",
			path, os.Geteuid(), quoteWord(path))
	}
	return nil
}

func (s store[T]) broken(why string) error {
	return fmt.Errorf("%s: %s, so nothing in it counts; mend it, or remove it and approve again", s.path(), why)
}

// write replaces the file in one step, so that nobody reads a half of it.
func (s store[T]) write(list []T) error {
	text, err := json.MarshalIndent(stored[T]{storeVersion, list}, "", "  ")
	if err != nil {
		return err
	}
	if len(text) >= maxStore {
		return s.broken("it would be larger than 8 MiB")
	}
	target, err := edit.Follow(s.path()) // who keeps it elsewhere, and a link here, goes on to
	if err != nil {
		return err
	}
	return edit.Replace(target, append(text, '\n'), nil)
}
