package toolbox_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestJoinPassesToolsAndCallsOnAsTheyAre(t *testing.T) {
	odd := toolbox.Descriptor{
		Name: "dotted.name", Title: "T", Schema: json.RawMessage(`{ "type":"object" }`), Excluded: "its owner says so",
		Parameters: json.RawMessage(`{}`), Changes: []schema.Change{{Rule: "r"}}, Wire: toolbox.Wire{Format: "x"},
	}
	var got toolbox.Call
	snapshot := &toolbox.Snapshot{
		Version: 3, Tools: []toolbox.Descriptor{odd, plainDescriptor("b")}, Pending: []string{"s"}, Held: []string{"w"},
		Owners: []toolbox.Owner{{Server: "s", Instructions: "read this"}},
	}
	f := newFleet(snapshot, func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		got = c
		return toolbox.NewResult(), nil
	})
	joined := toolbox.Join(registry(textTool("a", "first"), textTool("b", "first")), f)
	all := joined.Snapshot("")
	if diff := cmp.Diff([]string{"a", "b", "dotted.name"}, names(all.Tools)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(odd, all.Tools[2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{snapshot.Pending, snapshot.Held, snapshot.Owners},
		[]any{all.Pending, all.Held, all.Owners}); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"dotted.name", "w", "unlisted"} {
		call := toolbox.Call{ID: "7", Name: name, Input: json.RawMessage(` not json`), Caller: "ann"}
		if _, err := joined.Do(t.Context(), call); err != nil || got.Name != name || string(got.Input) != ` not json` ||
			got.Caller != "ann" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if r, err := joined.Do(t.Context(), toolbox.Call{Name: "b"}); err != nil || *r.Blocks()[0].Text != "first" {
		t.Errorf("b is not the first source's: %v", err)
	}
}

func TestJoinFollowsItsSources(t *testing.T) {
	r, hidden := registry(echoTool("a")), registry(echoTool("a"))
	joined := toolbox.Join(r, toolbox.Join(hidden))
	before, received := joined.Snapshot(""), 0
	stop := joined.Watch(func() { received++ })
	hidden.Add(echoTool("a"))
	if joined.Snapshot("") != before || joined.Snapshot("ann") != before {
		t.Error("there is a new snapshot with nothing new in it")
	}
	r.Add(echoTool("b"))
	after := joined.Snapshot("")
	if diff := cmp.Diff([]string{"a", "b"}, names(after.Tools)); diff != "" || after.Version <= before.Version ||
		received != 2 {
		t.Errorf("version %d after %d, %d changes heard; %s", after.Version, before.Version, received, diff)
	}
	stop()
	stop()
	r.Remove("b")
	if received != 2 {
		t.Error("heard a change after stop")
	}
}

// Two principals may have received different snapshots with the same version. If the sources' snapshot for one of them
// becomes equal to the other's, it must not receive the other's snapshot with that version.
func TestJoinNeverGivesTwoSnapshotsWithOneVersion(t *testing.T) {
	one, two := plainDescriptor("one"), plainDescriptor("two")
	snapshots := map[toolbox.Principal]*toolbox.Snapshot{
		"ann": {Version: 5, Tools: []toolbox.Descriptor{one}},
		"bob": {Version: 5, Tools: []toolbox.Descriptor{two}},
	}
	f := newFleet(nil, nil)
	f.setEach(func(p toolbox.Principal) *toolbox.Snapshot { return snapshots[p] })
	joined := toolbox.Join(f)
	joined.Snapshot("bob")
	before := joined.Snapshot("ann")
	snapshots["ann"] = &toolbox.Snapshot{Version: 7, Tools: []toolbox.Descriptor{two}}
	if after := joined.Snapshot("ann"); after.Version <= before.Version {
		t.Errorf("version %d after %d", after.Version, before.Version)
	}
}

// A call may read one source before a change and another source after it. If another call runs in between, the first
// call must not return a different snapshot with the version of the other call's snapshot.
func TestJoinGivesNoVersionTwiceWhenCallsOverlap(t *testing.T) {
	at := func(version uint64, name string) *toolbox.Snapshot {
		return &toolbox.Snapshot{Version: version, Tools: []toolbox.Descriptor{plainDescriptor(name)}}
	}
	first, second := newFleet(at(1, "a"), nil), newFleet(nil, nil)
	joined := toolbox.Join(first, second)
	var between *toolbox.Snapshot
	second.setEach(func(toolbox.Principal) *toolbox.Snapshot {
		second.set(at(1, "b"))
		first.set(at(2, "c"))
		between = joined.Snapshot("")
		second.set(at(2, "d"))
		return at(2, "d")
	})
	if after := joined.Snapshot(""); after.Version <= between.Version {
		t.Errorf("version %d after %d", after.Version, between.Version)
	}
}
