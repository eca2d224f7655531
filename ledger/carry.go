package ledger

import (
	"slices"
	"strings"
)

// carried returns the entries that the present depends on, in the order of the log. Without the other entries,
// [StateOf], [Changed], [Approved] and [Live] return the same. Information about runs that go on also stays the same.
func carried(entries []Entry) []Entry {
	entries = sortedLog(entries)
	c := carrier{kept: map[uint64]bool{}, first: map[slot]uint64{}, last: map[slot]uint64{}}
	runs := Runs(entries)
	goesOn := map[string]bool{}
	for _, e := range entries {
		if e.Op == Begin || e.Op == End {
			goesOn[e.Run] = e.Op == Begin
		}
	}
	approved := approvalsOf(entries).sums
	for _, e := range entries {
		c.servers(e, approved[e.toolID()])
		if goesOn[e.Run] {
			c.running(e)
		}
	}
	for _, r := range runs {
		if goesOn[r.ID] {
			c.live(r.Entries)
		}
	}
	for _, h := range heardIn(runs) {
		c.live(h.events)
		c.kept[h.enrolled.Seq] = true
	}
	return c.close(entries)
}

// carrier collects entries by their number.
type carrier struct {
	kept        map[uint64]bool
	first, last map[slot]uint64
}

// slot identifies a group of entries, of which the first or the last is kept.
type slot struct {
	what, run string
	tool      toolID
	key       Key
}

// servers takes the approvals, enrollments and descriptions of a server, from any run.
func (c *carrier) servers(e Entry, approved string) {
	tool, from := e.toolID(), toolID{config: e.Config, server: e.Server}
	switch e.Op {
	case Accept, Reset:
		c.last[slot{what: string(e.Op), tool: tool}] = e.Seq
	case Describe:
		c.last[slot{what: "description", tool: from}] = e.Seq
	case Enroll, Hold:
		c.last[slot{what: "newest", tool: tool}] = e.Seq
		c.setFirst(slot{what: "enrolled", tool: from}, e)
		if e.Sum == approved {
			c.last[slot{what: "approved", tool: tool}] = e.Seq
		}
	}
	if e.Op == Enroll {
		c.last[slot{what: "heard", tool: from}] = e.Seq
		if !e.Changed {
			c.setFirst(slot{what: "listed", tool: tool}, e)
		}
	}
}

// running takes the entries that show a run that goes on: its configuration, and the health of its servers.
func (c *carrier) running(e Entry) {
	server := toolID{server: e.Server}
	c.setFirst(slot{what: "server", run: e.Run, tool: server}, e)
	c.last[slot{what: "server", run: e.Run, tool: server}] = e.Seq
	switch e.Op {
	case Begin, Reload:
		c.last[slot{what: string(e.Op), run: e.Run}] = e.Seq
	case Health:
		c.last[slot{what: healthOf(e.Note), run: e.Run, tool: server}] = e.Seq
	case Enroll, Hold:
		c.last[slot{what: "held", run: e.Run, tool: e.toolID()}] = e.Seq
	}
}

// healthOf returns NoteLost if the note reports a lost server, and noteReady otherwise.
func healthOf(note string) string {
	if strings.HasPrefix(note, NoteLost) {
		return NoteLost
	}
	return noteReady
}

// live keeps the live entries of one run, and its last entry.
func (c *carrier) live(entries []Entry) {
	for _, e := range FromLog(entries).Compact().Log() {
		c.kept[e.Seq] = true
	}
}

func (c *carrier) setFirst(s slot, e Entry) {
	if _, ok := c.first[s]; !ok {
		c.first[s] = e.Seq
	}
}

// close returns the kept entries with the entries that they need: where their runs begin and end, and how the key of
// each enrollment was retired.
func (c *carrier) close(entries []Entry) []Entry {
	for _, seqs := range []map[slot]uint64{c.first, c.last} {
		for _, seq := range seqs {
			c.kept[seq] = true
		}
	}
	runs, keys := map[string]bool{}, map[slot]bool{}
	for _, e := range entries {
		if c.kept[e.Seq] {
			runs[e.Run] = true
			keys[slot{run: e.Run, key: e.Key}] = e.Op == Enroll || keys[slot{run: e.Run, key: e.Key}]
		}
	}
	more := carrier{first: map[slot]uint64{}, last: map[slot]uint64{}}
	for _, e := range entries {
		if runs[e.Run] {
			more.setFirst(slot{run: e.Run}, e)
			if e.Op == End {
				more.last[slot{what: "end", run: e.Run}] = e.Seq
			}
		}
		if e.Op == Retire && keys[slot{run: e.Run, key: e.Key}] {
			more.last[slot{what: healthOf(e.Note), run: e.Run, key: e.Key, tool: toolID{config: e.Config}}] = e.Seq
		}
	}
	for _, seqs := range []map[slot]uint64{more.first, more.last} {
		for _, seq := range seqs {
			c.kept[seq] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !c.kept[e.Seq] })
}
