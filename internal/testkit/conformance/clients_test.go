package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// abilities are what clients are tried with, in the table's order, as testdata/peers/abilities.mjs names them.
func abilities() []string {
	return []string{
		"connects", "lists tools", "calls", "lists resources", "reads", "lists prompts", "gets a prompt", "answers a question", "subscribes",
	}
}

// outcome is what came of a client's abilities: "" or an error.
type outcome map[string]string

// TestClients has real clients of both eras do all that they can through a gateway, before a server of each era.
func TestClients(t *testing.T) {
	t.Parallel()
	asks := map[interop.Era]string{interop.Legacy: "test_elicitation", interop.Modern: "test_input_required_result_elicitation"}
	found := map[string]map[interop.Era]outcome{}
	var mu sync.Mutex
	t.Run("upstream", func(t *testing.T) {
		for era, tool := range asks {
			t.Run(string(era), func(t *testing.T) {
				t.Parallel()
				url := through(t, era, interop.HTTP{URL: peers.SDKEverythingHTTP(t, era == interop.Modern)})
				all := typescript(t, url, tool)
				for name, version := range map[string]string{"go-sdk, legacy": legacyRevision, "go-sdk, modern": modernRevision} {
					all[name] = goSDK(t.Context(), url, version, tool)
				}
				for client, of := range all {
					for _, ability := range abilities() {
						if failed, tried := of[ability]; failed != "" || !tried {
							t.Errorf("%s %s: %q", client, ability, failed)
						}
					}
					mu.Lock()
					if found[client] == nil {
						found[client] = map[interop.Era]outcome{}
					}
					found[client][era] = of
					mu.Unlock()
				}
			})
		}
	})
	published(t, "clients", clientsTable(found))
}

// clientsTable has a row for each client, and in each cell the eras of servers with which it can.
func clientsTable(found map[string]map[interop.Era]outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| client | %s |\n| --- |%s\n", strings.Join(abilities(), " | "), strings.Repeat(" --- |", len(abilities())))
	for _, client := range []string{"TypeScript SDK 1", "TypeScript SDK 2, legacy", "TypeScript SDK 2, modern", "go-sdk, legacy", "go-sdk, modern"} {
		fmt.Fprintf(&b, "| %s |", client)
		for _, ability := range abilities() {
			var with []string
			for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
				if failed, tried := found[client][era][ability]; tried && failed == "" {
					with = append(with, string(era))
				}
			}
			fmt.Fprintf(&b, " %s |", strings.Join(with, ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// typescript has the clients of testdata/peers/abilities.mjs try.
func typescript(t *testing.T, url, tool string) map[string]outcome {
	t.Helper()
	script := filepath.Join("..", "..", "..", "testdata", "peers", "abilities.mjs")
	out, err := exec.CommandContext(t.Context(), peers.Node(t), script, url, tool).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := map[string]outcome{}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return all
}

// goSDK has go-sdk's client try.
func goSDK(ctx context.Context, url, version, tool string) outcome {
	asked, updated := 0, make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "abilities", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"username": "u", "email": "u@example.com", "name": "u"}}, nil
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			select {
			case updated <- struct{}{}:
			default:
			}
		},
	})
	out := outcome{}
	attempt := func(name string, run func() error) {
		out[name] = ""
		if err := run(); err != nil {
			out[name] = err.Error()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var s *mcp.ClientSession
	attempt("connects", func() (err error) {
		s, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		return err
	})
	if s == nil {
		return out
	}
	defer s.Close()
	const watched = "test://watched-resource"
	subscribed := s.Subscribe(ctx, &mcp.SubscribeParams{URI: watched})
	attempt("lists tools", func() error { r, err := s.ListTools(ctx, nil); return some(err, func() int { return len(r.Tools) }) })
	attempt("calls", func() error {
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "test_simple_text"})
		return some(err, func() int { return len(r.Content) })
	})
	attempt("lists resources", func() error {
		r, err := s.ListResources(ctx, nil)
		return some(err, func() int { return len(r.Resources) })
	})
	attempt("reads", func() error {
		r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
		return some(err, func() int { return len(r.Contents) })
	})
	attempt("lists prompts", func() error {
		r, err := s.ListPrompts(ctx, nil)
		return some(err, func() int { return len(r.Prompts) })
	})
	attempt("gets a prompt", func() error {
		r, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"})
		return some(err, func() int { return len(r.Messages) })
	})
	attempt("answers a question", func() error {
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"message": "who?"}})
		return some(err, func() int {
			if r.IsError || asked != 1 {
				return 0
			}
			return len(r.Content)
		})
	})
	attempt("subscribes", func() error {
		if subscribed != nil {
			return subscribed
		}
		select {
		case <-updated:
			return nil
		case <-ctx.Done():
			return errors.New("no update comes")
		}
	})
	return out
}

// some is err, or that there is nothing in a result.
func some(err error, n func() int) error {
	if err == nil && n() == 0 {
		return errors.New("there is nothing in the result")
	}
	return err
}
