// Package approvals keeps the approvals of a person in a file. The file is trusted only if no other user could have
// written it.
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

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxStore     = 8 << 20 // bytes; ten thousand approvals take a third of it
	storeVersion = 1
	otherWriters = 0o022 // the mode bits of writers other than the user
)

// Store is a file of approvals.
type Store[T any] struct {
	// Dir is the directory of the file. If it is "", nothing can be stored.
	Dir, Name string
	// Compare orders approvals. If it returns 0, the newer one replaces the other.
	Compare func(a, b T) int
}

// Verb is an operation on approvals.
type Verb string

// The operations.
const (
	Approve Verb = "approve"
	Revoke  Verb = "revoke"
)

// Path returns the path of the file.
func (s Store[T]) Path() string { return filepath.Join(s.Dir, s.Name) }

// stored is the content of the file.
type stored[T any] struct {
	Version   int `json:"version"`
	Approvals []T `json:"approvals"`
}

// Read returns the approvals. Each error explains the remedy.
func (s Store[T]) Read() ([]T, error) {
	if s.Dir == "" {
		return nil, nil
	}
	list, err := s.file().Read(context.Background())
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return list, nil
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
		err = s.damaged(edit.Reason(err))
	}
	return text, err
}

func (s Store[T]) decode(_ context.Context, text []byte) ([]T, error) {
	if text == nil {
		return nil, nil
	}
	var all stored[T]
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, s.damaged("it cannot be read")
	}
	if all.Version != storeVersion {
		return nil, s.damaged(fmt.Sprintf("it has version %d, and this program knows %d", all.Version, storeVersion))
	}
	return all.Approvals, nil
}

func (s Store[T]) encode(_ context.Context, list []T) ([]byte, error) {
	text, err := json.MarshalIndent(stored[T]{storeVersion, list}, "", "  ")
	if err == nil && len(text) >= maxStore {
		err = s.damaged("it would be larger than 8 MiB")
	}
	return text, err
}

// Change approves or revokes all of these approvals or, with an error, none.
func (s Store[T]) Change(verb Verb, entries ...T) error {
	if len(entries) == 0 {
		return nil
	}
	err := errors.New("there is no home directory to remember it in; set HOME or XDG_STATE_HOME")
	if s.Dir != "" {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err == nil {
		err = s.Check() // before anything is created there
	}
	if err == nil {
		err = s.file().Update(context.Background(), func(list []T) ([]T, error) {
			for _, one := range entries {
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

// Check returns an error if another user could have written the file. It checks the mode and the owner of the file, of
// its directory, and of the directory to which a link leads.
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

// CheckPrivate returns an error if another user may write or owns the file at path.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Perm()&otherWriters != 0: // on Windows the mode has no such meaning
		return fmt.Errorf("%s: others may write here (mode %04o), so nothing in it counts; "+
			"look through it, then: chmod go-w %s",
			path, info.Mode().Perm(), tree.QuoteWord(path))
	case !atomicfile.IsOwn(info):
		return fmt.Errorf("%s: belongs to another user, so nothing in it counts; look through it, then: chown %d %s",
			path, os.Geteuid(), tree.QuoteWord(path))
	}
	return nil
}

func (s Store[T]) damaged(reason string) error {
	return fmt.Errorf("%s: %s, so it is ignored; correct it, or remove it and approve again", s.Path(), reason)
}
