package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// TestRealToolsArriveAsTheyAreAccepted mounts a real server and checks its tools, as each provider receives them,
// against the provider's rules.
func TestRealToolsArriveAsTheyAreAccepted(t *testing.T) {
	t.Parallel()
	name, args := peers.Everything(t, "stdio")
	mounted := interop.Mount(t.Context(), []config.Server{{ID: "everything", Transport: config.Stdio{Command: name, Args: args}}}, nil)
	t.Cleanup(mounted.Close)
	s := modelserver.New(t)
	s.Func(func(modelserver.Request) modelserver.Turn { return modelserver.Turn{Text: "ok"} })
	model := func(provider string) *openai.Model {
		return openai.New("m", &openai.Options{BaseURL: s.URL, HTTPClient: client(), Provider: provider})
	}
	for _, m := range []interface {
		agent.Provider
		Profile() *schema.Profile
	}{
		anthropic.New("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client()}),
		model("openai"), model("ollama"), model("example.com"),
	} {
		r := hello
		r.Tools = toolbox.NewBox(&toolbox.BoxOptions{Profile: m.Profile()}, mounted.Fleet).Descriptors()
		if _, err := m.Generate(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		sent := s.Requests()
		checkTools(t, sent[len(sent)-1], r.Tools, m.Profile())
	}
}

func checkTools(t *testing.T, sent modelserver.Request, given []toolbox.Descriptor, p *schema.Profile) {
	t.Helper()
	tools := sent.Tools()
	if len(tools) != len(given) || len(tools) < 8 {
		t.Fatalf("%s: %d tools of %d arrived", p.Name(), len(tools), len(given))
	}
	var schemas []json.RawMessage
	for i, tool := range tools {
		schemas = append(schemas, tool.Schema)
		found := append(schema.Check(tool.Schema, p), schema.CheckTool(tool.Name, tool.Description, p)...)
		if len(found) > 0 || tool.Name != given[i].Name || tool.Description != given[i].Description {
			t.Errorf("%s %s: %v", p.Name(), tool.Name, found)
		}
	}
	if found := schema.CheckRequest(schemas, p); len(found) > 0 {
		t.Errorf("%s: %v", p.Name(), found)
	}
}
