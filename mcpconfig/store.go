package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	maxStore      = 8 << 20 // bytes; ten thousand approvals take a third of it
	storeVersion  = 1
	othersMayHere = 0o022 // who may write here besides the user
)

// store is approvals.json. It is believed only where nobody else could have written it.
type store struct{ dir string }

func (p *place) store() store { return store{p.state} }

func (s store) path() string { return filepath.Join(s.dir, "approvals.json") }

// stored is the file's text.
type stored struct {
	Version   int        `json:"version"`
	Approvals []Approved `json:"approvals"`
}

// read is what was approved. Each error says how to mend it.
func (s store) read() ([]Approved, error) {
	if s.dir == "" {
		return nil, nil
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	text, err := readRegular(s.path(), maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.broken(plain(err))
	}
	var all stored
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
func (s store) check() error {
	paths := []string{s.dir}
	if to, err := follow(s.path()); err != nil {
		return fmt.Errorf("%s: %w", s.path(), err)
	} else if to != s.path() {
		paths = append(paths, filepath.Dir(to))
	}
	for _, path := range append(paths, s.path()) {
		if err := private(path); err != nil {
			return err
		}
	}
	return nil
}

// private is an error where others may write, or own, what is there.
func private(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Perm()&othersMayHere != 0: // there the mode says nothing
		return fmt.Errorf("%s: others may write here (mode %04o), so nothing in it counts; look through it, then: chmod go-w %s",
			path, info.Mode().Perm(), word(path))
	case !ours(info):
		return fmt.Errorf("%s: belongs to another user, so nothing in it counts; look through it, then: chown %d %s",
			path, os.Geteuid(), word(path))
	}
	return nil
}

func (s store) broken(why string) error {
	return fmt.Errorf("%s: %s, so nothing in it counts; mend it, or remove it and approve again", s.path(), why)
}

// write replaces the file in one step, so that nobody reads a half of it.
func (s store) write(list []Approved) error {
	text, err := json.MarshalIndent(stored{storeVersion, list}, "", "  ")
	if err != nil {
		return err
	}
	if len(text) >= maxStore {
		return s.broken("it would be larger than 8 MiB")
	}
	target, err := follow(s.path()) // who keeps it elsewhere, and a link here, goes on to
	if err != nil {
		return err
	}
	// One name, so that what a crash leaves behind does not grow; the lock is held.
	name := target + ".tmp"
	temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(name, target)
}
