package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// LockWait bounds how long a server waits for a ledger that another process holds. No client is served before.
const LockWait = 3 * time.Second

// LedgerFlags holds the flags of every command that reads the ledger.
type LedgerFlags struct {
	path string
	Flag *pflag.Flag // the flag that sets path
	// Looks is set by a command that shows no tool and calls none. Such a command enrolls no tools.
	Looks bool
	// Named adds --ledger to commands that messages suggest, because they would use the ledger of a cluster otherwise.
	Named bool

	absentPlace string // for a message that there is no ledger
}

// Add adds the flag.
func (f *LedgerFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "ledger", "",
		`FILE  the file of the ledger (default: indus/ledger.jsonl in $XDG_STATE_HOME or ~/.local/state)`)
	f.Flag = cmd.Flags().Lookup("ledger")
}

// ledgerExitHelp lists the exit codes of the commands about the ledger.
const ledgerExitHelp = `Exit codes:
  0    ok
  1    the ledger cannot be read or written
  2    usage: flags, names and files
  4    the cluster cannot be reached
  130  interrupted`

// Path returns the path of the ledger, which need not exist.
func (f *LedgerFlags) Path() (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	path := StatePath("ledger.jsonl")
	if path == "" {
		return "", Usagef("no home directory is known, where the ledger would be: name a file with --ledger")
	}
	return path, nil
}

// absentPolicy selects the action if the ledger does not exist.
type absentPolicy int

const (
	refuseAbsent        absentPolicy = iota
	createUnlessRemoved              // create it, unless it was removed
	createAbsent                     // create it in any case
)

// Open opens the existing ledger. If there is none, it returns an error.
func (f *LedgerFlags) Open(ctx context.Context, s show.Streams) (*ledger.File, string, error) {
	return f.open(ctx, s, refuseAbsent, HeldWait, nil)
}

// errAbsent is returned if there is no ledger, and there was none.
var errAbsent = errors.New("nothing has been served yet")

// errRemoved is returned if the ledger existed before and is now missing.
var errRemoved = errors.New("was removed, and its approvals with it; restore it, or begin a new one: indus serve")

func (f *LedgerFlags) open(
	ctx context.Context, s show.Streams, policy absentPolicy, wait time.Duration, o *ledger.FileOptions,
) (*ledger.File, string, error) {
	path, err := f.Path()
	if err != nil {
		return nil, "", err
	}
	exists, err := LedgerExists(path)
	switch {
	case err != nil:
		return nil, path, err
	case !exists && policy != createAbsent && WasRemoved(path):
		return nil, path, fmt.Errorf("%s %w", path, errRemoved)
	case !exists && policy == refuseAbsent:
		return nil, path, Usagef("%s: %w%s", path, errAbsent, cmp.Or(f.absentPlace, ": indus serve writes it"))
	}
	stop := s.Waiting("waiting for another indus that has the ledger")
	file, err := OpenLedger(ctx, path, wait, o)
	stop()
	if err != nil {
		return nil, path, err // not file, which may be half open
	}
	return file, path, nil
}

// HeldWait bounds how long a command waits for a ledger that another process holds.
const HeldWait = 10 * time.Second

// OpenLedger opens or creates a ledger. It waits at most wait for a process that holds it.
func OpenLedger(ctx context.Context, path string, wait time.Duration, o *ledger.FileOptions) (*ledger.File, error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	file, err := ledger.OpenFile(bounded, path, o)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s: another process keeps it locked; is an indus process stopped?", path)
	}
	return file, err
}

// WasRemoved reports whether the ledger existed before: its directory of runs still exists.
func WasRemoved(path string) bool {
	_, err := os.Lstat(path + ".runs")
	return err == nil
}

// ReportRemoved reports that the ledger was removed, and that opening it began a new one.
func (f *LedgerFlags) ReportRemoved(file *ledger.File, path string, s show.Streams) {
	if file != nil && file.Removed() {
		s.Reportf(
			"%s was removed, and its approvals with it: no tool is approved; look at the tools, and accept them: indus "+
				"mcp accept%s",
			path, f.Repeat())
	}
}

