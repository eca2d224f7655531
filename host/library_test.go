package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func library() *host.Library {
	l := host.NewLibrary()
	l.AddPrompt(host.Prompt{
		Name: "greet", Title: "Greet", Description: "Greets.",
		Arguments: []host.Argument{{Name: "name", Required: true, Complete: host.Words("Ann", "anton", "Bob")}, {Name: "how"}},
		Get: func(ctx context.Context, arguments map[string]string) ([]toolbox.Message, error) {
			if arguments["name"] == "ask" {
				c, err := toolbox.Elicit[orderChoice](ctx, "accept")
				return []toolbox.Message{{Text: c.Size}}, err
			}
			return []toolbox.Message{
				{Text: "Greet " + arguments["name"], Blocks: []toolbox.Block{toolbox.Image([]byte{1}, "image/png")}},
				{Role: "assistant", Text: "I do."},
			}, nil
		},
	})
	l.AddResource(
		host.Resource{Resource: toolbox.Resource{URI: "menu://today", Title: "Menu", MIME: "text/plain", Text: "dal"}},
		host.Resource{Resource: toolbox.Resource{URI: "menu://photo", Name: "photo", MIME: "image/png", Data: []byte{0xff}}},
		host.Resource{
			Resource: toolbox.Resource{URI: "menu://dishes/{kind}/{dish}", Name: "dish"},
			Complete: map[string]host.Completion{"dish": func(_ context.Context, typed string, known map[string]string) ([]string, error) {
				return slices.Repeat([]string{known["kind"] + typed}, 101), nil
			}},
			Read: func(_ context.Context, r toolbox.Resource, parts map[string]string) (toolbox.Resource, error) {
				if parts["dish"] == "gone" {
					return r, fs.ErrNotExist
				}
				if parts["dish"] == "burnt" {
					return r, errors.New("it burnt")
				}
				r.Text = parts["kind"] + " " + parts["dish"]
				return r, nil
			},
		})
	return l
}

// Prompts, resources, templates and completions of a program reach clients of both eras.
func TestALibraryIsPublished(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, _ string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		t.Parallel()
		ctx := t.Context()
		opts := elicitingClient("ann")
		opts.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"size": "large"}}, nil
		}
		s := connect(newHost(t, nil, &host.Options{Library: library(), Page: 1}), opts)
		if c := s.InitializeResult().Capabilities; c.Prompts == nil || c.Resources == nil || !c.Resources.Subscribe ||
			c.Completions == nil {
			t.Errorf("%+v", c)
		}
		prompts, err := s.ListPrompts(ctx, nil)
		if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Title != "Greet" ||
			len(prompts.Prompts[0].Arguments) != 2 || !prompts.Prompts[0].Arguments[0].Required {
			t.Errorf("%+v, %v", prompts, err)
		}
		p, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ann"}})
		if err != nil || len(p.Messages) != 3 || p.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ann" ||
			p.Messages[1].Content.(*mcp.ImageContent).MIMEType != "image/png" || p.Messages[2].Role != "assistant" {
			t.Errorf("%+v, %v", p, err)
		}
		p, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "ask"}})
		if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "large" {
			t.Errorf("a prompt asks: %+v, %v", p, err)
		}
		for name, want := range map[string]string{"greet": `lacks the argument "name"`, "other": `no prompt named "other"`} {
			if _, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		var uris []string
		for r, err := range s.Resources(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, r.URI+" "+r.Name+" "+r.MIMEType)
		}
		for r, err := range s.ResourceTemplates(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, r.URITemplate+" "+r.Name)
		}
		if got := fmt.Sprint(uris); got != "[menu://today menu://today text/plain menu://photo photo image/png menu://dishes/{kind}/{dish} dish]" {
			t.Error(got)
		}
		for uri, want := range map[string]string{
			"menu://today": "dal", "menu://photo": "\xff", "menu://dishes/hot/dal%20fry": "hot dal fry",
			"menu://dishes/hot/gone": "!resource not found", "menu://other": "!resource not found", "menu://dishes/hot/burnt": "!", "menu://dishes/hot": "!resource not found",
		} {
			r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if message, fails := strings.CutPrefix(want, "!"); fails {
				if err == nil || !strings.Contains(strings.ToLower(err.Error()), message) {
					t.Errorf("%s: %v", uri, err)
				}
				continue
			}
			if err != nil || r.Contents[0].URI != uri || r.Contents[0].Text+string(r.Contents[0].Blob) != want {
				t.Errorf("%s: %+v, %v", uri, r, err)
			}
		}
		for _, tt := range []struct {
			ref            *mcp.CompleteReference
			argument, want string
			total          int
		}{
			{&mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, "name", "Ann anton", 2},
			{&mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, "how", "", 0},
			{&mcp.CompleteReference{Type: "ref/resource", URI: "menu://dishes/{kind}/{dish}"}, "dish", strings.TrimSpace(strings.Repeat("hotAN ", 100)), 101},
		} {
			r, err := s.Complete(ctx, &mcp.CompleteParams{
				Ref: tt.ref, Argument: mcp.CompleteParamsArgument{Name: tt.argument, Value: "AN"}, Context: &mcp.CompleteContext{Arguments: map[string]string{"kind": "hot"}},
			})
			if err != nil || strings.Join(r.Completion.Values, " ") != tt.want || r.Completion.Total != tt.total ||
				r.Completion.HasMore != (tt.total > 100) {
				t.Errorf("%s: %+v, %v", tt.argument, r, err)
			}
		}
	})
}

