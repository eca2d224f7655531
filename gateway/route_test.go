package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An argument is completed by the server that has the prompt, the template or the resource.
func TestCompletions(t *testing.T) {
	t.Parallel()
	s := twoLibraries()
	s["c"] = mcp.NewServer(&mcp.Implementation{Name: "c", Version: "1"}, nil) // it has no completions
	s["c"].AddPrompt(&mcp.Prompt{Name: "greet"}, nil)
	g := s.open(t, gateway.Options{}, "a", "b", "c")
	eras(t, func(t *testing.T, era interop.Era) {
		c := dial(t, g, "/mcp", era)
		for _, tt := range []struct {
			ref  mcp.CompleteReference
			want string
		}{
			{mcp.CompleteReference{Type: "ref/prompt", Name: "a__greet"}, "a:greet"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "b__greet"}, "b:greet"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "c__greet"}, ""},
			{mcp.CompleteReference{Type: "ref/resource", URI: "b:///{name}"}, "b:b:///{name}"},
			{mcp.CompleteReference{Type: "ref/resource", URI: "file:///same"}, "a:file:///same"},
			{mcp.CompleteReference{Type: "ref/resource", URI: "indus://b/file:///same"}, "b:file:///same"},
			{mcp.CompleteReference{Type: "ref/resource", URI: "ui://b/form.html"}, "b:ui://form.html"},
		} {
			r, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &tt.ref, Argument: mcp.CompleteParamsArgument{Name: "x", Value: "y"}})
			if err != nil {
				t.Errorf("%+v: %v", tt.ref, err)
			} else if got := strings.Join(r.Completion.Values, " "); got != tt.want {
				t.Errorf("%+v: %s, not %s", tt.ref, got, tt.want)
			}
		}
		if _, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}}); err == nil || !strings.Contains(err.Error(), `nothing named "greet"`) {
			t.Errorf("a prompt that nobody has: %v", err)
		}
	})
}

// Params that name the owner in two ways are refused, because a server could read the other name.
func TestAmbiguousParamsAreRefused(t *testing.T) {
	t.Parallel()
	g := twoLibraries().open(t, gateway.Options{}, "a", "b").Handler()
	for method, params := range map[string]string{
		"prompts/get":         `{"name":"a__greet","Name":"b__greet"}`,
		"resources/read":      `{"uri":"file:///a","URI":"file:///b"}`,
		"completion/complete": `{"ref":{"type":"ref/prompt","name":"a__greet","NAME":"x"},"argument":{"name":"a","value":""}}`,
	} {
		if a := ask(t, g, "/mcp", method, params); a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "twice, or in another spelling") {
			t.Errorf("%s: %s %+v", method, a.Result, a.Error)
		}
	}
}

// If no list has a URI, the first server with a matching template is asked. Otherwise the servers that have resources
// are asked, and the first of them that knows the URI answers, however late.
func TestURIsThatNobodyLists(t *testing.T) {
	t.Parallel()
	sooner := make(chan struct{})
	knows := func(id, uri, templates string) *script {
		s := resources(replyWith(`{"resources":[]}`))
		s.answers["resources/templates/list"] = replyWith(`{"resourceTemplates":[` + templates + `]}`)
		s.answers["resources/read"] = func(m interop.Message) (string, error) {
			if strings.Contains(string(m.Params), "everywhere") {
				if id == "c" {
					close(sooner)
				}
				<-sooner
			} else if !strings.Contains(string(m.Params), uri) {
				return "", &interop.RPCError{Code: -32002, Message: id + " has it not"}
			}
			return `{"contents":[{"uri":"x","text":"` + id + `"}]}`, nil
		}
		return s
	}
	s := scripts{
		"a": knows("a", "hidden", `{"uriTemplate":"{+anything}"},{"uriTemplate":"x:{"},{"uriTemplate":"t:{id}"}`),
		"b": knows("b", "t:", `{"uriTemplate":"t:{id}"}`),
		"c": knows("c", "secret", `{"uriTemplate":"c://{host}/{+path}{?q}"}`),
	}
	g := s.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "c"}).Handler()
	for uri, want := range map[string]string{
		"x:hidden": "a", "x:secret": "c", "x:everywhere": "a", "t:1": "t: a has it not", "c://h/secret/p?q=1": "c", "indus://b/t:{id}": "b", "x:nobody": "no resource x:nobody",
	} {
		a := ask(t, g, "/mcp", "resources/read", `{"uri":"`+uri+`"}`)
		switch {
		case len(want) == 1:
			if !strings.Contains(string(a.Result), `"text":"`+want+`"`) {
				t.Errorf("%s: %s %+v", uri, a.Result, a.Error)
			}
		case a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, strings.TrimPrefix(want, "t: ")):
			t.Errorf("%s: %s %+v", uri, a.Result, a.Error)
		}
	}
}

