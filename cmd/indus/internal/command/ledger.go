package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// LockWait bounds the wait of a server for a ledger that another process holds: no client is served before.
const LockWait = 3 * time.Second

// LedgerFlags are the flags of every command that reads the ledger.
type LedgerFlags struct {
	path string
	Flag *pflag.Flag // whose value is path
	// Looks: the command shows no tool and calls none, and so enrolls no server of which changes are held.
	Looks bool
}

// Add adds the flag.
func (f *LedgerFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "ledger", "", `FILE  the ledger (default: indus/ledger.jsonl in $XDG_STATE_HOME, by default
		~/.local/state)`)
	f.Flag = cmd.Flags().Lookup("ledger")
}

// ledgerExitHelp is for commands that read the ledger alone.
const ledgerExitHelp = `Exit codes:
  0    ok
  1    the ledger cannot be read or written
  2    usage: flags, names and files
  130  interrupted`

// Path is where the ledger is, there or not.
func (f *LedgerFlags) Path() (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return "", Usagef("no home directory is known, where the ledger would be: name a file with --ledger")
	}
	return filepath.Join(dir, "ledger.jsonl"), nil
}

// absent is what becomes of a ledger that is not there.
type absent int

const (
	refuseAbsent absent = iota
	beginAbsent         // it is made, unless there was one
	makeAbsent          // it is made in any case
)

// Open is the ledger that is there.
func (f *LedgerFlags) Open(ctx context.Context) (*ledger.File, string, error) {
	return f.open(ctx, refuseAbsent, HeldWait, nil)
}

// errRemoved is of a ledger that was there, and is not.
var errRemoved = errors.New("was removed, and with it what was approved; put it back, or begin anew: indus serve")

func (f *LedgerFlags) open(ctx context.Context, or absent, wait time.Duration, o *ledger.FileOptions) (*ledger.File, string, error) {
	path, err := f.Path()
	if err != nil {
		return nil, "", err
	}
	there, err := LedgerExists(path)
	switch {
	case err != nil:
		return nil, path, err
	case !there && or != makeAbsent && WasRemoved(path):
		return nil, path, fmt.Errorf("%s %w", path, errRemoved)
	case !there && or == refuseAbsent:
		return nil, path, Usagef("%s: nothing has been served yet: indus serve writes it", path)
	}
	file, err := OpenLedger(ctx, path, wait, o)
	if err != nil {
		return nil, path, err // and no file that is half open
	}
	return file, path, nil
}

// HeldWait bounds the wait of a command for a ledger that another process holds.
const HeldWait = 10 * time.Second

// OpenLedger opens a ledger, or makes it. It waits so long for the process that holds it.
func OpenLedger(ctx context.Context, path string, wait time.Duration, o *ledger.FileOptions) (*ledger.File, error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	file, err := ledger.OpenFile(bounded, path, o)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s: another process holds it, and does not let go; is one of indus stopped?", path)
	}
	return file, err
}

// WasRemoved reports whether the directory of runs shows that there was a ledger.
func WasRemoved(path string) bool {
	_, err := os.Lstat(path + ".runs")
	return err == nil
}

// ReportRemoved reports that a ledger was removed, and begun anew when it was opened.
func (f *LedgerFlags) ReportRemoved(file *ledger.File, path string, s show.Streams) {
	if file != nil && file.Removed() {
		s.Reportf("%s was removed, and with it what was approved: no tool counts as approved; look at them, and accept them: indus mcp accept%s",
			path, f.Repeat())
	}
}

// Read is the ledger that is there, and what the present depends on. Runs whose process is gone are over by then.
func (f *LedgerFlags) Read(ctx context.Context) (*ledger.File, []ledger.Entry, error) {
	file, err := f.reaped(ctx)
	if err != nil {
		return nil, nil, err
	}
	entries, err := file.Read(ctx, 0)
	return file, entries, err
}

// History is all that is in the ledger that is there, and in its archives.
func (f *LedgerFlags) History(ctx context.Context) ([]ledger.Entry, error) {
	file, err := f.reaped(ctx)
	if err != nil {
		return nil, err
	}
	return file.History(ctx)
}

func (f *LedgerFlags) reaped(ctx context.Context) (*ledger.File, error) {
	file, _, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := file.Reap(ctx); err != nil && ctx.Err() != nil {
		return nil, err // otherwise what is written can be read all the same
	}
	return file, nil
}

