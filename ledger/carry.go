package ledger

import (
	"slices"
	"strings"
)

// neededEntries returns the entries that the present depends on, in the order of the log. Without the other entries,
// [StateOf], [Changed], [Approved] and [Live] return the same. Information about runs that go on also stays the same.
func neededEntries(entries []Entry) []Entry {
	entries = sortedLog(entries)
	c := entrySelector{selected: map[uint64]bool{}, first: map[entryGroup]uint64{}, last: map[entryGroup]uint64{}}
	runs := Runs(entries)
	goesOn := map[string]bool{}
	for _, e := range entries {
		if e.Op == Begin || e.Op == End {
			goesOn[e.Run] = e.Op == Begin
		}
	}
	approved := approvalsOf(entries).sums
	for _, e := range entries {
		c.addServer(e, approved[e.toolID()])
		if goesOn[e.Run] {
			c.addRunning(e)
		}
	}
	for _, r := range runs {
		if goesOn[r.ID] {
			c.addLive(r.Entries)
		}
	}
	for _, h := range newestHistories(runs) {
		c.addLive(h.events)
		c.selected[h.enrolled.Seq] = true
	}
	return c.complete(entries)
}

// entrySelector collects entries by their number.
type entrySelector struct {
	selected    map[uint64]bool
	first, last map[entryGroup]uint64
}

// entryGroup identifies a group of entries, of which the first or the last is kept.
type entryGroup struct {
	kind, run string
	tool      toolID
	key       Key
}

// addServer adds the approvals, enrollments and descriptions of a server, from any run.
func (c *entrySelector) addServer(e Entry, approved string) {
	tool, server := e.toolID(), toolID{config: e.Config, server: e.Server}
	switch e.Op {
	case Accept, Reset:
		c.last[entryGroup{kind: string(e.Op), tool: tool}] = e.Seq
	case Describe:
		c.last[entryGroup{kind: "description", tool: server}] = e.Seq
	case Enroll, Hold:
		c.last[entryGroup{kind: "newest", tool: tool}] = e.Seq
		c.setFirst(entryGroup{kind: "enrolled", tool: server}, e)
		if e.Sum == approved {
			c.last[entryGroup{kind: "approved", tool: tool}] = e.Seq
		}
	}
	if e.Op == Enroll {
		c.last[entryGroup{kind: "heard", tool: server}] = e.Seq
		if !e.Changed {
			c.setFirst(entryGroup{kind: "listed", tool: tool}, e)
		}
	}
}

// addRunning adds the entries that show a run that goes on: its configuration, and the health of its servers.
func (c *entrySelector) addRunning(e Entry) {
	server := toolID{server: e.Server}
	c.setFirst(entryGroup{kind: "server", run: e.Run, tool: server}, e)
	c.last[entryGroup{kind: "server", run: e.Run, tool: server}] = e.Seq
	switch e.Op {
	case Begin, Reload:
		c.last[entryGroup{kind: string(e.Op), run: e.Run}] = e.Seq
	case Health:
		c.last[entryGroup{kind: healthOf(e.Note), run: e.Run, tool: server}] = e.Seq
	case Enroll, Hold:
		c.last[entryGroup{kind: "held", run: e.Run, tool: e.toolID()}] = e.Seq
	}
}

// healthOf returns NoteLost if the note reports a lost server, and noteReady otherwise.
func healthOf(note string) string {
	if strings.HasPrefix(note, NoteLost) {
		return NoteLost
	}
	return noteReady
}

// addLive adds the live entries of one run, and its last entry.
func (c *entrySelector) addLive(entries []Entry) {
	for _, e := range FromLog(entries).Compact().Log() {
		c.selected[e.Seq] = true
	}
}

func (c *entrySelector) setFirst(s entryGroup, e Entry) {
	if _, ok := c.first[s]; !ok {
		c.first[s] = e.Seq
	}
}

// complete returns the selected entries with the entries that they need: where their runs begin and end, and how the
// key of each enrollment was retired.
func (c *entrySelector) complete(entries []Entry) []Entry {
	for _, seqs := range []map[entryGroup]uint64{c.first, c.last} {
		for _, seq := range seqs {
			c.selected[seq] = true
		}
	}
	runs, keys := map[string]bool{}, map[entryGroup]bool{}
	for _, e := range entries {
		if c.selected[e.Seq] {
			runs[e.Run] = true
			keys[entryGroup{run: e.Run, key: e.Key}] = e.Op == Enroll || keys[entryGroup{run: e.Run, key: e.Key}]
		}
	}
	more := entrySelector{first: map[entryGroup]uint64{}, last: map[entryGroup]uint64{}}
	for _, e := range entries {
		if runs[e.Run] {
			more.setFirst(entryGroup{run: e.Run}, e)
			if e.Op == End {
				more.last[entryGroup{kind: "end", run: e.Run}] = e.Seq
			}
		}
		if e.Op == Retire && keys[entryGroup{run: e.Run, key: e.Key}] {
			more.last[entryGroup{kind: healthOf(e.Note), run: e.Run, key: e.Key, tool: toolID{config: e.Config}}] = e.Seq
		}
	}
	for _, seqs := range []map[entryGroup]uint64{more.first, more.last} {
		for _, seq := range seqs {
			c.selected[seq] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !c.selected[e.Seq] })
}
