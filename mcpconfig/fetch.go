package mcpconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/proc"

	"github.com/indusagi/indus/mcpconfig/internal/edit"
)

const (
	maxFetched  = 64 << 10         // bytes of one file's content or one command's output
	commandWait = 10 * time.Second // a keyring that waits for a person takes longer; it can be unlocked before
	commandTerm = time.Second      // from SIGTERM to SIGKILL
	atOnce      = 4                // commands; the machine has others to serve
	maxCommands = 100              // of one reading, so that it ends in minutes even if each takes its time
	maxFiles    = 1000             // of one reading, because 100,000 fit into 1 MiB
)

// fetchResult is the outcome of a fetch: a value, or what is wrong, which never shows
// anything of what came.
type fetchResult struct{ value, wrong string }

// fetch replaces what ${file:…} and ${cmd:…} stand for, in the rows that may start and
// in no others. Each file is read and each command run once. The error is the
// context's.
func (p *readContext) fetch(ctx context.Context, sources []*source) error {
	if p.dry {
		return nil
	}
	var wants []fetch
	p.each(sources, func(e *entry) { wants = append(wants, e.wants...) })
	got := fetchAll(ctx, wants)
	if err := ctx.Err(); err != nil {
		return err
	}
	p.each(sources, func(e *entry) {
		if len(e.wants) > 0 {
			e.from.again(e, func(f fetch) (value, wrong string) { return got[f].value, got[f].wrong })
		}
	})
	p.each(sources, p.prepare)
	return nil
}

// each calls do for every row that may start and is wanted.
func (p *readContext) each(sources []*source, do func(*entry)) {
	for _, s := range sources {
		for i := range s.entries {
			if e := &s.entries[i]; e.State == Active && (p.only == nil || p.only(e.Server.ID)) {
				do(e)
			}
		}
	}
}

// again reads a row once more, with what was fetched. Its advice was noted already.
func (f *configFile) again(e *entry, fetched func(fetch) (value, wrong string)) {
	s, second := *f.source, *f
	s.notes = nil
	second.source, second.budget = &s, f.later
	r := second.reading(entry{n: e.n, key: e.key, v: e.v}, fetched)
	f.later = second.budget
	e.Server, e.State, e.Reason, e.Hint = r.Server, r.State, r.Reason, r.Hint
	if r.State == Active {
		return
	}
	e.Approval = ""
	for _, n := range s.notes {
		if n.State == r.State {
			f.notes = append(f.notes, n)
		}
	}
}

// fetchAll fetches each once, a few at a time.
func fetchAll(ctx context.Context, wants []fetch) map[fetch]fetchResult {
	got, begun := map[fetch]fetchResult{}, map[fetch]bool{}
	left := map[string]int{"cmd": maxCommands, "file": maxFiles}
	var mu sync.Mutex // guards got
	var running sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, w := range wants {
		if begun[w] {
			continue
		}
		begun[w] = true
		kind := "file"
		if w.kind == "cmd" {
			kind = "cmd"
		}
		if left[kind]--; left[kind] < 0 {
			mu.Lock()
			got[w] = fetchResult{wrong: tooMany(kind)}
			mu.Unlock()
			continue
		}
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			f := w.get(ctx)
			mu.Lock()
			defer mu.Unlock()
			got[w] = f
		})
	}
	running.Wait()
	return got
}

func tooMany(kind string) string {
	if kind == "cmd" {
		return fmt.Sprintf("is not run: a reading runs at most %d commands", maxCommands)
	}
	return fmt.Sprintf("is not read: a reading reads at most %d files", maxFiles)
}

