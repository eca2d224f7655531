package mcpconfig

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/approvals"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// fetch replaces each ${file:…} and ${cmd:…} in the rows that may start, and in no others. Each file is read and each
// command run once. The error is the context's.
func (p *readContext) fetch(ctx context.Context, sources []*source) error {
	if p.Dry {
		return nil
	}
	var fetches []fetch
	p.eachActive(sources, func(e *entry) { fetches = append(fetches, e.fetches...) })
	results, err := p.fetchAll(ctx, fetches)
	if err != nil {
		return err
	}
	p.eachActive(sources, func(e *entry) {
		if len(e.fetches) > 0 {
			e.file.refetch(e, results)
		}
	})
	p.eachActive(sources, p.prepare)
	return nil
}

// eachActive calls do for every row that may start and that Only selects.
func (p *readContext) eachActive(sources []*source, do func(*entry)) {
	for _, s := range sources {
		for i := range s.entries {
			if e := &s.entries[i]; e.State == Active && (p.Only == nil || p.Only(e.Server.ID)) {
				do(e)
			}
		}
	}
}

// refetched returns the values of a row again, with the fetched values. Advice about the row was noted before.
func (e *entry) refetched(fetched func(fetch) fetchResult, budget *int) *valuedRow {
	r := newValuedRow(e.typed, e.file.site, fetched, budget)
	if takes := r.describeProjectUse(); takes != "" && e.projectUse == "" {
		r.skip(r.at, "its fetched values refer to a project: it "+takes,
			`write "${workspaceFolder}" where the project is meant`)
	}
	return r
}

// refetch replaces the values of a row that may start by the fetched ones.
func (f *configFile) refetch(e *entry, fetched func(fetch) fetchResult) {
	r := e.refetched(fetched, &f.rereadBudget)
	if e.Pinned() && !r.skipped && !f.approved {
		a, _ := findApproval(f.place.approved(), atomicfile.Real(f.path), e.Server.ID, e.Project)
		if a.Fingerprint != e.Approval+pinOf(r.server) {
			f.setState(e, Held, "found in a project's file, and its fetched values have changed since it was approved at "+
				a.approvedAt(), fmt.Sprintf(approveHint, ""))
			return
		}
	}
	e.settle(r)
	if !r.skipped {
		return
	}
	e.Approval = ""
	r.list = slices.DeleteFunc(r.list, func(p problem) bool { return !p.skips })
	f.report(&r.findings, e.n)
}

// Resolve fetches the values that an approval of a row of Rows covers in addition to its text. It runs each ${cmd:…},
// and reads each ${file:…}, that decides the command line or the address of the server. It returns the row with these
// values. Call it only if a person wants these commands to run. If the row has no such value, Resolve returns it
// unchanged.
func (c *Config) Resolve(ctx context.Context, r Row) (Row, error) {
	e := c.entry(r)
	if e == nil || !e.Pinned() {
		return r, nil
	}
	results, err := e.file.place.fetchAll(ctx, e.pinned)
	if err != nil {
		return e.Row, err
	}
	budget := e.file.rereadBudget
	again := e.refetched(results, &budget)
	if again.skipped {
		return e.Row, fmt.Errorf("%s: server %s: %s", e.File, tree.Quote(e.Server.ID), again.reason)
	}
	row := e.Row
	row.Server, row.Approval = again.server, e.Approval+pinOf(again.server)
	for _, f := range e.pinned {
		content := RowFile{Path: f.target, Text: results(f).value}
		if f.kind == "cmd" {
			content.Path = "${cmd:" + f.target + "}"
		} else { // a file of the user
			content.Text = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(content.Text)))
		}
		row.Files = append(slices.Clip(row.Files), content)
	}
	return row, nil
}

// fetchAll runs each fetch once, a few at a time. The error is the context's.
func (p *readContext) fetchAll(ctx context.Context, fetches []fetch) (func(fetch) fetchResult, error) {
	results := map[fetch]*fetchResult{}
	remaining := map[string]int{"cmd": maxCommands, "file": maxFiles}
	var running errgroup.Group
	running.SetLimit(maxParallel)
	for _, w := range fetches {
		if results[w] != nil {
			continue
		}
		kind := "file"
		if w.kind == "cmd" {
			kind = "cmd"
		}
		result := &fetchResult{reason: limitReasons[kind]}
		results[w] = result
		remaining[kind]--
		if remaining[kind] >= 0 {
			running.Go(func() error {
				*result = p.get(ctx, w)
				return nil
			})
		}
	}
	_ = running.Wait() // no fetch returns an error
	return func(f fetch) (out fetchResult) {
		if result := results[f]; result != nil { // otherwise it was not requested
			out = *result
		}
		return out
	}, ctx.Err()
}

func (p *readContext) get(ctx context.Context, f fetch) fetchResult {
	switch {
	case ctx.Err() != nil:
		return fetchResult{}
	case f.kind == "cmd":
		return runSecret(ctx, f, commandWait)
	}
	read := readFrom
	if f.root != "" {
		read = p.projectFile
	}
	switch results := read(f); {
	case results.reason != "" || f.kind == "env":
		return results
	case results.value == "":
		return fetchResult{reason: "is empty"}
	default:
		return usable([]byte(results.value), "holds")
	}
}

