package providers_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/indusagi/indus/schema"
)

// TestOllama sends the tools with Ollama's own client. Ollama's server decodes requests into the same types, so values
// without a field are silently lost. If a root has no properties, these types write null for them.
func TestOllama(t *testing.T) {
	how := lines{doubles: true, forgiven: []string{"/properties = null"}}
	for _, p := range []*schema.Profile{schema.Ollama, schema.Universal, schema.Flat} {
		t.Run(p.Name(), func(t *testing.T) {
			tools := adapted(t, p)
			given := make(api.Tools, len(tools))
			for i, one := range tools {
				given[i] = api.Tool{Type: "function", Function: api.ToolFunction{Name: one.Name, Description: one.Description}}
				decode(t, one.From, one.Schema, &given[i].Function.Parameters)
			}
			check(t, tools, sendOllama(t, given), how)
		})
	}
}

func sendOllama(t *testing.T, tools api.Tools) []arrived {
	t.Helper()
	e := serve(t, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"hello"},"done":true}`)
	base, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = api.NewClient(base, e.Client()).Chat(t.Context(), &api.ChatRequest{
		Model: "m", Messages: []api.Message{{Role: "user", Content: "hello"}}, Tools: tools,
	}, func(api.ChatResponse) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	e.received(t, &body)
	got := make([]arrived, len(body.Tools))
	for i, one := range body.Tools {
		got[i] = arrived{one.Function.Name, one.Function.Description, one.Function.Parameters}
	}
	return got
}
