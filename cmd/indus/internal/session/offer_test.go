package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/internal/testkit/modelserver"
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

// TestAToolThatAServerAddsDuringATurn checks that the next request of the turn lists it last, and that the model can
// call it.
func TestAToolThatAServerAddsDuringATurn(t *testing.T) {
	servers := remote{toolbox.NewRegistry(nil)}
	load := tool("s__load", 1)
	load.Run = func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		servers.Add(tool("s__early", 1))
		return toolbox.NewResult(toolbox.Text("loaded")), nil
	}
	servers.Add(load, tool("s__z", 1))
	local := toolbox.NewRegistry(nil)
	local.Add(tool("read", 1))
	one := func(name string) modelserver.Turn {
		return modelserver.Turn{Calls: []modelserver.Call{{Name: name, Input: "{}"}}}
	}
	m := modelserver.New(t, one("s__load"), one("s__early"), modelserver.Turn{Text: "done"})
	o := session.NewOffer(local, servers, 1000)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s := agent.New(agent.Options{Provider: openai.New("m", &openai.Options{BaseURL: m.URL, HTTPClient: client}), Tools: o.Tools()})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range m.Requests()[1].Tools() {
		names = append(names, tool.Name)
	}
	if want := []string{"read", "s__load", "s__z", "s__early"}; !slices.Equal(names, want) {
		t.Errorf("the second request has %v, want %v", names, want)
	}
	if got := m.Requests()[2].Results(); got[1].Text != "s__early" {
		t.Errorf("%+v", got)
	}
	servers.Add(tool("s__late", 1))
	if out := o.Tools().Run(t.Context(), toolbox.Call{Name: "s__late"}); !out.IsError || !strings.Contains(out.Text(), "Call it again now") {
		t.Errorf("%+v", out)
	}
}
