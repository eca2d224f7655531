package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/indusagi/indus/toolbox"
)

const nullableSchema = `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`

func withProfile(name string, p *schema.Profile) toolbox.Descriptor {
	d := plainDescriptor(name)
	d.Schema, d.Profile = json.RawMessage(nullableSchema), p
	return d
}

// The profile of a tool is the box's, else the tool's own, else the default.
func TestWhoseProfileCounts(t *testing.T) {
	for _, c := range []struct{ box, own, byDefault, want *schema.Profile }{
		{nil, nil, nil, schema.Original},
		{nil, nil, schema.Universal, schema.Universal},
		{nil, schema.Seed, schema.Universal, schema.Seed},
		{nil, schema.Original, schema.Universal, schema.Original},
		{schema.Universal, schema.Seed, schema.Original, schema.Universal},
		{schema.Original, schema.Seed, schema.Universal, schema.Original},
	} {
		source := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{withProfile("a", c.own)}}, nil)
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: c.box, Default: c.byDefault}, source)
		want, err := schema.Adapt(json.RawMessage(nullableSchema), c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(box.Descriptors()[0].Parameters); got != string(want.Schema) {
			t.Errorf("box %s, tool %s, default %s: %s", c.box.Name(), c.own.Name(), c.byDefault.Name(), got)
		}
		outer := toolbox.NewBox(&toolbox.BoxOptions{Default: c.byDefault}, box)
		if c.box == nil && string(outer.Descriptors()[0].Parameters) != string(want.Schema) {
			t.Errorf("a box in a box loses the profile of its tools")
		}
	}
}

// If only the profile of a tool changes, its schema is adapted again. Arguments are then restored
// according to the new schema.
func TestAToolsProfileChanges(t *testing.T) {
	var got string
	run := func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		got = string(c.Input)
		return toolbox.NewResult(), nil
	}
	f := newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{withProfile("a", schema.Original)}}, run)
	box := toolbox.NewBox(nil, f)
	first := box.Snapshot("")
	f.set(&toolbox.Snapshot{Version: 2, Tools: []toolbox.Descriptor{withProfile("a", schema.OpenAIStrict)}})
	now := box.Snapshot("")
	if now == first || string(now.Tools[0].Parameters) == string(first.Tools[0].Parameters) {
		t.Fatalf("it is shown as %s", now.Tools[0].Parameters)
	}
	if out := box.Run(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(`{"a":null}`)}); out.IsError ||
		got != `{"a":null}` {
		t.Errorf("%s, and it was called with %s", out.Text(), got)
	}
}

// The strictest profile of all shown tools applies, because one request contains all of them.
func TestFindingsGoByTheStrictestProfile(t *testing.T) {
	var tools []toolbox.Descriptor
	for i := range schema.OpenAI.Rules().Tool.MaxTools + 1 {
		tools = append(tools, withProfile(fmt.Sprint("t", i), schema.Original))
	}
	source := func() toolbox.Source { return newFleet(&toolbox.Snapshot{Tools: tools}, nil) }
	if got := toolbox.NewBox(nil, source()).Findings(); got != nil {
		t.Errorf("nobody minds, and %v", got)
	}
	tools[7].Profile = schema.OpenAI
	if got := toolbox.NewBox(nil, source()).Findings(); len(got) != 1 || got[0].Rule != rule.Count {
		t.Errorf("one is shown to OpenAI, and %v", got)
	}
	tools[7].Excluded = "for a reason"
	if got := toolbox.NewBox(nil, source()).Findings(); got != nil {
		t.Errorf("it is not shown, and %v", got)
	}
}

// Limits that a provider applies to all tools of a request are checked over all of them.
func TestFindingsCountOverAllTools(t *testing.T) {
	optional := toolbox.Descriptor{Profile: schema.AnthropicStrict, Schema: json.RawMessage(
		`{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"p%d":{"type":"string"},`, 13), ",") + `}}`)}
	for i := range 13 {
		optional.Schema = bytes.Replace(optional.Schema, []byte("%d"), []byte(fmt.Sprint(i)), 1)
	}
	one, two := optional, optional
	one.Name, two.Name = "one", "two"
	for n, tools := range [][]toolbox.Descriptor{{}, {one}, {one, two}} {
		got := toolbox.NewBox(nil, newFleet(&toolbox.Snapshot{Tools: tools}, nil)).Findings()
		if over := n == 2; over != (len(got) == 1 && got[0].Rule == rule.Limit) || !over && got != nil {
			t.Errorf("of %d tools: %v", n, got)
		}
	}
}

// A tool that is held back is not listed, and its source returns the reason. This also works
// through several boxes.
func TestWithheld(t *testing.T) {
	refuse := func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Name == "kept" {
			return toolbox.ErrorResult("kept back"), nil
		}
		return nil, &toolbox.UnknownTool{Name: c.Name}
	}
	f := newFleet(&toolbox.Snapshot{Version: 1, Held: []string{"kept", "claimed"}}, refuse)
	inner := toolbox.NewBox(nil, registry(echoTool("claimed")), f)
	box := toolbox.NewBox(nil, inner)
	if out := box.Run(t.Context(), toolbox.Call{Name: "kept"}); out.Text() != "kept back" || !out.IsError {
		t.Errorf("Run says %s", out.Text())
	}
	if r, err := box.Do(t.Context(), toolbox.Call{Name: "kept"}); err != nil || !r.IsError() {
		t.Errorf("Do says %v", err)
	}
	if out := box.Run(t.Context(),
		toolbox.Call{Name: "claimed", Input: json.RawMessage(`{}`)}); strings.Contains(out.Text(), "no tool") {
		t.Errorf("another source has it: %s", out.Text())
	}
	var unknown *toolbox.UnknownTool
	if _, err := box.Do(t.Context(), toolbox.Call{Name: "other"}); !errors.As(err, &unknown) {
		t.Errorf("another name: %v", err)
	}
	before := box.Snapshot("")
	if diff := cmp.Diff([]string{"kept", "claimed"}, before.Held); diff != "" {
		t.Error(diff)
	}
	f.set(&toolbox.Snapshot{Version: 2})
	if now := box.Snapshot(""); now == before || now.Held != nil {
		t.Errorf("then %v is held back", now.Held)
	}
	if _, err := box.Do(t.Context(), toolbox.Call{Name: "kept"}); !errors.As(err, &unknown) {
		t.Errorf("then: %v", err)
	}
}
