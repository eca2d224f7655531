package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/canonical"
)

// toolID identifies a tool of a server under one configuration, by its name in the log.
type toolID struct{ config, server, name string }

func (e Entry) toolID() toolID { return toolID{e.Config, e.Server, clip(e.Tool)} }

// approvals holds the Sum of each tool's approved version. The first listing of a server approves all its tools and
// enrolls the server. Later tools of the server wait for a person.
type approvals struct {
	sums     map[toolID]string
	beside   map[toolID]besideVersion
	enrolled map[origin]string // the run that did; the zero origin stands for every server: earlier approvals are unknown
	// objects holds the tool objects by Sum, so that versions can be compared without regard to spaces and the order of
	// members.
	objects map[string]json.RawMessage
}

func newApprovals() approvals {
	return approvals{
		map[toolID]string{}, map[toolID]besideVersion{}, map[origin]string{}, map[string]json.RawMessage{},
	}
}

// besideVersion is the version that was approved before, and stays approved for a time.
type besideVersion struct {
	sum   string
	until time.Time
}

// copyTo adds all approvals to o, with the objects of the approved versions only.
func (a approvals) copyTo(o approvals) {
	maps.Copy(o.sums, a.sums)
	maps.Copy(o.beside, a.beside)
	maps.Copy(o.enrolled, a.enrolled)
	keep := func(sum string) {
		if object, ok := a.objects[sum]; ok {
			o.objects[sum] = object
		}
	}
	for t, sum := range a.sums {
		keep(sum)
		keep(a.beside[t].sum)
	}
}

// addRecord is add for a record, which may have the object that its entry lacks.
func (a approvals) addRecord(r *record) {
	if r.body != nil && a.objects[r.Sum] == nil {
		a.objects[r.Sum] = bytes.Clone(r.body)
	}
	a.add(r.Entry)
}

// add records the approval in an entry, if it is one, and the enrollment of its server.
func (a approvals) add(e Entry) {
	switch {
	case e.Op == Reset:
		a.enrolled[origin{}] = e.Run
		return
	case e.Tool == "" || e.Sum == "":
		return
	}
	a.approve(e)
	if from := (origin{e.Server, e.Config}); (e.Op == Enroll || e.Op == Hold) && !a.isEnrolled(from) {
		a.enrolled[from] = e.Run
	}
}

func (a approvals) isEnrolled(from origin) bool {
	_, ok := a.enrolled[from]
	return ok
}

// approve records the approval in an entry: by a person, or by the first listing of the server.
func (a approvals) approve(e Entry) {
	if e.Capability != nil && len(e.Capability.Wire.JSON) > 0 {
		a.objects[e.Sum] = e.Capability.Wire.JSON
	}
	_, ok := a.sums[e.toolID()]
	if e.Op == Accept || e.Op == Enroll && !e.Changed && !ok {
		a.sums[e.toolID()] = e.Sum
	}
	if e.Op == Accept {
		delete(a.beside, e.toolID())
		if former, ok := e.besideOf(); ok {
			a.beside[e.toolID()] = former
		}
	}
}

func approvalsOf(entries []Entry) approvals {
	a := newApprovals()
	for _, e := range sortedLog(entries) {
		a.add(e)
	}
	return a
}

// isChanged reports whether a version is not approved although its tool or its server is known.
func (a approvals) isChanged(t toolID, v toolVersion) bool {
	_, ok := a.sums[t]
	return !a.has(t, v) && (ok || a.isEnrolled(origin{}) || a.isEnrolled(origin{t.server, t.config}))
}

// has reports whether a version of a tool is approved.
func (a approvals) has(t toolID, v toolVersion) bool {
	sum, ok := a.sums[t]
	former := a.beside[t]
	return ok && v.is(toolVersion{sum, a.objects[sum]}) ||
		time.Now().Before(former.until) && v.is(toolVersion{former.sum, a.objects[former.sum]})
}

// toolVersion identifies a version of a tool by its Sum. The object is nil if it is not known.
type toolVersion struct {
	sum    string
	object json.RawMessage
}

func (e Entry) toolVersion() toolVersion {
	v := toolVersion{sum: e.Sum}
	if e.Capability != nil {
		v.object = e.Capability.Wire.JSON
	}
	return v
}

