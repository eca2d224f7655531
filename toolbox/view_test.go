package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestBoxMergesOnlyWhatChanged(t *testing.T) {
	calm, lively := registry(echoTool("a")), registry(echoTool("b"))
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Seed}, calm, lively)
	one := box.Snapshot("")
	if box.Snapshot("") != one || box.Snapshot("somebody") != one {
		t.Error("one moment has more than one snapshot")
	}
	lively.Add(echoTool("c"))
	two := box.Snapshot("")
	if &one.Tools[0].Parameters[0] != &two.Tools[0].Parameters[0] {
		t.Error("a schema that did not change was shaped again")
	}
}

func TestBoxVersionGrowsOnlyWhenSomethingChanged(t *testing.T) {
	f := newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{plainDescriptor("a")}}, nil)
	hidden := registry(echoTool("x"))
	box := toolbox.NewBox(nil, f, hidden)
	before := box.Snapshot("")

	f.set(&toolbox.Snapshot{Version: 2, Tools: []toolbox.Descriptor{plainDescriptor("a")}})
	hidden.Add(echoTool("x"))
	if after := box.Snapshot(""); after != before {
		t.Errorf("version %d after %d for the same tools", after.Version, before.Version)
	}
	last := before.Version
	changes := []toolbox.Descriptor{plainDescriptor("a"), plainDescriptor("a"), plainDescriptor("a"), plainDescriptor("a"),
		plainDescriptor("a")}
	changes[0].Description = "new"
	changes[1].Schema = json.RawMessage(`{"type": "object"}`)
	changes[2].Server = "t"
	changes[3].Excluded = "too big"
	changes[4].Wire = toolbox.Wire{Format: "x"}
	for i, d := range changes {
		f.set(&toolbox.Snapshot{Version: uint64(3 + i), Tools: []toolbox.Descriptor{d}})
		now := box.Snapshot("").Version
		if now <= last {
			t.Errorf("change %d: version %d after %d", i, now, last)
		}
		last = now
	}
	f.set(&toolbox.Snapshot{Version: 20, Tools: []toolbox.Descriptor{changes[4]}, Pending: []string{"s"}})
	if now := box.Snapshot("").Version; now <= last {
		t.Errorf("pending: version %d after %d", now, last)
	}
}

func TestBoxCallsTheOwnerWhoClaimsANameNow(t *testing.T) {
	// The tool looks the same but belongs to another source. The snapshot stays, and the route
	// changes.
	one := newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{plainDescriptor("a")}}, textDo("one"))
	two := newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{plainDescriptor("a")}}, textDo("two"))
	box := toolbox.NewBox(nil, one, two)
	before := box.Snapshot("")
	one.set(&toolbox.Snapshot{Version: 2})
	if got := box.Run(t.Context(), toolbox.Call{Name: "a"}).Text(); got != "two" || box.Snapshot("") != before {
		t.Errorf("the call went to %s", got)
	}
}

func textDo(text string) toolbox.Do {
	return func(context.Context, toolbox.Call) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(text)), nil
	}
}

func TestBoxShowsEachPrincipalTheirOwn(t *testing.T) {
	ann := &toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{plainDescriptor("ann")}}
	all := &toolbox.Snapshot{Version: 1}
	f := newFleet(nil, nil)
	f.setEach(func(p toolbox.Principal) *toolbox.Snapshot {
		if p == "ann" {
			return ann
		}
		return all
	})
	box := toolbox.NewBox(nil, f, registry(echoTool("common")))
	got := map[toolbox.Principal][]string{}
	for range 2 {
		for _, p := range []toolbox.Principal{"", "ann", "bob"} {
			got[p] = names(box.Snapshot(p).Tools)
		}
	}
	want := map[toolbox.Principal][]string{"": {"common"}, "ann": {"ann", "common"}, "bob": {"common"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if box.Snapshot("bob") != box.Snapshot("") {
		t.Error("who sees the same has not the same snapshot")
	}
	if _, err := box.Do(t.Context(), toolbox.Call{Name: "ann", Caller: "bob"}); err == nil {
		t.Error("bob could call ann's tool")
	}
}

func TestBoxVersionsGrowForEachOfManyPrincipals(t *testing.T) {
	r := registry(echoTool("a"))
	box := toolbox.NewBox(nil, r)
	seen := map[toolbox.Principal]uint64{}
	for round := range 3 {
		for i := range 5000 { // more than the cache holds
			p := toolbox.Principal(fmt.Sprint(i))
			version := box.Snapshot(p).Version
			if version < seen[p] || round > 0 && version == seen[p] {
				t.Fatalf("round %d, principal %s: version %d after %d", round, p, version, seen[p])
			}
			seen[p] = version
		}
		r.Add(echoTool(fmt.Sprint("b", round)))
	}
}

func TestBoxTakesASourceWithNothingToShow(t *testing.T) {
	box := toolbox.NewBox(nil, newFleet(nil, nil), registry(echoTool("a")))
	if diff := cmp.Diff([]string{"a"}, names(box.Descriptors())); diff != "" {
		t.Error(diff)
	}
	if _, err := box.Do(t.Context(), toolbox.Call{Name: "b"}); err == nil {
		t.Error("b is nowhere")
	}
	if got := toolbox.NewBox(nil).Descriptors(); got == nil || len(got) != 0 {
		t.Errorf("an empty box shows %v", got)
	}
}

func TestBoxDescriptorsAreTheCallersOwn(t *testing.T) {
	box := toolbox.NewBox(nil, registry(echoTool("a"), echoTool("b")))
	slices.Reverse(box.Descriptors())
	if diff := cmp.Diff([]string{"a", "b"}, names(box.Descriptors())); diff != "" {
		t.Error(diff)
	}
}
