//go:build !fuzz

package agent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/toolbox"
)

var (
	client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	// providers are the clients of both wires.
	providers = map[string]func(url string) agent.Provider{
		"anthropic": func(url string) agent.Provider {
			return anthropic.New("m", &anthropic.Options{Key: "k", BaseURL: url, HTTPClient: client})
		},
		"openai": func(url string) agent.Provider {
			return openai.New("m", &openai.Options{Key: "k", BaseURL: url, HTTPClient: client})
		},
	}
)

// TestOverTheWire runs a conversation with every kind of failure against a server as strict as the real ones. It then
// continues from each of its entries. No provider may reject a request of a session.
func TestOverTheWire(t *testing.T) {
	for name, reach := range providers {
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

// brokenHistories holds entries of conversations that a provider would refuse for ever if they were sent as they are.
var brokenHistories = map[string]string{
	"an error without a text":     `[U, A("1"), {"result":{"id":"1","name":"a","output":"","isError":true}}]`,
	"an error of blanks":          `[U, A("1"), {"result":{"id":"1","name":"a","output":" \n\t","isError":true}}]`,
	"an error of nothing":         `[U, A("1"), {"result":{"id":"1","name":"a","output":null,"isError":true}}]`,
	"an empty result":             `[U, A("1"), {"result":{"id":"1","name":"a","output":""}}]`,
	"a result with half an emoji": `[U, A("1"), {"result":{"id":"1","name":"a","output":{"x\ud83d":["\ude00"]}}}]`,
	"an error with an image":      `[U, A("1"), {"result":{"id":"1","name":"a","output":"no","isError":true,"images":[{"mime":"image/png","data":"AAAA"}]}}]`,
	"an image of a wrong type":    `[U, A("1"), {"result":{"id":"1","name":"a","output":"x","images":[{"mime":"image/tiff","data":"AAAA"},{"mime":"image/png","data":""}]}}]`,
	"half an emoji in arguments":  `[U, {"call":{"id":"1","name":"a","input":{"q":"cut \ud83d"}}}, R("1")]`,
	"half an emoji in a key":      `[U, {"call":{"id":"1","name":"a","input":{"\ude00":1}}}, R("1")]`,
	"arguments of no form":        `[U, {"call":{"id":"1","name":"a","text":"{\"n\":"}}, R("1")]`,
	"arguments that are a list":   `[U, {"call":{"id":"1","name":"a","input":[1]}}, R("1")]`,
	"a large number":              `[U, {"call":{"id":"1","name":"a","input":{"n":1e999}}}, R("1")]`,
	"deep arguments":              `[U, {"call":{"id":"1","name":"a","input":{"n":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}}, R("1")]`,
	"an odd name":                 `[U, {"call":{"id":"1","name":"functions.a:ü ","input":{}}}, R("1")]`,
	"a long name":                 `[U, {"call":{"id":"1","name":"` + strings.Repeat("n", 300) + `","input":{}}}, R("1")]`,
	"no name":                     `[U, {"call":{"id":"1","name":"","input":{}}}, R("1")]`,
	"a long id":                   `[U, A("ws_689e2d4880a0819d98acca37694989b00b15d90494fc6b87"), R("ws_689e2d4880a0819d98acca37694989b00b15d90494fc6b87")]`,
	"an odd id":                   `[U, A("functions.a:0"), R("functions.a:0")]`,
	"no id":                       `[U, A(""), R("")]`,
	"an id of two messages":       `[U, A("1"), R("1"), A("1"), R("1")]`,
	"an id of two calls":          `[U, [A("1"), A("1")], R("1"), R("1")]`,
	"a call without a result":     `[U, A("1"), U]`,
	"a call at the end":           `[U, A("1")]`,
	"a result without its call":   `[U, R("9"), T]`,
	"a result that comes twice":   `[U, A("1"), R("1"), R("1")]`,
	"a text before the result":    `[U, A("1"), U, R("1")]`,
	"reasoning alone":             `[U, N, U]`,
	"reasoning at the end":        `[U, [N, T, N], U]`,
	"reasoning behind a text":     `[U, [T, N, A("1")], R("1")]`,
	"reasoning between calls":     `[U, [N, A("1"), N, A("2")], R("1"), R("2")]`,
	"reasoning of another":        `[U, [{"native":{"provider":"other/m","json":{"type":"x"}}}], U]`,
	"the model first":             `[T, U]`,
	"a call first":                `[A("1"), R("1")]`,
	"blank messages":              `[{"text":"  "}, {"text":"\n","model":true}, U, {"text":" ","model":true}, U]`,
	"no message at all":           `[]`,
	"two messages of the model":   `[U, T, T, N, U]`,
}

// TestABrokenConversationGoesOn checks that a conversation that was recorded with parts that a provider refuses is resumed
// without one refusal.
func TestABrokenConversationGoesOn(t *testing.T) {
	short := strings.NewReplacer("U", `{"text":"go"}`, "T", `{"text":"well","model":true}`, "N", `{"native":true}`)
	entry := regexp.MustCompile(`([AR])\(("[^"]*")\)`)
	for name, reach := range providers {
		t.Run(name, func(t *testing.T) {
			server := modelserver.New(t)
			model := reach(server.URL)
			for broken, text := range brokenHistories {
				text = short.Replace(text)
				text = entry.ReplaceAllStringFunc(text, func(s string) string {
					m := entry.FindStringSubmatch(s)
					if m[1] == "A" {
						return `{"call":{"id":` + m[2] + `,"name":"a","input":{}}}`
					}
					return `{"result":{"id":` + m[2] + `,"name":"a","output":"out"}}`
				})
				history := readBroken(t, text, model.Name())
				server.Then(modelserver.Turn{Text: "ok"})
				before := len(server.Requests())
				s := agent.New(agent.Options{Provider: model, Tools: box(tool("a", nil)), History: history})
				if got, err := s.Prompt(t.Context(), "go on"); err != nil || got.Text != "ok" || len(server.Requests()) != before+1 {
					t.Errorf("%s: %v %v, %d requests", broken, got, err, len(server.Requests())-before)
				}
			}
		})
	}
}

// readBroken reads entries in the short form of brokenHistories: a part, or a list of the parts of one message.
func readBroken(t *testing.T, text, provider string) (history []agent.Entry) {
	t.Helper()
	var entries []json.RawMessage
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, e := range entries {
		if e[0] != '[' {
			e = slices.Concat([]byte("["), e, []byte("]"))
		}
		var parts []struct {
			agent.Part
			Native json.RawMessage `json:"native"`
			Model  bool            `json:"model"`
		}
		if err := json.Unmarshal(e, &parts); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		m := agent.Message{Role: agent.User}
		for _, p := range parts {
			if string(p.Native) == "true" {
				thinking := map[string]string{"type": "thinking", "thinking": "hm", "signature": modelserver.Signature("hm")}
				if !strings.Contains(provider, "anthropic") {
					thinking = map[string]string{}
				}
				b, _ := json.Marshal(thinking)
				p.Part.Native = &agent.Native{Provider: provider, JSON: b}
			} else if p.Native != nil {
				p.Part.Native = &agent.Native{}
				if err := json.Unmarshal(p.Native, p.Part.Native); err != nil {
					t.Fatal(err)
				}
			}
			if p.Call != nil || p.Part.Native != nil || p.Model {
				m.Role = agent.Assistant
			}
			m.Parts = append(m.Parts, p.Part)
		}
		history = append(history, agent.Entry{Message: &m})
	}
	return history
}
