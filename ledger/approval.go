package ledger

import (
	"context"
	"fmt"

	"github.com/indusagi/indus/interop"
)

// Policy says what becomes of a tool that is not what it was when it was last approved.
type Policy = interop.ChangePolicy

// The policies.
const (
	AcceptChanges = interop.AcceptChanges // it is live, and logged and shown as changed; so is "", the default
	HoldChanges   = interop.HoldChanges   // it is not live until a person accepts it: see [Approve]
	DenyChanges   = interop.DenyChanges   // it is not live in this run, whatever is accepted meanwhile
)

// toolID is a tool of a server under one configuration, by the name that the log has.
type toolID struct{ config, server, name string }

func (e Entry) toolID() toolID { return toolID{e.Config, e.Server, clip(e.Tool)} }

// approvals is the seal of each tool's version that was approved last.
type approvals map[toolID]string

// take notes an approval: a person's, or that of who lists a tool for the first time.
func (a approvals) take(e Entry) {
	switch {
	case e.Tool == "" || e.Seal == "":
	case e.Op == Accept:
		a[e.toolID()] = e.Seal
	case e.Op == Enroll && !e.Changed:
		if _, ok := a[e.toolID()]; !ok {
			a[e.toolID()] = e.Seal
		}
	}
}

func approvalsOf(entries []Entry) approvals {
	a := approvals{}
	for _, e := range sortedLog(entries) {
		a.take(e)
	}
	return a
}

// isChanged reports whether a version is another than the one that was approved.
func (a approvals) isChanged(t toolID, seal string) bool {
	approved, ok := a[t]
	return ok && approved != seal
}

// Changed is the newest version of each tool that is not as it was approved, in the
// order in which they came: of an Enroll it is live all the same, a Hold is kept
// back.
func Changed(entries []Entry) []Entry {
	entries = sortedLog(entries)
	approved, newest := approvalsOf(entries), map[toolID]int{}
	for i, e := range entries {
		if e.Op == Enroll || e.Op == Hold {
			newest[e.toolID()] = i
		}
	}
	var out []Entry
	for i, e := range entries {
		if at, ok := newest[e.toolID()]; ok && at == i && approved.isChanged(e.toolID(), e.Seal) {
			out = append(out, e)
		}
	}
	return out
}

// Approved is the version of a tool that was approved last, as the log has it: what
// an entry of [Changed] is compared with, by [Diff].
func Approved(entries []Entry, of Entry) (Entry, bool) {
	entries = sortedLog(entries)
	seal, ok := approvalsOf(entries)[of.toolID()]
	found := Entry{}
	for _, e := range entries {
		if (e.Op == Enroll || e.Op == Hold) && e.toolID() == of.toolID() && e.Seal == seal {
			found = e
		}
	}
	return found, ok && found.Op != ""
}

// Approve records that a person accepts versions of tools, given as entries of
// [Changed]. Who attached under [HoldChanges] lets them in within moments; note
// says who it was.
func Approve(ctx context.Context, log Log, note string, versions ...Entry) error {
	var accepts []Entry
	run := string(NewKey())
	for _, e := range versions {
		if e.Tool == "" || e.Seal == "" {
			return fmt.Errorf("ledger: entry %d is no version of a tool", e.Seq)
		}
		accepts = append(accepts, e.accepted(run, note))
	}
	_, err := log.Append(ctx, accepts...)
	return err
}

func (e Entry) accepted(run, note string) Entry {
	return Entry{
		Op: Accept, Key: e.Key, Server: e.Server, Tool: e.Tool, Name: e.Name,
		Config: e.Config, Sum: e.Sum, Seal: e.Seal, Run: run, Note: note,
	}
}
