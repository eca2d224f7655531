package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A view ends with its sessions if its configuration is gone. The other views go on.
func TestReload(t *testing.T) {
	t.Parallel()
	s := threeServers()
	views := map[string]gateway.View{"same": {Servers: []string{"a"}}, "other": {}, "gone": {}}
	g := s.open(t, gateway.Options{Views: views}, "a", "b")
	sessions := map[string]*mcp.ClientSession{}
	for _, path := range []string{"/mcp", "/mcp/a", "/mcp/b", "/mcp/@same", "/mcp/@other", "/mcp/@gone"} {
		sessions[path] = dial(t, g, path, interop.Legacy)
	}
	g.Reload(s.servers("a", "c"), map[string]gateway.View{"same": {Servers: []string{"a"}}, "other": {Servers: []string{"c"}}})
	for path, c := range sessions {
		err := c.Ping(t.Context(), nil)
		if goes := path == "/mcp" || path == "/mcp/a" || path == "/mcp/@same"; goes != (err == nil) {
			t.Errorf("%s goes on is %t: %v", path, !goes, err)
		}
	}
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/mcp": "a__greet c__greet", "/mcp/c": "greet", "/mcp/@other": "c__greet"} {
		var got []string
		for p, err := range dial(t, g, path, interop.Modern).Prompts(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, not %s", path, got, want)
		}
	}
}

// The entries of real servers, one from npm and one in Go, reach real clients unchanged.
func TestRealServers(t *testing.T) {
	t.Parallel()
	command, args := peers.Everything(t, "stdio")
	f := fixture.New(t)
	g := gateway.New(t.Context(), []config.Server{
		{ID: "every", Transport: config.Stdio{Command: command, Args: args}},
		{ID: "fx", Transport: config.Stdio{Command: f.Path, Args: f.Args}},
	}, nil)
	t.Cleanup(g.Close)
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	eras(t, func(t *testing.T, era interop.Era) {
		for path, prefix := range map[string]string{"/mcp": "every__", "/mcp/every": ""} {
			c := dial(t, g, path, era)
			all, err := c.ListResources(t.Context(), nil)
			if err != nil || len(all.Resources) == 0 {
				t.Fatalf("%s: no resources: %v", path, err)
			}
			uri := all.Resources[0].URI
			r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || r.Contents[0].URI != uri {
				t.Errorf("%s: %s: %v", path, uri, err)
			}
			p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefix + "simple-prompt"})
			if err != nil || len(p.Messages) == 0 {
				t.Errorf("%s: %v", path, err)
			}
			r, err = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://resource/dynamic/text/7"}) // matches a template
			if err != nil || !strings.Contains(r.Contents[0].Text, "7") {
				t.Errorf("%s: a template: %v", path, err)
			}
			done, err := c.Complete(t.Context(), &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "completable-prompt"},
				Argument: mcp.CompleteParamsArgument{Name: "department", Value: "S"},
			})
			if err != nil || len(done.Completion.Values) == 0 {
				t.Errorf("%s: nothing is completed: %v %v", path, fmt.Sprint(done), err)
			}
		}
	})
}
