//go:build !fuzz

package agent_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/toolbox"
)

// TestOverTheWire runs a conversation with every kind of failure against a server as strict as the real ones. It then
// continues from each of its entries. No provider may reject a request of a session.
func TestOverTheWire(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, reach := range map[string]func(url string) agent.Provider{
		"anthropic": func(url string) agent.Provider {
			return anthropic.New("m", &anthropic.Options{Key: "k", BaseURL: url, HTTPClient: client})
		},
		"openai": func(url string) agent.Provider {
			return openai.New("m", &openai.Options{Key: "k", BaseURL: url, HTTPClient: client})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := map[string]string{"anthropic": "max_tokens", "openai": "length"}[name]
			server := modelserver.New(t,
				modelserver.Turn{Reasoning: "hm", Text: "I look.", Calls: []modelserver.Call{
					{ID: "same", Name: "a", Input: `{"n":1}`}, {Name: "show", Input: `{}`}, {Name: "no such tool", Input: `{}`}, {Name: "a", Input: `{"n":`},
				}},
				modelserver.Turn{Calls: []modelserver.Call{{ID: "same", Name: "a", Input: `{"path":"x`}}, Stop: cut},
				modelserver.Turn{Text: "void", Break: true},
				modelserver.Turn{Text: "\n\n"},
				modelserver.Turn{Text: "half a sentence", Hang: true},
				modelserver.Turn{Text: "fine"},
			)
			n := &notes{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tools := box(tool("a", nil), showTool(toolbox.Image(dot(t), "image/png")))
			model := reach(server.URL)
			s := agent.New(agent.Options{Provider: model, Tools: tools, Journal: n, Hear: func(e agent.Event) {
				n.record(e)
				if e.Kind == agent.EventText && strings.Contains(e.Text, "e") && slices.Contains(n.kinds(), agent.EventEnd) {
					cancel()
				}
			}})
			for i, ctx := range []context.Context{t.Context(), ctx, t.Context()} {
				if got, err := s.Prompt(ctx, "go"); (err != nil) != (i == 1) {
					t.Fatal(i, got, err)
				}
			}
			checkShape(t, s.Messages())
			if kinds := n.kinds(); !slices.Contains(kinds, agent.EventRetry) || s.Usage().Input == 0 {
				t.Error(kinds, s.Usage())
			}
			got := outputs(s.Messages()[2])
			if len(got) != 4 || got[0] != `a{"n":1}` || got[2][0] != '!' || got[3][0] != '!' {
				t.Error(got)
			}
			for i := range n.entries {
				server.Then(modelserver.Turn{Text: "ok"})
				again := agent.New(agent.Options{Provider: model, Tools: tools, History: n.entries[:i+1]})
				if got, err := again.Prompt(t.Context(), "go on"); err != nil || got.Text != "ok" {
					t.Errorf("after entry %d: %v %v", i, got, err)
				}
			}
		})
	}
}