// runSecret runs a command line in a process group of its own, which ends with it. The command has no terminal. It gets
// the environment of this process without the keys of indus, because a command that reads a keyring needs the
// environment.
func runSecret(ctx context.Context, f fetch, wait time.Duration) fetchResult {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	out := &limited{onFull: cancel}
	exit, err := proc.Run(ctx, proc.Command{
		Path: shell()[0], Args: append(shell()[1:], f.target), Dir: f.dir, Env: shellEnv(f.path),
		Grace: proc.Grace{Term: commandTerm},
	}, nil, out, nil)
	switch {
	case out.isFull:
		return fetchResult{reason: fmt.Sprintf("printed more than %d KiB", maxFetched>>10)}
	case errors.Is(err, context.DeadlineExceeded):
		return fetchResult{reason: fmt.Sprintf("took longer than %.0f s", wait.Seconds())}
	case err != nil:
		return fetchResult{reason: "cannot be run: " + edit.Reason(err)}
	case exit != 0:
		return fetchResult{reason: fmt.Sprintf("ended with exit status %d", exit)}
	}
	return usable(out.text.Bytes(), "printed")
}

func shell() []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	return []string{"sh", "-c"}
}

// shellEnv returns this process's environment without the keys of indus ([KeyVariables]). If path is not "", it
// replaces PATH. Windows would look for a program in the working directory first, which may be a repository. The
// variable NoDefaultCurrentDirectoryInExePath forbids that.
func shellEnv(path string) []string {
	env := proc.Without(os.Environ(), KeyVariables(nil)...)
	if path != "" {
		env = append(env, "PATH="+path) // the last of two counts
	}
	if runtime.GOOS == "windows" {
		env = append(env, "NoDefaultCurrentDirectoryInExePath=1")
	}
	return env
}

// usable returns a text without its last line break. A text that is empty, too long or has a NUL is an error.
func usable(text []byte, verb string) fetchResult {
	value := strings.TrimSuffix(string(text), "\n")
	value = strings.TrimSuffix(value, "\r")
	switch {
	case len(value) > maxFetched:
		return fetchResult{reason: fmt.Sprintf("%s more than %d KiB", verb, maxFetched>>10)}
	case value == "":
		return fetchResult{reason: verb + " nothing"}
	case strings.Contains(value, "\x00"):
		return fetchResult{reason: verb + " a NUL character"}
	}
	return fetchResult{value: value}
}

// limited keeps the output of a command, and calls onFull if it is too long. The buffer is not embedded, because its
// ReadFrom would ignore the limit.
type limited struct {
	text   bytes.Buffer
	onFull func()
	isFull bool
}

func (l *limited) Write(b []byte) (int, error) {
	l.isFull = l.isFull || l.text.Len()+len(b) > maxFetched+2 // a line break may follow
	if l.isFull {
		l.onFull()
		return len(b), nil
	}
	return l.text.Write(b)
}

// watchedPaths returns the paths of the files that can change the outcome.
func (p *readContext) watchedPaths(found *searchResult) []string {
	files := slices.Clone(found.searched)
	if p.State != "" {
		files = append(files, p.store().Path())
	}
	seen := map[string]bool{}
	add := func(path string) {
		if !seen[path] {
			seen[path] = true
			files = append(files, path)
		}
	}
	p.eachActive(found.sources, func(e *entry) {
		for _, w := range e.fetches {
			if w.kind != "cmd" {
				add(w.target)
			}
		}
	})
	for _, s := range found.sources {
		for _, e := range s.entries {
			for _, f := range e.Files {
				if e.State == Active || e.State == Held {
					add(f.Path)
				}
			}
		}
	}
	return files
}

// prepare makes the directories in which servers start, and the homes of sandboxes. If a directory cannot be made, the
// row is skipped.
func (p *readContext) prepare(e *entry) {
	t, ok := e.Server.Transport.(config.Stdio)
	if ok && t.Fresh {
		p.prepareDir(e, t.Dir, "it has no directory to start in: ",
			`set XDG_STATE_HOME to a directory that you alone can write, or give the server a "cwd"`)
	}
	if ok && e.State == Active && t.Sandbox != nil && t.Sandbox.Home != "" {
		p.prepareDir(e, t.Sandbox.Home, "its sandbox has no home: ",
			"set XDG_STATE_HOME to a directory that you alone can write")
	}
}

// prepareDir makes a directory of a server in the state of indus.
func (p *readContext) prepareDir(e *entry, path, because, hint string) {
	fail := func(reason string) {
		e.Server = config.Server{ID: e.Server.ID}
		e.Approval = ""
		e.file.setState(e, Skipped, because+reason, hint)
	}
	if path == "" {
		fail("there is no home directory")
		return
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		fail(fmt.Sprintf("%s: %s", path, edit.Reason(err)))
		return
	}
	for _, dir := range []string{p.State, filepath.Dir(path), path} {
		info, err := os.Lstat(dir)
		if err == nil && dir != p.State && !info.IsDir() {
			fail(dir + " is no directory but a link")
			return
		}
		if err := approvals.CheckPrivate(dir); err != nil {
			fail(err.Error())
			return
		}
	}
}
