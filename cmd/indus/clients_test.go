package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// realClient is a row of docs/clients.md: its name, its program for [peers.Abilities], and its package.
type realClient struct{ name, program, from string }

func realClients() []realClient {
	return []realClient{
		{"TypeScript SDK 1", "typescript", "@modelcontextprotocol/sdk"},
		{"TypeScript SDK 2, legacy", "typescript", "@modelcontextprotocol/client"},
		{"TypeScript SDK 2, modern", "typescript", "@modelcontextprotocol/client"},
		{"go-sdk, legacy", "go", "github.com/modelcontextprotocol/go-sdk"},
		{"go-sdk, modern", "go", "github.com/modelcontextprotocol/go-sdk"},
		{"mcp-go, legacy", "go", "github.com/mark3labs/mcp-go"},
		{"mcp-go, modern", "go", "github.com/mark3labs/mcp-go"},
		{"Inspector, legacy", "inspector", "@modelcontextprotocol/inspector"},
		{"Inspector, modern", "inspector", "@modelcontextprotocol/inspector"},
		{"mcporter", "mcporter", "mcporter"},
		{"AI SDK", "ai-sdk", "@ai-sdk/mcp"},
		{"LangChain adapters", "langchain", "@langchain/mcp-adapters"},
		{"Genkit", "genkit", "@genkit-ai/mcp"},
		{"OpenAI Agents", "openai-agents", "@openai/agents-core"},
	}
}

// abilities returns the columns.
func abilities() []string {
	return []string{
		"connects", "lists tools", "calls", "lists resources", "reads", "lists prompts", "gets a prompt",
		"answers a question", "subscribes",
	}
}

// TestClients runs real clients against servers of each era, directly and through indus serve. Every ability that a
// client tries must work through indus.
func TestClients(t *testing.T) {
	t.Parallel()
	direct := map[string]string{"legacy": peers.SDKEverythingHTTP(t, false), "modern": peers.SDKEverythingHTTP(t, true)}
	indus := serveURLs(t, direct)
	places := map[string]peers.Place{}
	for era, asks := range map[string]string{
		"legacy": "test_elicitation", "modern": "test_input_required_result_elicitation",
	} {
		at := peers.Place{URL: direct[era], Calls: "test_simple_text", Asks: asks, Prompt: "test_simple_prompt",
			Reads: "test://static-text", Watched: "test://watched-resource", Patience: 5}
		places["direct "+era] = at
		at.URL, at.Patience = indus, 60
		at.Calls, at.Asks, at.Prompt = era+"__"+at.Calls, era+"__"+at.Asks, era+"__"+at.Prompt
		if era == "modern" { // both list the same URIs, and the first server keeps its URIs unchanged
			at.Reads, at.Watched = "indus://modern/"+at.Reads, "indus://modern/"+at.Watched
		}
		places["through "+era] = at
	}
	found := tryAll(t, places)
	for _, c := range realClients() {
		for _, era := range []string{"legacy", "modern"} {
			of := found[c.name]["through "+era]
			if len(of) < 5 {
				t.Errorf("%s: tries nothing before a %s server: %v", c.name, era, of)
			}
			for ability, failed := range of {
				if failed != "" {
					t.Errorf("%s: %s before a %s server: %s (directly: %q)", c.name, ability, era, failed,
						found[c.name]["direct "+era][ability])
				}
			}
		}
	}
	published(t, "through", clientsTable(t, found, "through "))
	if *update { // the direct results depend on how long clients wait
		published(t, "direct", clientsTable(t, found, "direct "))
	}
}

// serveURLs starts indus serve for servers at URLs, and returns its URL.
func serveURLs(t *testing.T, servers map[string]string) string {
	t.Helper()
	rows := map[string]map[string]string{}
	for name, url := range servers {
		rows[name] = map[string]string{"url": url}
	}
	text, err := json.Marshal(map[string]any{"servers": rows})
	if err != nil {
		t.Fatal(err)
	}
	url, _, _ := serveFile(t, string(text), slices.Sorted(maps.Keys(servers))...)
	return url
}

// serveFile starts indus serve with a configuration file, and returns its URL when these servers are ready.
func serveFile(t *testing.T, text string, ready ...string) (url string, p *program, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("indus", "serve", "--addr", "127.0.0.1:0", "--mcp", file)
	cmd.Dir, cmd.Env = dir,
		append(os.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	p = launch(t, cmd)
	url = p.waitFor(&p.err, `serving at (\S+)\n`)
	for _, name := range ready {
		p.waitFor(&p.err, name+": ready")
	}
	return url, p, file
}

// tryAll runs all programs in parallel.
func tryAll(t *testing.T, places map[string]peers.Place) peers.Outcomes {
	programs := map[string]bool{}
	for _, c := range realClients() {
		programs[c.program] = true
		peers.Version(t, c.from)
	}
	found := peers.Outcomes{}
	var mu sync.Mutex
	t.Run("programs", func(t *testing.T) {
		for program := range programs {
			t.Run(program, func(t *testing.T) {
				t.Parallel()
				of := peers.Abilities(t, program, places)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(found, of)
			})
		}
	})
	return found
}

// clientsTable returns a table. Each cell has the eras in which the client has the ability, or "–" if it never can.
func clientsTable(t *testing.T, found peers.Outcomes, how string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| client | version | %s |\n| --- |%s\n", strings.Join(abilities(), " | "),
		strings.Repeat(" --- |", len(abilities())+1))
	for _, c := range realClients() {
		fmt.Fprintf(&b, "| %s | %s |", c.name, peers.Version(t, c.from))
		for _, ability := range abilities() {
			var with []string
			for _, era := range []string{"legacy", "modern"} {
				if failed, tried := found[c.name][how+era][ability]; tried && failed == "" {
					with = append(with, era)
				}
			}
			if _, means := found[c.name]["through modern"][ability]; !means {
				with = []string{"–"}
			} else if with == nil {
				with = []string{"no"}
			} else if len(with) == 2 {
				with = []string{"both"}
			}
			fmt.Fprintf(&b, " %s |", strings.Join(with, ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// pages allows one test at a time to write the page.
var pages sync.Mutex

// published compares a part of docs/clients.md with the result, or writes it.
func published(t *testing.T, part, is string) {
	t.Helper()
	pages.Lock()
	defer pages.Unlock()
	const page = "../../docs/clients.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- "+part+" -->\n")
	was, after, end := strings.Cut(rest, "<!-- end -->")
	if !ok || !end {
		t.Fatalf("%s has no part %q", page, part)
	}
	if *update {
		text := before + "<!-- " + part + " -->\n" + is + "<!-- end -->" + after
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(was, is); d != "" {
		t.Errorf("%s is stale: make conformance UPDATE=-update (-is +should be)\n%s", page, d)
	}
}