func (f fetch) get(ctx context.Context) fetchResult {
	switch {
	case ctx.Err() != nil:
		return fetchResult{}
	case f.kind == "cmd":
		return runSecret(ctx, f.what, f.dir, commandWait)
	}
	path, err := filepath.EvalSymlinks(f.what)
	switch {
	case err != nil:
		path = f.what // reading says what is wrong with it
	case f.root != "" && !isWithin(realPath(f.root), path):
		return fetchResult{wrong: "is a link that leads out of the project"}
	case f.apart != "" && isWithin(realPath(f.apart), path):
		return fetchResult{wrong: `is the project's, where anybody may have written it; if the project is meant, add "cwd": "${workspaceFolder}"`}
	}
	if f.kind == "file" {
		return readSecret(path)
	}
	text, err := atomicfile.ReadPlain(path, maxFetched)
	if err != nil {
		return fetchResult{wrong: edit.Reason(err)}
	}
	return fetchResult{value: string(text)}
}

func readSecret(path string) fetchResult {
	text, err := edit.ReadFilled(path, maxFetched)
	if err != nil {
		return fetchResult{wrong: edit.Reason(err)}
	}
	return usable(text, "holds")
}

// runSecret runs a command line in a process group of its own, which ends with it.
// It gets this process's environment but for the keys of indus, as what asks a keyring must, and no terminal.
func runSecret(ctx context.Context, line, dir string, wait time.Duration) fetchResult {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	out := &limited{full: cancel}
	exit, err := proc.Run(ctx, proc.Command{
		Path: shell()[0], Args: append(shell()[1:], line), Dir: dir, Env: shellEnv(),
		Grace: proc.Grace{Term: commandTerm},
	}, nil, out, nil)
	switch {
	case out.over:
		return fetchResult{wrong: fmt.Sprintf("printed more than %d KiB", maxFetched>>10)}
	case errors.Is(err, context.DeadlineExceeded):
		return fetchResult{wrong: fmt.Sprintf("took longer than %.0f s", wait.Seconds())}
	case err != nil:
		return fetchResult{wrong: "cannot be run: " + edit.Reason(err)}
	case exit != 0:
		return fetchResult{wrong: fmt.Sprintf("ended with exit status %d", exit)}
	}
	return usable(out.text.Bytes(), "printed")
}

func shell() []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	return []string{"sh", "-c"}
}

// shellEnv is this process's environment without the keys of indus ([KeyVariables]). Windows would look for a program in
// the working directory first, which may be a repository; this variable forbids it.
func shellEnv() []string {
	env := proc.Without(os.Environ(), KeyVariables(nil)...)
	if runtime.GOOS == "windows" {
		env = append(env, "NoDefaultCurrentDirectoryInExePath=1")
	}
	return env
}

// usable is a text without its last line break, unless there is nothing in it or a NUL.
func usable(text []byte, verb string) fetchResult {
	value := strings.TrimSuffix(string(text), "\n")
	value = strings.TrimSuffix(value, "\r")
	switch {
	case len(value) > maxFetched:
		return fetchResult{wrong: fmt.Sprintf("%s more than %d KiB", verb, maxFetched>>10)}
	case value == "":
		return fetchResult{wrong: verb + " nothing"}
	case strings.Contains(value, "\x00"):
		return fetchResult{wrong: verb + " a NUL character"}
	}
	return fetchResult{value: value}
}

// limited keeps what a command prints, and has it ended when that is too much. The
// buffer is no embedded one, whose ReadFrom would go past the limit.
type limited struct {
	text bytes.Buffer
	full func()
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if l.over = l.over || l.text.Len()+len(b) > maxFetched+2; l.over { // a line break may follow
		l.full()
		return len(b), nil
	}
	return l.text.Write(b)
}

// watched are the files whose change may change the outcome.
func (p *readContext) watched(found *searchResult) []string {
	files := slices.Clone(found.searched)
	if p.state != "" {
		files = append(files, p.store().Path())
	}
	seen := map[string]bool{}
	p.each(found.sources, func(e *entry) {
		for _, w := range e.wants {
			if w.kind != "cmd" && !seen[w.what] {
				seen[w.what] = true
				files = append(files, w.what)
			}
		}
		if ca := e.Server.TLS.CA; ca != "" && e.from.scope == Project && !seen[ca] { // see coverAuthorities
			seen[ca] = true
			files = append(files, ca)
		}
	})
	return files
}