// is reports whether two versions are the same. Spaces and the order of members do not count.
func (v toolVersion) is(o toolVersion) bool {
	return v.sum == o.sum || len(v.object) > 0 && len(o.object) > 0 && canonical.Equal(v.object, o.object)
}

// Same reports whether two entries have the same version of a tool. Spaces and the order of members do not count.
func (e Entry) Same(o Entry) bool { return e.toolVersion().is(o.toolVersion()) }

// Changed returns the newest version of each tool whose newest version is not approved, in the order of the log. The
// tool differs from its approved version, or is new on an enrolled server ([Approved] finds none). The tool of an
// Enroll is live nevertheless. The tool of a Hold is not.
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
		if at, ok := newest[e.toolID()]; ok && at == i && approved.isChanged(e.toolID(), e.toolVersion()) {
			out = append(out, e)
		}
	}
	return out
}

// Approved returns a function that finds the version of a tool that was approved last, as the log has it. [Diff]
// compares an entry of [Changed] with it.
func Approved(entries []Entry) func(of Entry) (Entry, bool) {
	entries = sortedLog(entries)
	sums, found := approvalsOf(entries).sums, map[toolID]Entry{}
	for _, e := range entries {
		if sum, ok := sums[e.toolID()]; ok && (e.Op == Enroll || e.Op == Hold) && e.Sum == sum {
			found[e.toolID()] = e
		}
	}
	return func(of Entry) (Entry, bool) {
		e, ok := found[of.toolID()]
		return e, ok
	}
}

// Approve records that a person accepts versions of tools, given as entries of [Changed]. An attachment under
// [config.HoldChanges] lists them within moments. note names the person.
func Approve(ctx context.Context, log Log, note string, versions ...Entry) error {
	var accepts []Entry
	run := string(NewKey())
	for _, e := range versions {
		if e.Tool == "" || e.Sum == "" {
			return fmt.Errorf("ledger: entry %d is no version of a tool", e.Seq)
		}
		text := note
		if strings.HasPrefix(e.Note, noteBeside) {
			text = e.Note + note
		}
		accepts = append(accepts, e.accepted(run, text))
	}
	_, err := log.Append(ctx, accepts...)
	return err
}

// Beside returns an entry of Changed with which [Approve] keeps the version that was approved before, until a time.
// Replicas of a server may then have either version while it is upgraded. entries is the log.
func (e Entry) Beside(entries []Entry, until time.Time) Entry {
	if former := approvalsOf(entries).sums[e.toolID()]; former != "" {
		e.Note = noteBeside + former + " until " + until.UTC().Format(time.RFC3339) + "; "
	}
	return e
}

// noteBeside begins the note of an Accept that keeps the former version: its sum, " until " and a time follow.
const noteBeside = "beside "

// besideOf returns the former version that an Accept keeps.
func (e Entry) besideOf() (v besideVersion, ok bool) {
	text, ok := strings.CutPrefix(e.Note, noteBeside)
	if !ok {
		return v, false
	}
	text, _, _ = strings.Cut(text, "; ")
	sum, at, _ := strings.Cut(text, " until ")
	until, err := time.Parse(time.RFC3339, at)
	return besideVersion{sum, until}, err == nil
}

// noteRefused begins the note of a Hold by which a person refuses a version.
const noteRefused = "refused "

// Refusal returns the entry by which a person refuses a version of a tool, given as a Hold of [Changed]. Once [Log]
// has it, the version stays held and counts as decided, until a person accepts it. note names the person.
func (e Entry) Refusal(note string) Entry {
	e.Op, e.Run, e.Note, e.Changed = Hold, string(NewKey()), noteRefused+note, true
	e.Seq, e.At = 0, time.Time{}
	return e
}

// RefusedBy returns the note about the person who refused the version of a Hold, or "".
func (e Entry) RefusedBy() string {
	if by, isRefusal := strings.CutPrefix(e.Note, noteRefused); isRefusal && e.Op == Hold {
		return by
	}
	return ""
}

func (e Entry) accepted(run, note string) Entry {
	return Entry{
		Op: Accept, Key: e.Key, Server: e.Server, Tool: e.Tool, Name: e.Name,
		Config: e.Config, Sum: e.Sum, Run: run, Note: note,
	}
}