// Repeat is the flag as a person has to repeat it.
func (f *LedgerFlags) Repeat() string {
	if f.path == "" {
		return ""
	}
	return " --ledger " + f.path
}

// LedgerExists reports whether a file is there. One that is no ledger is an error: opening
// it as one would cut its last line if that has no end.
func LedgerExists(path string) (there bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, Usagef("%s is no file", path)
	case info.Size() == 0:
		return true, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	const search = 8 << 20 // a line or two of the longest
	in := bufio.NewReader(io.LimitReader(file, search))
	for begins := true; ; {
		part, err := in.ReadSlice('\n')
		if begins && bytes.HasPrefix(part, []byte(`{"seq":`)) {
			return true, nil
		}
		begins = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, Usagef("%s is no ledger: none of its lines is an entry", path)
		}
	}
}

// Entries is what the present depends on: nothing where no ledger is kept yet.
func (f *LedgerFlags) Entries(ctx context.Context) ([]ledger.Entry, error) {
	file, err := f.existing(ctx)
	if file == nil {
		return nil, err
	}
	return file.Read(ctx, 0)
}

// existing is the ledger; nil where none is kept yet.
func (f *LedgerFlags) existing(ctx context.Context) (*ledger.File, error) {
	path, err := f.Path()
	if err != nil {
		return nil, err
	}
	if there, err := LedgerExists(path); err != nil || !there && f.path == "" {
		return nil, err
	}
	file, _, err := f.Open(ctx)
	return file, err
}

// Version is a version of a tool of a server, as it is configured.
type Version struct{ Config, Server, Tool, Sum string }

// VersionOf is what an entry is about.
func VersionOf(e ledger.Entry) Version { return Version{e.Config, e.Server, e.Tool, e.Sum} }

// pins is the ledger as a command uses it that is over soon: it writes which versions of
// tools it saw that nobody had seen before, and nothing where there are none.
type pins struct {
	*ledger.File
	known  map[Version]bool
	begins []ledger.Entry // not written yet
	begun  bool
	looks  bool // it enrolls nothing: the command shows no tool, and calls none
	s      show.Streams
	failed sync.Once // reports that the ledger cannot be written
}

var _ ledger.Log = (*pins)(nil)

func (f *LedgerFlags) openPins(ctx context.Context, s show.Streams) (*pins, error) {
	file, path, err := f.open(ctx, makeAbsent, LockWait, nil)
	if err != nil {
		return nil, err
	}
	f.ReportRemoved(file, path, s)
	p := &pins{File: file, looks: f.Looks, known: map[Version]bool{}, s: s}
	entries, err := file.Read(ctx, 0)
	for _, e := range entries {
		p.known[VersionOf(e)] = true
	}
	return p, err
}

// Append implements [ledger.Log].
func (p *pins) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	begins, fresh := slices.Clone(p.begins), map[Version]bool{}
	var news []ledger.Entry
	for _, e := range entries {
		isNew := !p.known[VersionOf(e)] && !fresh[VersionOf(e)]
		switch {
		case e.Op == ledger.Begin:
			begins = append(begins, e)
		case e.Op == ledger.End && (p.begun || len(news) > 0), isNew && (e.Op == ledger.Enroll && !p.looks || e.Op == ledger.Hold):
			news = append(news, e)
			fresh[VersionOf(e)] = true
		}
	}
	if len(news) == 0 {
		p.begins = begins
		return nil, nil
	}
	written, err := p.File.Append(ctx, append(begins, news...)...)
	if err != nil { // and nothing has changed: the same entries come again
		if ctx.Err() == nil {
			p.failed.Do(func() {
				p.s.Reportf("the ledger cannot be written, and lacks the tools that were seen now: %s", strings.TrimPrefix(err.Error(), "ledger: "))
			})
		}
		return nil, err
	}
	p.begun, p.begins = true, nil
	maps.Copy(p.known, fresh)
	return written, nil
}

// HeldBack says that a tool is kept back, and how to let it in.
func (f *LedgerFlags) HeldBack(names ...string) string {
	is, it := "is kept back: it is new or changed since its server was approved", "it"
	if len(names) > 1 {
		is, it = "are kept back: they are new or changed since their servers were approved", "them"
	}
	return strings.Join(names, ", ") + " " + is + "; look at " + it + ", and accept " + it + ": indus mcp accept" + f.Repeat()
}
