package ledger

import (
	"slices"
	"time"
)

// Run holds the entries of one run of one process. The end of the process ends this run and no other.
type Run struct {
	// ID is the ULID of the run. Config is the fingerprint of its configuration, from its Begin or its last Reload. By
	// is its user, from its Begin. Config and By are "" if there is no such entry.
	ID, Config, By string
	// Began and Ended are the times of its first entry and of its End. Ended is zero while the run goes on, and if it
	// was killed and this was not noticed yet.
	Began, Ended time.Time
	// Entries holds the entries of the run, in order.
	Entries []Entry
}

// Live returns the live tools of the run: Reduce of its entries.
func (r Run) Live() Snapshot { return Reduce(r.Entries) }

// Runs splits a log into its runs, in the order in which they began.
func Runs(entries []Entry) []Run {
	var runs []Run
	at := map[string]int{}
	for _, e := range sortedLog(entries) {
		i, ok := at[e.Run]
		if !ok {
			i = len(runs)
			at[e.Run] = i
			runs = append(runs, Run{ID: e.Run, Began: e.At})
		}
		runs[i].add(e)
	}
	return runs
}

func (r *Run) add(e Entry) {
	r.Entries = append(r.Entries, e)
	switch e.Op {
	case Begin:
		r.Config, r.By = e.Config, e.Note
		r.Ended = time.Time{} // another process took it for gone
	case Reload:
		r.Config = e.Config
	case End:
		if r.Ended.IsZero() {
			r.Ended = e.At
		}
	}
}

// Until returns the entries of a log up to and including a time.
func Until(entries []Entry, at time.Time) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.At.After(at) })
}

// Live returns the tools that are live in any run: their Enroll entries, in the order of the runs, each version of a
// tool once.
func Live(entries []Entry) []Entry {
	var out []Entry
	seen := map[version]bool{}
	for _, r := range Runs(entries) {
		for _, e := range r.Live().Live {
			v := version{e.Config, e.Server, e.Tool, e.Sum}
			if !seen[v] {
				seen[v] = true
				out = append(out, e)
			}
		}
	}
	return out
}

type version struct{ config, server, tool, sum string }
