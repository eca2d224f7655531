package command

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/spf13/cobra"
)

// HistoryFlags holds the flags of a command about the ledger that "indus serve" uses: a file, or the ledger of a
// cluster.
type HistoryFlags struct {
	LedgerFlags
	cluster ClusterFlags
}

// Add adds the flags.
func (f *HistoryFlags) Add(cmd *cobra.Command) {
	f.LedgerFlags.Add(cmd)
	cmd.Flags().Var(Listed(&f.cluster.Paths), "mcp",
		`PATH  the configuration of "indus serve": with a "cluster", its ledger is used; the
		one of a project counts only if its file is named (default: the working directory, then the user's own files)`)
	f.cluster.AddWait(cmd.Flags())
	f.cluster.reads = true
}

// Repeat returns the flags that select the ledger, for a command that a message suggests.
func (f *HistoryFlags) Repeat() string { return f.LedgerFlags.Repeat() + f.cluster.RepeatPaths() }

// AbsentPlace is the end of a message that the ledger lacks something. If the user named a file, it is "".
func (f *HistoryFlags) AbsentPlace() string {
	if f.path != "" {
		return ""
	}
	return f.cluster.AbsentPlace()
}

// History is a ledger that commands read. Close ends its connection.
type History struct {
	recordedHistory
	Name    string       // of the file, or of the cluster
	File    *ledger.File // nil in a cluster
	cluster *Cluster
}

// recordedHistory is a log that has its past.
type recordedHistory interface {
	ledger.Log
	History(ctx context.Context) ([]ledger.Entry, error)
	Verify(ctx context.Context, heads ...ledger.Head) (*ledger.Report, error)
	Reap(ctx context.Context) (ended int, err error)
}

// Damage returns the damage that opening a file has found.
func (h *History) Damage() []ledger.Damage {
	if h.File == nil {
		return nil
	}
	return h.File.Damage()
}

// Members returns a line for each replica of the cluster, and one for each of their differences. Of a file, there are
// none.
func (h *History) Members(ctx context.Context) []string {
	if h.cluster == nil {
		return nil
	}
	members, err := h.cluster.Members(ctx)
	if err != nil {
		return nil // the loss of the connection is reported
	}
	return append(MemberLines(members), show.Names(MemberDifferences(members), MemberDifference.String)...)
}

// Close ends the connection to the cluster.
func (h *History) Close() { h.cluster.Close() }

// Open opens the existing ledger. It waits for a cluster that cannot be reached, for at most the time of the flag.
func (f *HistoryFlags) Open(ctx context.Context, s show.Streams) (*History, error) {
	switch {
	case f.path != "" && len(f.cluster.Paths) > 0:
		return nil, Usagef("--ledger names a file, and --mcp a configuration with a cluster: leave one of them out")
	case f.path == "":
		shared, err := f.cluster.Open(ctx, s)
		if err != nil {
			return nil, err
		}
		if shared != nil {
			return shared.history(ctx, s)
		}
	}
	f.absentPlace = f.AbsentPlace()
	file, path, err := f.LedgerFlags.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &History{recordedHistory: file, Name: path, File: file}, nil
}

func (c *Cluster) history(ctx context.Context, s show.Streams) (*History, error) {
	log, err := c.Ledger(ctx, s.Logger())
	if err != nil {
		c.Close()
		return nil, LedgerError(err)
	}
	return &History{recordedHistory: log, Name: c.Describe(), cluster: c}, nil
}

// LedgerError returns an error of a ledger with its exit code.
func LedgerError(err error) error { return StateError("the ledger", err) }

// OpenReaped is Open, and ends the runs of processes that are gone. If there is no ledger yet, it reports that and
// returns nil without an error, unless the command line names a part of the ledger.
func (f *HistoryFlags) OpenReaped(ctx context.Context, named bool, s show.Streams) (*History, error) {
	h, err := f.Open(ctx, s)
	if errors.Is(err, errAbsent) && f.path == "" && !named {
		s.Reportf("%s", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := h.Reap(ctx); err != nil && ctx.Err() != nil {
		h.Close()
		return nil, err // other errors do not prevent reading
	}
	return h, nil
}

// completionWait bounds the wait for a cluster while a word is completed.
const completionWait = time.Second

// Entries returns the entries that the present state depends on, for completion.
func (f *HistoryFlags) Entries(ctx context.Context) ([]ledger.Entry, error) {
	f.cluster.wait = 0
	ctx, cancel := context.WithTimeout(ctx, completionWait)
	defer cancel()
	h, err := f.Open(ctx, show.New(nil, io.Discard, io.Discard))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Read(ctx, 0)
}