// The URIs of skills begin with their server. Nothing else changes.
func TestSkills(t *testing.T) {
	t.Parallel()
	const skill = `{"uri":"skill://x/y/SKILL.md","frontmatter":{"name":"y"},"resources":[{"uri":"skill://x/y/SKILL.md","digest":"sha256:0","size":1},{"uri":"repo://x/y/z","size":2}]}`
	server := func() *script {
		return &script{answers: map[string]func(interop.Message) (string, error){
			"server/discover": discovers(`{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true},"x/unknown":{}}}`),
			"resources/list":  replyWith(`{"resources":[]}`),
			"skills/list":     replyWith(`{"skills":[` + skill + `]}`),
			"skills/get": func(m interop.Message) (string, error) {
				if !strings.Contains(string(m.Params), `"skill://x/y/SKILL.md"`) {
					return "", &interop.RPCError{Code: -32602, Message: string(m.Params)}
				}
				return `{"skill":` + skill + `}`, nil
			},
			"resources/directory/read": func(m interop.Message) (string, error) {
				if !strings.Contains(string(m.Params), `"skill://x/y"`) {
					return "", &interop.RPCError{Code: -32602, Message: string(m.Params)}
				}
				return `{"resources":[{"uri":"skill://x/y/SKILL.md"}]}`, nil
			},
		}}
	}
	g := scripts{"a": server(), "b": server(), "c": resources(replyWith(`{"resources":[]}`))}.open(t, gateway.Options{},
		config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "c"}).Handler()
	got := ask(t, g, "/mcp", "skills/list", "{}")
	uris, _ := listed(t, got, "skills", "uri")
	if diff := cmp.Diff([]string{"skill://a/x/y/SKILL.md", "skill://b/x/y/SKILL.md"}, uris); diff != "" {
		t.Error(diff)
	}
	want := strings.ReplaceAll(strings.ReplaceAll(skill, "skill://", "skill://b/"), "repo://", "indus://b/repo://")
	if !strings.Contains(string(got.Result), want) {
		t.Errorf("%s lacks %s", got.Result, want)
	}
	if got := ask(t, g, "/mcp", "skills/get", `{"uri":"skill://b/x/y/SKILL.md"}`); !strings.Contains(string(got.Result), `"skill":`+want) {
		t.Errorf("%s %+v", got.Result, got.Error)
	}
	if got := ask(t, g, "/mcp", "resources/directory/read", `{"uri":"skill://b/x/y"}`); !strings.Contains(string(got.Result), `[{"uri":"skill://b/x/y/SKILL.md"}]`) {
		t.Errorf("%s %+v", got.Result, got.Error)
	}
	if got := ask(t, g, "/mcp", "server/discover", `{}`); !strings.Contains(string(got.Result), `"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}`) {
		t.Errorf("%s", got.Result)
	}
	if got := ask(t, g, "/mcp/c", "skills/list", `{}`); got.Error == nil || got.Error.Code != -32601 {
		t.Errorf("a server without skills: %s", got.Result)
	}
}

// A method that the gateway does not know goes to the one server of a view. It is unknown on views of several servers.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	s := resources(replyWith(`{"resources":[]}`))
	s.answers["x/y"] = func(m interop.Message) (string, error) { return `{"a":` + string(m.Params) + `}`, nil }
	g := scripts{"s": s}.open(t, gateway.Options{Views: map[string]gateway.View{"v": {}}}, config.Server{ID: "s"}).Handler()
	for path, want := range map[string]int64{"/mcp": -32601, "/mcp/@v": -32601, "/mcp/s": 0} {
		a := ask(t, g, path, "x/y", `{"k":1}`)
		if want == 0 && !strings.Contains(string(a.Result), `"k":1`) || want != 0 && (a.Error == nil || a.Error.Code != want) {
			t.Errorf("%s: %s %+v", path, a.Result, a.Error)
		}
	}
}

// A view has the capabilities and the instructions of its servers.
func TestWhatViewsDeclare(t *testing.T) {
	t.Parallel()
	s := scripts{
		"a": {answers: map[string]func(interop.Message) (string, error){"server/discover": discovers(`{"tools":{"x":1},"logging":{},"experimental":{}}`), "tools/list": replyWith(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)}},
		"b": {answers: map[string]func(interop.Message) (string, error){"server/discover": discovers(`{"prompts":{},"completions":{},"extensions":{"io.modelcontextprotocol/ui":{"m":1},"io.modelcontextprotocol/tasks":{}}}`)}},
		"c": {answers: map[string]func(interop.Message) (string, error){"server/discover": discovers(`{"tools":{}}`), "tools/list": replyWith(`{"tools":[]}`)}},
	}
	g := s.open(t, gateway.Options{}, config.Server{ID: "a"}, config.Server{ID: "b"}, config.Server{ID: "c"}, config.Server{ID: "down"}).Handler()
	quoted := func(id, of string) string {
		return fmt.Sprintf("The server %q says of its %s, whose names here begin with %q:\n> Read me.", id, of, id+"__")
	}
	for path, want := range map[string][2]string{
		"/mcp": {
			`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"m":1}}}`,
			quoted("a", "tools") + "\n\n" + quoted("b", "prompts and resources"), // c has no tools, so its instructions are left out
		},
		"/mcp/a":    {`{"tools":{"x":1,"listChanged":true},"logging":{},"experimental":{}}`, "Read me."},
		"/mcp/b":    {`{"prompts":{},"completions":{},"extensions":{"io.modelcontextprotocol/ui":{"m":1},"io.modelcontextprotocol/tasks":{}}}`, "Read me."},
		"/mcp/down": {`{"tools":{"listChanged":true}}`, ""},
	} {
		var got struct {
			Capabilities json.RawMessage
			Instructions string
		}
		if err := json.Unmarshal(ask(t, g, path, "server/discover", "{}").Result, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [2]string{string(got.Capabilities), got.Instructions}); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
