// Package install runs the package managers for package locked: it finds the version that a launcher would run now, and
// installs exactly the version of an entry.
//
// Every manager runs in a new directory of the store, with the user's own configuration and none of a project. Scripts
// of packages run only if they are named.
package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
)

// Installer runs package managers.
type Installer struct {
	Store locked.Store
	// Env is the environment of the managers. Their PATH is in it.
	Env []string
	// Confine completes a command before it runs, so that it reaches its directory and registries only. It may be nil.
	Confine func(command proc.Command, dir string) (proc.Command, error)
}

// ErrScripts is returned if a package has an install script about which nothing was decided.
var ErrScripts = errors.New("has a script that runs at its installation")

// ErrGone is returned if the registry does not have a package or a version.
var ErrGone = errors.New("it is not in the registry")

// Resolve returns the entry for the version that a spec means now. Nothing is installed, and no script runs.
func (i *Installer) Resolve(ctx context.Context, s locked.Spec) (locked.Entry, error) {
	dir, clean, err := i.stage()
	if err != nil {
		return locked.Entry{}, err
	}
	defer clean()
	if s.Ecosystem == locked.NPM {
		return i.resolveNPM(ctx, s, dir)
	}
	return i.resolvePip(ctx, s, dir)
}

// Install puts the files of an entry into the store, and returns their directory. If they are there and have not
// changed, nothing runs.
func (i *Installer) Install(ctx context.Context, server string, e locked.Entry) (string, error) {
	dir := i.Store.Dir(server, e)
	if locked.Check(dir) == nil {
		return dir, nil
	}
	at, clean, err := i.stage()
	if err != nil {
		return "", err
	}
	defer clean()
	if e.Ecosystem == locked.NPM {
		err = i.installNPM(ctx, e, at)
	} else {
		err = i.installPip(ctx, e, at)
	}
	if err != nil {
		return "", err
	}
	return dir, i.Store.Put(server, e, at)
}

// Newest returns the newest version of a package in its registry.
func (i *Installer) Newest(ctx context.Context, e locked.Ecosystem, name string) (string, error) {
	s := locked.Spec{Ecosystem: e, Package: name, Words: []string{name}}
	if e == locked.NPM {
		return i.newestNPM(ctx, name)
	}
	found, err := i.Resolve(ctx, s)
	return found.Version, err
}

// stage makes a directory in the store for one run of a manager.
func (i *Installer) stage() (dir string, clean func(), err error) {
	if err := os.MkdirAll(i.Store.Root, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(i.Store.Root, ".stage-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// run runs a manager in a directory and returns its output. Its error has the last lines of the other output.
func (i *Installer) run(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	c := proc.Command{Path: program, Args: args, Dir: dir, Env: i.Env}
	if i.Confine != nil {
		var err error
		if c, err = i.Confine(c, dir); err != nil {
			return nil, err
		}
	}
	var out, problems bytes.Buffer
	exit, err := proc.Run(ctx, c, nil, &out, &problems)
	switch {
	case err != nil:
		return nil, err
	case exit != 0:
		return out.Bytes(), &failure{filepath.Base(program) + " " + args[0], exit, problems.String()}
	}
	return out.Bytes(), nil
}

// failure is the end of a manager with a status other than 0.
type failure struct {
	name     string
	exit     int
	problems string
}

// knownFailures are the codes of package managers with the words for them.
var knownFailures = []struct{ sign, words string }{
	{"NewConnectionError", "the registry cannot be reached"},
	{"EINTEGRITY", otherFiles},
	{"THESE PACKAGES DO NOT MATCH THE HASHES", otherFiles},
	{"ETARGET", "the registry no longer has this version"},
	{"E404", "the registry has no such package"},
	{"No matching distribution found", "the registry has no such version for this Python"},
	{"No matching version", "the registry no longer has this version"},
	{"EUSAGE", "its package-lock.json does not belong to this version"},
	{"ENOTFOUND", "the registry cannot be reached"},
	{"EAI_AGAIN", "the registry cannot be reached"},
	{"ECONNREFUSED", "the registry cannot be reached"},
}

const otherFiles = "the registry has other files for this version than the lock: they were replaced, or the lock was " +
	"changed"

const maxProblem = 300

// Is reports the causes of which a caller can decide.
func (f *failure) Is(target error) bool {
	return target == ErrGone && (strings.Contains(f.problems, "E404") || strings.Contains(f.problems, "ETARGET") ||
		strings.Contains(f.Error(), "no such version"))
}

func (f *failure) Error() string {
	for _, r := range knownFailures {
		if strings.Contains(f.problems, r.sign) {
			return f.name + ": " + r.words
		}
	}
	last := strings.TrimSpace(f.problems)
	if lines := strings.Split(last, "\n"); len(lines) > 3 {
		last = strings.Join(lines[len(lines)-3:], "\n")
	}
	return fmt.Sprintf("%s: exited with code %d: %s", f.name, f.exit, text.Clip(last, maxProblem))
}
