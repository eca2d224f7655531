// Package approvals is a file of what a person approved, which is believed only where nobody else could have written it.
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxStore      = 8 << 20 // bytes; ten thousand approvals take a third of it
	storeVersion  = 1
	othersMayHere = 0o022 // who may write here besides the user
)

// Store is a file of approvals.
type Store[T any] struct {
	// Dir is where it is; "": nowhere, and nothing can be kept.
	Dir, Name string
	// Compare orders approvals. 0: one takes the place of the other.
	Compare func(a, b T) int
}

// Verb is what is done to approvals.
type Verb string

// What can be done.
const (
	Approve Verb = "approve"
	Revoke  Verb = "revoke"
)

// Path is the file's.
func (s Store[T]) Path() string { return filepath.Join(s.Dir, s.Name) }

// stored is the file's text.
type stored[T any] struct {
	Version   int `json:"version"`
	Approvals []T `json:"approvals"`
}

// Read is what was approved. Each error says how to mend it.
func (s Store[T]) Read() ([]T, error) {
	if s.Dir == "" {
		return nil, nil
	}
	return s.file().Read(context.Background())
}

func (s Store[T]) file() *statefile.File[[]T] {
	return &statefile.File[[]T]{
		Path: s.Path(), Lock: filepath.Join(s.Dir, "approvals.lock"), Load: s.load, Decode: s.decode, Encode: s.encode,
	}
}

func (s Store[T]) load(path string) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	text, err := edit.ReadFilled(path, maxStore)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = s.broken(edit.Reason(err))
	}
	return text, err
}

func (s Store[T]) decode(_ context.Context, text []byte) ([]T, error) {
	if text == nil {
		return nil, nil
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

func (s Store[T]) encode(_ context.Context, list []T) ([]byte, error) {
	text, err := json.MarshalIndent(stored[T]{storeVersion, list}, "", "  ")
	if err == nil && len(text) >= maxStore {
		err = s.broken("it would be larger than 8 MiB")
	}
	return text, err
}

// Change approves, or takes back, all of these or, with an error, none.
func (s Store[T]) Change(verb Verb, these ...T) error {
	if len(these) == 0 {
		return nil
	}
	err := errors.New("there is no home directory to remember it in; set HOME or XDG_STATE_HOME")
	if s.Dir != "" {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err == nil {
		err = s.Check() // before anything is made there
	}
	if err == nil {
		err = s.file().Update(context.Background(), func(list []T) ([]T, error) {
			for _, one := range these {
				list = slices.DeleteFunc(list, func(other T) bool { return s.Compare(one, other) == 0 })
				if verb == Approve {
					list = append(list, one)
				}
			}
			slices.SortFunc(list, s.Compare)
			return list, nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// Check is an error where somebody else could have written the file: by its mode, its
// owner, and those of the directory that it is in, or that a link to it leads to.
func (s Store[T]) Check() error {
	paths := []string{s.Dir}
	if to, err := edit.Follow(s.Path()); err != nil {
		return fmt.Errorf("%s: %w", s.Path(), err)
	} else if to != s.Path() {
		paths = append(paths, filepath.Dir(to))
	}
	for _, path := range append(paths, s.Path()) {
		if err := CheckPrivate(path); err != nil {
			return err
		}
	}
	return nil
}

// CheckPrivate is an error where others may write, or own, what is there.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Perm()&othersMayHere != 0: // there the mode says nothing
		return fmt.Errorf("%s: others may write here (mode %04o), so nothing in it counts; look through it, then: chmod go-w %s",
			path, info.Mode().Perm(), tree.QuoteWord(path))
	case !isOurs(info):
		return fmt.Errorf("%s: belongs to another user, so nothing in it counts; look through it, then: chown %d %s",
			path, os.Geteuid(), tree.QuoteWord(path))
	}
	return nil
}

func (s Store[T]) broken(why string) error {
	return fmt.Errorf("%s: %s, so nothing in it counts; mend it, or remove it and approve again", s.Path(), why)
}
