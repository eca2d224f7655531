package ledger

import (
	"slices"
	"time"
)

// Run is what one run of one process wrote: what one process's exit ends, and
// nobody else's.
type Run struct {
	// ID is its ULID, Config the fingerprint of its configuration, as its Begin or its
	// last Reload says, By who ran it, as its Begin does; Config and By are "" where it
	// has none.
	ID, Config, By string
	// Began and Ended are the times of its first entry and of its End; Ended is zero
	// while it goes on, and of one that was killed and not noticed yet.
	Began, Ended time.Time
	// Entries is what it wrote, in order.
	Entries []Entry
}

// Live is what is live of the run: Reduce of its entries.
func (r Run) Live() Snapshot { return Reduce(r.Entries) }

// Runs parts a log by who wrote it, in the order in which they began.
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
		runs[i].take(e)
	}
	return runs
}

func (r *Run) take(e Entry) {
	r.Entries = append(r.Entries, e)
	switch e.Op {
	case Begin:
		r.Config, r.By = e.Config, e.Note
	case Reload:
		r.Config = e.Config
	case End:
		if r.Ended.IsZero() {
			r.Ended = e.At
		}
	}
}

// Until is the part of a log that happened up to a time, at included.
func Until(entries []Entry, at time.Time) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.At.After(at) })
}

// Live is what is live in any run: the Enroll entries, in the order of the runs, each
// version of a tool once.
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
