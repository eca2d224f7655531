package examples_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

func TestMountRuns(t *testing.T) {
	command, args := peers.Everything(t, "stdio")
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": map[string]any{"command": command, "args": args},
	}})
	if err != nil {
		t.Fatal(err)
	}
	bin := fixture.GoBuild(t, "github.com/indusagi/indus/examples/mount")
	// The program starts in another directory, because this checkout is a project that has a server
	// itself.
	mount := fixture.Command{Path: bin, Args: []string{fixture.File(t, string(file))}, Dir: t.TempDir()}
	out, stderr, err := fixture.Run(t, mount, time.Minute)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if !strings.Contains(out, "everything__get-sum\n") || !strings.Contains(out, "Echo: hi") {
		t.Errorf("it prints:\n%s", out)
	}
}

func TestPublishRuns(t *testing.T) {
	bin := fixture.GoBuild(t, "github.com/indusagi/indus/examples/publish")
	p := fixture.Start(t, fixture.Command{Path: bin, Args: []string{"127.0.0.1:0"}})
	e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.HTTP{URL: p.Line()}}, nil)
	defer e.Close()
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := e.Invoke(t.Context(), "shout", json.RawMessage(`{"text":"hi"}`))
	if err != nil || len(r.Blocks()) != 1 || *r.Blocks()[0].Text != "HI" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestGatewayRuns(t *testing.T) {
	server := map[string]any{"command": fixture.Build(t)}
	file, err := json.Marshal(map[string]any{"servers": map[string]any{"github": server, "other": server}})
	if err != nil {
		t.Fatal(err)
	}
	bin := fixture.GoBuild(t, "github.com/indusagi/indus/examples/gateway")
	p := fixture.Start(t, fixture.Command{Path: bin, Args: []string{fixture.File(t, string(file)), "127.0.0.1:0"}})
	url := p.Line()
	for path, tool := range map[string]string{"": "other__echo", "/github": "echo", "/@git": "github__echo"} {
		e := interop.NewEndpoint(config.Server{ID: "g", Transport: config.HTTP{URL: url + path}}, nil)
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(path, err)
		}
		r, err := e.Invoke(t.Context(), tool, json.RawMessage(`{"message":"hi"}`))
		if err != nil || r.IsError() || len(r.Blocks()) != 1 || *r.Blocks()[0].Text != "hi" {
			t.Errorf("%s: %s: %v, %v", path, tool, r, err)
		}
	}
}

// TestGuardRuns calls a tool while it is open, and while it is not.
func TestGuardRuns(t *testing.T) {
	file, err := json.Marshal(map[string]any{"servers": map[string]any{"s": map[string]any{"command": fixture.Build(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	bin := fixture.GoBuild(t, "github.com/indusagi/indus/examples/guard")
	for to, want := range map[string]string{"24": "hi", "0": "echo is open from 0 to 0 h"} {
		p := fixture.Start(t, fixture.Command{Path: bin, Args: []string{fixture.File(t, string(file)), "127.0.0.1:0", "0", to}})
		e := interop.NewEndpoint(config.Server{ID: "g", Transport: config.HTTP{URL: p.Line()}}, nil)
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := e.Invoke(t.Context(), "s__echo", json.RawMessage(`{"message":"hi"}`))
		if err != nil || r.IsError() != (to == "0") || len(r.Blocks()) != 1 || *r.Blocks()[0].Text != want {
			t.Errorf("open to %s h: %v, %v", to, r, err)
		}
	}
}

func TestAgentRuns(t *testing.T) {
	model := modelserver.New(t, modelserver.Turn{Calls: []modelserver.Call{{ID: "one", Name: "weather", Input: `{"city":"Lahore"}`}}},
		modelserver.Turn{Text: "Take an umbrella."})
	agent := fixture.Command{
		Path: fixture.GoBuild(t, "github.com/indusagi/indus/examples/agent"), Args: []string{"What do I need", "in Lahore?"},
		Env: []string{"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + model.URL},
	}
	out, stderr, err := fixture.Run(t, agent, time.Minute)
	if err != nil || out != "Take an umbrella.\n" {
		t.Fatalf("%q %v\n%s", out, err, stderr)
	}
	last := model.Requests()[1]
	if r := last.Results(); last.Prompt() != "What do I need in Lahore?" || len(r) != 1 || r[0].Text != "It rains in Lahore" {
		t.Errorf("%s", last.Body)
	}
}
