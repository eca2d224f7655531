package ledger

import (
	"slices"
	"strings"
)

// neededEntries returns the entries that the present depends on, in the order of the log. Without the other entries,
// [StateOf], [Changed], [Approved] and [Live] return the same. Information about runs that go on also stays the same.
func neededEntries(entries []Entry) []Entry {
	entries = sortedLog(entries)
	c := entrySelector{selected: map[uint64]bool{}, kept: map[entryGroup]uint64{}}
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
	selected map[uint64]bool
	kept     map[entryGroup]uint64 // the entry of each group that is kept
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
		c.kept[entryGroup{kind: string(e.Op), tool: tool}] = e.Seq
	case Describe:
		c.kept[entryGroup{kind: "description", tool: server}] = e.Seq
	case Enroll, Hold:
		c.kept[entryGroup{kind: "newest", tool: tool}] = e.Seq
		c.keepFirst(entryGroup{kind: "enrolled", tool: server}, e)
		if e.RefusedBy() != "" {
			c.kept[entryGroup{kind: "refused", tool: tool}] = e.Seq
		}
		if e.Sum == approved {
			c.kept[entryGroup{kind: "approved", tool: tool}] = e.Seq
		}
	}
	if e.Op == Enroll {
		c.kept[entryGroup{kind: "heard", tool: server}] = e.Seq
		if !e.Changed {
			c.keepFirst(entryGroup{kind: "listed", tool: tool}, e)
		}
	}
}

// addRunning adds the entries that show a run that goes on: its configuration, and the health of its servers.
func (c *entrySelector) addRunning(e Entry) {
	server := toolID{server: e.Server}
	c.keepFirst(entryGroup{kind: "server began", run: e.Run, tool: server}, e)
	c.kept[entryGroup{kind: "server", run: e.Run, tool: server}] = e.Seq
	switch e.Op {
	case Begin, Reload:
		c.kept[entryGroup{kind: string(e.Op), run: e.Run}] = e.Seq
	case Health:
		c.kept[entryGroup{kind: healthOf(e.Note), run: e.Run, tool: server}] = e.Seq
	case Enroll, Hold:
		c.kept[entryGroup{kind: "held", run: e.Run, tool: e.toolID()}] = e.Seq
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

func (c *entrySelector) keepFirst(g entryGroup, e Entry) {
	if _, ok := c.kept[g]; !ok {
		c.kept[g] = e.Seq
	}
}

// selectKept selects the entries of the groups so far.
func (c *entrySelector) selectKept() {
	for _, seq := range c.kept {
		c.selected[seq] = true
	}
}

// complete returns the selected entries with the entries that they need: where their runs begin and end, and how the
// key of each enrollment was retired.
func (c *entrySelector) complete(entries []Entry) []Entry {
	c.selectKept()
	runs, keys := map[string]bool{}, map[entryGroup]bool{}
	for _, e := range entries {
		if c.selected[e.Seq] {
			runs[e.Run] = true
			keys[entryGroup{run: e.Run, key: e.Key}] = e.Op == Enroll || keys[entryGroup{run: e.Run, key: e.Key}]
		}
	}
	for _, e := range entries {
		if runs[e.Run] {
			c.keepFirst(entryGroup{kind: "run", run: e.Run}, e)
			if e.Op == End {
				c.kept[entryGroup{kind: "end", run: e.Run}] = e.Seq
			}
		}
		if e.Op == Retire && keys[entryGroup{run: e.Run, key: e.Key}] {
			c.kept[entryGroup{kind: healthOf(e.Note), run: e.Run, key: e.Key, tool: toolID{config: e.Config}}] = e.Seq
		}
	}
	c.selectKept()
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !c.selected[e.Seq] })
}