// Repeat returns the flag --ledger for a command that a message suggests.
func (f *LedgerFlags) Repeat() string {
	path := f.path
	if f.Named {
		path, _ = f.Path()
	}
	if path == "" {
		return ""
	}
	return " --ledger " + show.ShellWord(path)
}

// LedgerExists reports whether the ledger file exists. If the file is not a ledger, it returns an error: opening it as
// a ledger would cut an unfinished last line.
func LedgerExists(path string) (exists bool, err error) {
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
	const search = 8 << 20 // room for one or two lines of the maximum length
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

// openExisting opens the ledger. If there is none yet, it returns nil.
func (f *LedgerFlags) openExisting(ctx context.Context) (*ledger.File, error) {
	path, err := f.Path()
	if err != nil {
		return nil, err
	}
	if exists, err := LedgerExists(path); err != nil || !exists && f.path == "" {
		return nil, err
	}
	file, _, err := f.Open(ctx, show.New(nil, io.Discard, io.Discard))
	return file, err
}

// Version identifies a version of a tool of a server with its configuration.
type Version struct{ Config, Server, Tool, Sum string }

// VersionOf returns the version that an entry refers to.
func VersionOf(e ledger.Entry) Version { return Version{e.Config, e.Server, e.Tool, e.Sum} }

// pins is the ledger of a command that ends soon. It writes only versions of tools that are new to the ledger.
type pins struct {
	*ledger.File
	known         map[Version]bool
	pendingBegins []ledger.Entry // not yet written
	started       bool
	lookOnly      bool // enroll nothing: the command shows no tool and calls none
	s             show.Streams
	reportFailure sync.Once // limits the report of a failed write to the first
}

var _ ledger.Log = (*pins)(nil)

func (f *LedgerFlags) openPins(ctx context.Context, s show.Streams) (*pins, error) {
	file, path, err := f.open(ctx, s, createAbsent, LockWait, nil)
	if err != nil {
		return nil, err
	}
	f.ReportRemoved(file, path, s)
	p := &pins{File: file, lookOnly: f.Looks, known: map[Version]bool{}, s: s}
	entries, err := file.Read(ctx, 0)
	for _, e := range entries {
		p.known[VersionOf(e)] = true
	}
	return p, err
}

// Append implements [ledger.Log].
func (p *pins) Append(ctx context.Context, entries ...ledger.Entry) ([]ledger.Entry, error) {
	pending, fresh := slices.Clone(p.pendingBegins), map[Version]bool{}
	var news []ledger.Entry
	for _, e := range entries {
		isNew := !p.known[VersionOf(e)] && !fresh[VersionOf(e)]
		switch {
		case e.Op == ledger.Begin:
			pending = append(pending, e)
		case e.Op == ledger.End && (p.started || len(news) > 0),
			isNew && (e.Op == ledger.Enroll && !p.lookOnly || e.Op == ledger.Hold):
			news = append(news, e)
			fresh[VersionOf(e)] = true
		}
	}
	if len(news) == 0 {
		p.pendingBegins = pending
		return nil, nil
	}
	written, err := p.File.Append(ctx, append(pending, news...)...)
	if err != nil { // no state was changed, so the same entries are written on the next call
		if ctx.Err() == nil {
			p.reportFailure.Do(func() {
				p.s.Reportf("the ledger cannot be written, and lacks the tools that were seen now: %s",
					strings.TrimPrefix(err.Error(), "ledger: "))
			})
		}
		return nil, err
	}
	p.started, p.pendingBegins = true, nil
	maps.Copy(p.known, fresh)
	return written, nil
}

// HeldBack returns the message that tools are held back, with the command that accepts them.
func (f *LedgerFlags) HeldBack(names ...string) string {
	is, it := "is held back: it is new or changed since its server was approved", "it"
	if len(names) > 1 {
		is, it = "are held back: they are new or changed since their servers were approved", "them"
	}
	return strings.Join(names, ", ") + " " + is + "; look at " + it + ", and accept " + it + ": indus mcp accept" +
		f.Repeat()
}