// Changes of a library reach the clients. All clients are notified of lists, and subscribed ones of resources.
func TestALibraryChanges(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, era string, connect func(*host.Host, *mcp.ClientOptions) *mcp.ClientSession) {
		if era == "2026-07-28" {
			return // the SDK does not wait until its subscription is acknowledged
		}
		t.Parallel()
		prompts, resources, updates := make(chan bool, 10), make(chan bool, 10), make(chan string, 10)
		lib := library()
		s := connect(newHost(t, nil, &host.Options{Library: lib}), &mcp.ClientOptions{
			PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { prompts <- true },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { resources <- true },
			ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
		})
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "menu://today"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "menu://other"}); err == nil {
			t.Error("what is not there is subscribed to")
		}
		lib.Updated("menu://photo") // without a subscription
		lib.Updated("menu://today")
		if uri := <-updates; uri != "menu://today" {
			t.Error(uri)
		}
		lib.RemovePrompts("greet", "other")
		<-prompts
		lib.RemoveResources("menu://today")
		<-resources
		if list, err := s.ListPrompts(t.Context(), nil); err != nil || len(list.Prompts) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "menu://today"}); err == nil {
			t.Error("it is still read")
		}
	})
}

// A modern client receives the same notifications, once its subscription is acknowledged.
func TestALibraryChangesForAModernClient(t *testing.T) {
	t.Parallel()
	lib := library()
	l := serveLines(t.Context(), t, newHost(t, nil, &host.Options{Library: lib}))
	l.write(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true,"resourcesListChanged":true,` +
		`"resourceSubscriptions":["menu://today","menu://other"]},` + elicitingMeta + `}}`)
	expect := func(parts ...string) {
		t.Helper()
		got := l.read()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("got %s, want %s", got, part)
			}
		}
	}
	expect("notifications/subscriptions/acknowledged", `"resourceSubscriptions":["menu://today"]`)
	lib.Updated("menu://photo") // without a subscription
	lib.Updated("menu://today")
	expect("notifications/resources/updated", `"uri":"menu://today"`)
	lib.RemovePrompts("greet", "other")
	expect("notifications/prompts/list_changed")
	lib.RemoveResources("menu://today")
	expect("notifications/resources/list_changed")
}

// An entry that cannot be published is a mistake of the program.
func TestALibraryRefusesWhatCannotBePublished(t *testing.T) {
	l := host.NewLibrary()
	for name, add := range map[string]func(){
		"no name":     func() { l.AddPrompt(host.Prompt{}) },
		"no Get":      func() { l.AddPrompt(host.Prompt{Name: "a"}) },
		"no scheme":   func() { l.AddResource(host.Resource{Resource: toolbox.Resource{URI: "today"}}) },
		"no Read":     func() { l.AddResource(host.Resource{Resource: toolbox.Resource{URI: "a://{b}"}}) },
		"no template": func() { l.AddResource(host.Resource{Resource: toolbox.Resource{URI: "a://{b"}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was added", name)
				}
			}()
			add()
		}()
	}
}
