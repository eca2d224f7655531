package session

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// createBuiltins creates the built-in tools that --tools selects.
func (x *session) createBuiltins() error {
	tc, err := toolbox.NewContext(x.dir)
	if err != nil {
		return err
	}
	tc.ID = x.id
	x.private = privateReason(x.dir, command.HomeDirectories(), ownDirectories())
	if x.private != "" && !x.flags.noTools {
		x.streams.Reportf("%s: each look at a file asks first; start indus in a project's directory, where looks do not ask",
			x.private)
	}
	tc.FS = protectedFS{FS: tc.FS, dir: x.dir, protected: append(ownDirectories(), x.flags.trustedFiles()...)}
	tc.Shell = keylessShell{tc.Shell, mcpconfig.KeyVariables(nil)}
	x.deck = standard.New(&standard.Options{AllowPrivate: x.flags.private})
	x.refusal = func(ctx context.Context, c toolbox.Call) error { return x.deck.Refusal(ctx, tc, c) }
	x.local = toolbox.NewRegistry(tc)
	if !x.flags.noTools {
		x.local.Add(chosenTools(x.deck.Tools(), x.flags.tools)...)
	}
	return nil
}

// canonicalName returns the name of a built-in tool for any spelling: web-fetch, Web_Fetch, webfetch.
func canonicalName(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(strings.TrimSpace(name)))
}

// chosenTools returns the tools with these names, or all tools if there are no names.
func chosenTools(all []toolbox.Tool, names []string) []toolbox.Tool {
	wanted := show.Names(names, canonicalName)
	if wanted == nil {
		return all
	}
	return slices.DeleteFunc(all, func(t toolbox.Tool) bool { return !slices.Contains(wanted, canonicalName(t.Name)) })
}

// checkTools refuses names of tools that do not exist.
func checkTools(names []string) error {
	deck := standard.New(nil)
	defer deck.Close()
	known := show.Names(deck.Tools(), func(t toolbox.Tool) string { return t.Name })
	for _, n := range names {
		is := func(k string) bool { return canonicalName(k) == canonicalName(n) }
		if canonicalName(n) == "" || slices.ContainsFunc(known, is) {
			continue
		}
		return command.Usagef("--tools: no built-in tool %q%s", n,
			cmp.Or(command.DidYouMean(n, known), ": there is "+strings.Join(known, ", ")))
	}
	return nil
}

// keylessShell is a shell without the keys of models. Commands do not need them, and "env" would show them to the model
// and its provider.
type keylessShell struct {
	toolbox.Shell
	variables []string
}

// Run implements [toolbox.Shell].
func (k keylessShell) Run(ctx context.Context, c toolbox.Command) (int, error) {
	c.Env = slices.Clone(c.Env)
	for _, name := range k.variables {
		if _, set := os.LookupEnv(name); set {
			c.Env = append(c.Env, name+"=")
		}
	}
	return k.Shell.Run(ctx, c)
}

// errProtected is returned for changes of indus's own configuration.
var errProtected = errors.New("indus keeps its own configuration here, which tools may not change")

// ownDirectories returns the directories with the configuration and the approvals of indus.
func ownDirectories() (dirs []string) {
	dirs = append(dirs, mcpconfig.StateDir(nil))
	for _, scope := range []mcpconfig.Scope{mcpconfig.User, mcpconfig.Legacy} {
		if path, err := mcpconfig.PathOf(scope, nil); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}

// trustedFiles returns files named on the command line that are trusted without approval. Servers of --mcp start
// immediately, and the ledger records which tools were approved.
func (f *flags) trustedFiles() (files []string) {
	named := slices.Clone(f.Paths)
	if ledger, err := f.Path(); err == nil {
		named = append(named, ledger)
	}
	for _, name := range named {
		info, err := os.Stat(name)
		if path, failed := filepath.Abs(name); failed == nil && (err != nil || !info.IsDir()) {
			files = append(files, path)
		}
	}
	return files
}

// protectedFS protects the files of indus against changes. They can be read. A tool that could change them could
// approve itself.
type protectedFS struct {
	toolbox.FS
	dir       string // the directory of FS
	protected []string
}

// WriteFile implements [toolbox.FS].
func (f protectedFS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	if err := f.check("write", name); err != nil {
		return err
	}
	return f.FS.WriteFile(name, data, perm)
}

// MkdirAll implements [toolbox.FS].
func (f protectedFS) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.check("mkdir", name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

// Remove implements [toolbox.FS].
func (f protectedFS) Remove(name string) error {
	if err := f.check("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// ReadLink implements [fs.ReadLinkFS].
func (f protectedFS) ReadLink(name string) (string, error) { return fs.ReadLink(f.FS, name) }

// Lstat implements [fs.ReadLinkFS].
func (f protectedFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.FS, name) }

// CheckWrite implements [standard.WriteChecker].
func (f protectedFS) CheckWrite(name string) error { return f.check("write", name) }

var _ standard.WriteChecker = protectedFS{}

// check refuses names of indus's own files, through any links and in any case.
func (f protectedFS) check(op, name string) error {
	path := atomicfile.Real(filepath.Join(f.dir, filepath.FromSlash(name)))
	for dir := path; ; dir = filepath.Dir(dir) {
		if strings.EqualFold(filepath.Base(dir), ".indusvx") ||
			slices.ContainsFunc(f.protected, func(own string) bool { return command.SameDirectory(own, dir) }) {
			return &fs.PathError{Op: op, Path: name, Err: errProtected}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
