package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// TestToolsStayWhereTheyAre checks that the other tools keep their places while tools are added and removed.
func TestToolsStayWhereTheyAre(t *testing.T) {
	first, second := registry(tool("b1", nil), tool("b2", nil)), registry(tool("c1", nil))
	tools := toolbox.NewBox(nil, first, second)
	changed := tool("b2", nil)
	changed.Description = "Another one."
	moments := []struct {
		change func()
		want   []string
	}{
		{func() {}, []string{"b1", "b2", "c1"}},
		{func() { first.Add(tool("b3", nil)) }, []string{"b1", "b2", "c1", "b3"}}, // although it is before c1 in the box
		{func() { first.Remove("b1") }, []string{"b2", "c1", "b3"}},
		{func() { first.Add(changed) }, []string{"b2", "c1", "b3"}},
		{func() { first.Add(tool("b1", nil)) }, []string{"b1", "b2", "c1", "b3"}}, // at its cached place
		{func() { second.Add(tool("a", nil)) }, []string{"b1", "b2", "c1", "b3", "a"}},
	}
	m := model()
	s := agent.New(agent.Options{Provider: m, Tools: tools})
	for i, moment := range moments {
		moment.change()
		m.steps = []step{textReply("done")}
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range m.last().Tools {
			got = append(got, d.Name)
		}
		if diff := cmp.Diff(moment.want, got); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
		if at := slices.Index(got, "b2"); i == 3 && m.last().Tools[at].Description != "Another one." {
			t.Error("the change is not seen")
		}
	}
}

// TestAToolThatAppearsInATurnIsLast checks that the next request of the same turn has a tool that a call has added.
func TestAToolThatAppearsInATurnIsLast(t *testing.T) {
	r := registry(tool("z", nil))
	grow := tool("grow", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		r.Remove("z")
		r.Add(tool("a", nil))
		return toolbox.NewResult(toolbox.Text("grown")), nil
	})
	m := model(calls("1", "grow", `{}`), calls("2", "a", `{}`), textReply("done"))
	s := agent.New(agent.Options{Provider: m, Tools: toolbox.NewBox(nil, r, registry(grow))})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range m.last().Tools {
		got = append(got, d.Name)
	}
	if diff := cmp.Diff([]string{"grow", "a"}, got); diff != "" {
		t.Error(diff)
	}
}
