package locked

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
)

// Store has the files of entries: a directory for each server, and in it for each entry, by its digest, a directory
// with the files, a list of their hashes (".files"), and the entry itself (".json").
type Store struct{ Root string }

// NewStore returns the store of a user, by the value of XDG_DATA_HOME and the home directory: indus/store below
// $XDG_DATA_HOME, or else below ~/.local/share.
func NewStore(data, home string) Store {
	if !filepath.IsAbs(data) {
		data = filepath.Join(home, ".local", "share")
	}
	return Store{Root: filepath.Join(data, "indus", "store")}
}

// Dir returns the directory of an entry's files. Names of servers may be any text.
func (s Store) Dir(server string, e Entry) string {
	return filepath.Join(s.Root, DirectoryName(server), e.Digest())
}

// DirectoryName returns the name of a directory for a server: its own name as far as that is plain, with a hash of it.
func DirectoryName(server string) string {
	plain := strings.Map(func(c rune) rune {
		if c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 {
			return c
		}
		return '_'
	}, server)
	const most = 40
	return fmt.Sprintf("%s-%.4x", plain[:min(len(plain), most)], sha256.Sum256([]byte(server)))
}

// FilesOf returns the list of the hashes of a directory of the store.
func FilesOf(dir string) string { return dir + ".files" }

// ErrMissing is returned for an entry whose files are not in the store of this machine.
var ErrMissing = errors.New("its locked version is not installed on this machine")

// Command returns the command line that runs an entry, with further arguments. It is the same whether the entry is
// installed or not.
func (s Store) Command(server string, e Entry, args []string) (command string, argv []string) {
	dir := s.Dir(server, e)
	program := filepath.Join(dir, filepath.FromSlash(e.Program))
	if e.Ecosystem == PyPI {
		return filepath.Join(dir, filepath.FromSlash(VenvBin), "python"), append([]string{"-B", program}, args...)
	}
	switch filepath.Ext(program) {
	case ".js", ".mjs", ".cjs", "":
		return "node", append([]string{program}, args...)
	}
	return program, args
}

// Put moves a directory with the files of an entry to its place, and writes the list of their hashes last. Files that
// are there already are replaced.
func (s Store) Put(server string, e Entry, from string) error {
	dir := s.Dir(server, e)
	files, err := hashFiles(from)
	if err != nil {
		return err
	}
	written, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := s.Remove(server, e.Digest()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Rename(from, dir); err != nil {
		return err
	}
	if err := atomicfile.Replace(dir+".json", written, nil); err != nil {
		return err
	}
	return atomicfile.Replace(FilesOf(dir), files, nil)
}

// Remove removes the files of an entry, by its digest. "" is no entry.
func (s Store) Remove(server, digest string) error {
	if !digestForm().MatchString(digest) {
		return nil
	}
	dir := filepath.Join(s.Root, DirectoryName(server), digest)
	for _, path := range []string{FilesOf(dir), dir + ".seen", dir + ".json"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(dir)) // if it was the last one
	return nil
}

var digestForm = text.Pattern(`^[0-9a-f]{32}$`)

// Entry returns an entry of a server by its digest, or [ErrMissing].
func (s Store) Entry(server, digest string) (e Entry, err error) {
	if !digestForm().MatchString(digest) {
		return e, ErrMissing
	}
	written, err := atomicfile.ReadPlain(filepath.Join(s.Root, DirectoryName(server), digest+".json"), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return e, ErrMissing
	}
	if err == nil {
		err = json.Unmarshal(written, &e)
	}
	if err == nil {
		err = e.check()
	}
	return e, err
}
