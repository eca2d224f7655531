package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// remote is a registry whose tools belong to a server.
type remote struct{ *toolbox.Registry }

func (r remote) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	s := r.Registry.Snapshot(p)
	for i := range s.Tools { // the snapshot is used only by these tests
		s.Tools[i].Server = "s"
	}
	return s
}

func tool(name string, words int) toolbox.Tool {
	return toolbox.Tool{
		Name: name, Description: strings.Repeat("word ", words),
		Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(name)), nil
		},
	}
}

// TestWhatAConversationHadStays checks that only new tools beyond the budget go behind the catalog.
func TestWhatAConversationHadStays(t *testing.T) {
	local, servers := toolbox.NewRegistry(nil), remote{toolbox.NewRegistry(nil)}
	local.Add(tool("read", 1))
	servers.Add(tool("s__a", 1))
	o := session.NewOffer(local, servers, 200)
	four := []string{"search", "schema", "call", "batch"}
	steps := []struct {
		does func()
		want []string
	}{
		{func() {}, []string{"read", "s__a"}},
		{func() { servers.Add(tool("s__b", 1)) }, []string{"read", "s__a", "s__b"}},
		{func() { servers.Remove("s__a") }, []string{"read", "s__b"}},
		{func() { servers.Add(tool("s__c", 1000)) }, slices.Concat([]string{"read", "s__b"}, four)},
		{func() { servers.Add(tool("s__a", 1)) }, slices.Concat([]string{"read", "s__b", "s__a"}, four)},
		{func() { servers.Remove("s__c"); servers.Add(tool("s__d", 1)) }, slices.Concat([]string{"read", "s__b", "s__a"}, four)},
	}
	for i, s := range steps {
		s.does()
		if got := o.Turn(); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %v, want %v", i, got, s.want)
		}
	}
	out := o.Box().Run(t.Context(), toolbox.Call{Name: "call", Input: json.RawMessage(`{"operation":"s__d","input":{}}`)})
	if out.Text() != "s__d" {
		t.Errorf("a tool behind the catalog: %s", out.Output)
	}
}

// TestAToolOfTheMomentIsNotCalledBeforeItsTurn checks that a tool listed during a turn cannot be called by its name
// before the model has seen it.
func TestAToolOfTheMomentIsNotCalledBeforeItsTurn(t *testing.T) {
	servers := remote{toolbox.NewRegistry(nil)}
	o := session.NewOffer(toolbox.NewRegistry(nil), servers, 1000)
	servers.Add(tool("s__late", 1))
	if out := o.Box().Run(t.Context(), toolbox.Call{Name: "s__late"}); !out.IsError {
		t.Errorf("it ran: %s", out.Output)
	}
	o.Turn()
	if out := o.Box().Run(t.Context(), toolbox.Call{Name: "s__late"}); out.IsError {
		t.Errorf("it did not run: %s", out.Output)
	}
}

// TestAProviderThatTakesFewer checks that such a provider gets the four tools, at the start and after a change of
// model.
func TestAProviderThatTakesFewer(t *testing.T) {
	servers := remote{toolbox.NewRegistry(nil)}
	for i := range schema.OpenAI.Rules().Tool.MaxTools + 1 {
		servers.Add(tool(fmt.Sprintf("s__t%d", i), 1))
	}
	o := session.NewOffer(toolbox.NewRegistry(nil), servers, 1_000_000)
	o.Use(schema.OpenAI)
	if got := o.Turn(); len(got) != 4 {
		t.Errorf("%d tools", len(got))
	}
}
