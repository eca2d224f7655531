package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// library returns a server with a prompt, resources and a template. Each of them returns the id of the server.
func library(id string, uris ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: id, Version: "1"}, &mcp.ServerOptions{
		Instructions: "Use " + id + ".",
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{id + ":" + r.Params.Ref.Name + r.Params.Ref.URI}}}, nil
		},
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: id + " " + r.Params.Name, Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.ResourceLink{URI: "ui://form.html", Name: "form"}},
			{Role: "user", Content: &mcp.ResourceLink{URI: "file:///same", Name: "same"}},
		}}, nil
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: id}}}, nil
	}
	for _, uri := range uris {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: id + ":///{name}", Name: "t"}, read)
	return s
}

func twoLibraries() shelf {
	return shelf{
		"a": library("a", "file:///same", "file:///a", "ui://form.html", "skill://x/y/SKILL.md"),
		"b": library("b", "file:///same", "file:///b", "ui://form.html"),
	}
}

func eras(t *testing.T, run func(t *testing.T, era interop.Era)) {
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		t.Run(string(era), func(t *testing.T) { t.Parallel(); run(t, era) })
	}
}

// Prompts have the server in their names. A resource keeps its URI if only one server has it.
func TestListsOfAllServers(t *testing.T) {
	t.Parallel()
	g := twoLibraries().open(t, gateway.Options{}, "a", "b")
	eras(t, func(t *testing.T, era interop.Era) {
		c := dial(t, g, "/mcp", era)
		prompts, err := c.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range prompts.Prompts {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff([]string{"a__greet", "b__greet"}, names); diff != "" {
			t.Error(diff)
		}
		resources, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, r := range resources.Resources {
			uris = append(uris, r.URI)
		}
		want := []string{
			"file:///a", "file:///same", "skill://a/x/y/SKILL.md", "ui://a/form.html",
			"file:///b", "indus://b/file:///same", "ui://b/form.html",
		}
		if diff := cmp.Diff(want, uris); diff != "" {
			t.Error(diff)
		}
		for _, uri := range append(uris, "a:///anything", "b:///anything") {
			r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatalf("%s: %v", uri, err)
			}
			owner := "a"
			if slices.Index(uris, uri) > 3 || uri == "b:///anything" {
				owner = "b"
			}
			if got := r.Contents[0]; got.Text != owner || got.URI != uri {
				t.Errorf("%s: %s of %s", uri, got.URI, got.Text)
			}
		}
		for _, server := range []string{"a", "b"} {
			p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: server + "__greet"})
			if err != nil {
				t.Fatal(err)
			}
			same := map[string]string{"a": "file:///same", "b": "indus://b/file:///same"}[server]
			want := fmt.Sprintf("%s greet: ui://%s/form.html %s", server, server, same)
			got := fmt.Sprintf("%s: %s %s", p.Description, p.Messages[0].Content.(*mcp.ResourceLink).URI, p.Messages[1].Content.(*mcp.ResourceLink).URI)
			if got != want {
				t.Errorf("%s, not %s", got, want)
			}
		}
	})
}

// A log line about a list of one principal names the principal.
func TestALogLineNamesWhoseListItIs(t *testing.T) {
	t.Parallel()
	logged := make(chan string, 10)
	s := scripts{"a": resources(replyWith(`{"cacheScope":"private","resources":[{"uri":"x:1"},{"uri":"x:1"}]}`))}
	g := s.open(t, gateway.Options{Host: host.Options{
		Logger:       slog.New(slog.NewTextHandler(lines(logged), nil)),
		Authenticate: func(*http.Request) (toolbox.Principal, error) { return "eve", nil },
	}}, config.Server{ID: "a"})
	listed(t, ask(t, g.Handler(), "/mcp", "resources/list", "{}"), "resources", "uri")
	if got := <-logged; !strings.Contains(got, "a list is not complete") || !strings.Contains(got, "caller=eve") {
		t.Error(got)
	}
}

// lines collects log records.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
