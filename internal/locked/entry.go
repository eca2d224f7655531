package locked

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
)

// Entry is one version of a server's package and of all its dependencies.
type Entry struct {
	// From are the words of the row's command line that the entry replaces. If the row has others now, the entry is not
	// for it.
	From      []string  `json:"from"`
	Ecosystem Ecosystem `json:"ecosystem"`
	Package   string    `json:"package"`
	Version   string    `json:"version"`
	// Integrity is the hash of the package itself, as its registry states it.
	Integrity string `json:"integrity"`
	// Program is the file that is run, below the directory of the entry.
	Program string `json:"program"`
	// Scripts are the packages whose install scripts ran, or only [NoScripts]. It is nil if no package has one.
	Scripts []string `json:"scripts,omitempty"`
	// Runtime is the version of the interpreter for which the packages were chosen, if their choice depends on it.
	Runtime string `json:"runtime,omitempty"`
	// Lock is the ecosystem's own lock: a package-lock.json without addresses, or lines of requirements with hashes.
	Lock json.RawMessage `json:"lock"`
	// Previous is the digest of the entry that this one replaced.
	Previous string `json:"previous,omitempty"`
}

// NoScripts in Scripts says that no script ran, although packages have some.
const NoScripts = "none"

// Digest identifies the files of the entry: the hash of all that decides about them.
func (e Entry) Digest() string {
	e.Previous = ""
	var lock bytes.Buffer
	if json.Compact(&lock, e.Lock) == nil {
		e.Lock = lock.Bytes()
	}
	written, _ := json.Marshal(e)
	return fmt.Sprintf("%.16x", sha256.Sum256(written))
}

// String describes the entry for a person: package, version, hash, number of packages and what identifies all of it.
func (e Entry) String() string {
	scripts := ""
	if len(e.Scripts) > 0 {
		scripts = ", install scripts: " + strings.Join(e.Scripts, " ")
	}
	return fmt.Sprintf("%s %s %s (%s), %d packages%s, runs %s, lock %s", e.Ecosystem, e.Package, e.Version, e.Integrity,
		len(e.Dependencies()), scripts, e.Program, e.Digest())
}

// Fits reports whether the entry is for a command line.
func (e Entry) Fits(s Spec) bool {
	return e.Ecosystem == s.Ecosystem && e.Package == s.Package && slices.Equal(e.From, s.Words)
}

// check returns what is wrong in an entry, which another person may have written.
func (e Entry) check() error {
	switch {
	case e.Ecosystem != NPM && e.Ecosystem != PyPI:
		return fmt.Errorf("the ecosystem %q is unknown", e.Ecosystem)
	case e.Package == "" || e.Version == "" || len(e.From) == 0:
		return errors.New("it has no package, version or command line")
	case !filepath.IsLocal(filepath.FromSlash(e.Program)):
		return fmt.Errorf("its program %q is not below its directory", e.Program)
	case e.Ecosystem == NPM:
		_, err := e.npmPackages()
		return err
	}
	_, err := e.requirements()
	return err
}

// File has the entries of the servers of one configuration file.
type File struct {
	LockVersion int              `json:"lockVersion"`
	Servers     map[string]Entry `json:"servers"`
}

const (
	lockVersion = 1
	maxFile     = 32 << 20
)

// Path returns the lock file of a configuration file: mcp.lock.json beside mcp.json.
func Path(config string) string {
	return strings.TrimSuffix(config, filepath.Ext(config)) + ".lock.json"
}

// Read reads a lock file. A missing file has no entries.
func Read(path string) (File, error) {
	f := File{LockVersion: lockVersion, Servers: map[string]Entry{}}
	written, err := atomicfile.ReadPlain(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(written, &f); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	if f.LockVersion != lockVersion {
		return f, fmt.Errorf("%s: its version is %d, and this program reads %d", path, f.LockVersion, lockVersion)
	}
	for name, e := range f.Servers {
		if err := e.check(); err != nil {
			return f, fmt.Errorf("%s: the lock of %s: %w", path, name, err)
		}
	}
	return f, nil
}

// Edit changes a lock file. A file without servers is removed. The caller has the lock for editing configuration files,
// so that no other process changes it meanwhile.
func Edit(path string, change func(map[string]Entry) error) error {
	f, err := Read(path)
	if err != nil {
		return err
	}
	if f.Servers == nil {
		f.Servers = map[string]Entry{}
	}
	if err := change(f.Servers); err != nil {
		return err
	}
	if len(f.Servers) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	old, _ := os.Stat(path)
	return atomicfile.Replace(path, append(text, '\n'), old)
}
