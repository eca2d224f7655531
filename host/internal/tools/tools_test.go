package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host/internal/tools"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

func TestToolsListKeepsItsOwnersBytes(t *testing.T) {
	const raw = `{ "name": "own", "x-unknown": [1.50, null], "inputSchema": {"type":"object","properties":{"b":{"const":9007199254740993},"a":{}}}, "annotations": {"priority":0}, "title":"" }`
	snap := &toolbox.Snapshot{Tools: []toolbox.Descriptor{
		shelf.WireDescriptor("s__own", raw),
		{Name: "local", Description: "a \"local\" one", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "bare"},
		shelf.WireDescriptor("untyped", `{"name":"own","inputSchema":{}}`),
		shelf.WireDescriptor("nullable", `{"name":"own","inputSchema":{"type":["object","null"]}}`),
		{Name: "broken", Schema: json.RawMessage(`{"type":"object"`)},
		shelf.WireDescriptor("twice", `{"name":"own","name":"other","inputSchema":{"type":"object"}}`),
		shelf.WireDescriptor("s__own", `{"name":"late","inputSchema":{"type":"object"}}`),
	}}
	src := &shelf.Shelf{Tools: func(toolbox.Principal) *toolbox.Snapshot { return snap }}
	got, err := tools.New(src, tools.Options{}).Handle(t.Context(), interop.Message{Method: "tools/list", Era: interop.Legacy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tools":[{ "name": "s__own", "x-unknown": [1.50, null], "inputSchema": {"type":"object","properties":{"b":{"const":9007199254740993},"a":{}}}, "annotations": {"priority":0}, "title":"" },` +
		`{"name":"local","description":"a \"local\" one","inputSchema":{"type":"object"}},{"name":"bare","inputSchema":{"type":"object"}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestToolsListIsEachPrincipalsOwn(t *testing.T) {
	snaps := map[toolbox.Principal]*toolbox.Snapshot{}
	for i := range 40 {
		p := toolbox.Principal(fmt.Sprint("p", i))
		snaps[p] = &toolbox.Snapshot{Tools: []toolbox.Descriptor{{Name: "of_" + string(p)}}}
	}
	b := tools.New(&shelf.Shelf{Tools: func(p toolbox.Principal) *toolbox.Snapshot { return snaps[p] }}, tools.Options{})
	for range 2 {
		for p := range snaps {
			got, err := b.Handle(t.Context(), interop.Message{Method: "tools/list", Caller: p}, nil)
			if want := `{"tools":[{"name":"of_` + string(p) + `","inputSchema":{"type":"object"}}]}`; err != nil ||
				string(got) != want {
				t.Fatalf("%s: %s, %v", p, got, err)
			}
		}
	}
}

func TestToolsListIsRenderedOnce(t *testing.T) {
	snap := &toolbox.Snapshot{}
	for i := range 1000 {
		snap.Tools = append(snap.Tools, shelf.WireDescriptor(fmt.Sprintf("s__t%d", i), `{"name":"own","description":"words","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`))
	}
	b := tools.New(&shelf.Shelf{Tools: func(toolbox.Principal) *toolbox.Snapshot { return snap }}, tools.Options{})
	m := interop.Message{Method: "tools/list", Era: interop.Legacy}
	first, _ := b.Handle(t.Context(), m, nil)
	if n := testing.AllocsPerRun(100, func() {
		again, _ := b.Handle(t.Context(), m, nil)
		if &again[0] != &first[0] {
			t.Fatal("other bytes")
		}
	}); n > 0 {
		t.Errorf("%v allocations a list", n)
	}
}

func TestCallReachesTheToolExactly(t *testing.T) {
	var got toolbox.Call
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		got = c
		return shelf.WireResult(`{"content":[]}`), nil
	})
	const params = `{ "arguments": {"z": 1e400, "a":[9007199254740993 ]}, "name":"t", "unknown":{"k":null}, "_meta":{"progressToken":1.0} }`
	for era, format := range map[interop.Era]string{interop.Legacy: "mcp/legacy", interop.Modern: "mcp/modern"} {
		for id, want := range map[string]string{`"a\u0062"`: "ab", `17`: "17"} {
			_, err := tools.New(src, tools.Options{}).Handle(t.Context(), interop.Message{
				ID: json.RawMessage(id), Method: "tools/call", Era: era, Caller: "me", Params: json.RawMessage(params),
			}, func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil })
			if err != nil {
				t.Fatal(err)
			}
			if got.ID != want || got.Name != "t" || string(got.Input) != `{"z": 1e400, "a":[9007199254740993 ]}` ||
				got.Caller != "me" || got.Wire.Format != format || string(got.Wire.JSON) != params || got.Progress == nil {
				t.Errorf("%+v", got)
			}
		}
	}
}

func TestCallFailures(t *testing.T) {
	fault := func(kind interop.Kind, cause error) error {
		f := interop.NewFault(kind, "weather", "tools/call x", cause)
		f.Tool = "x"
		return fmt.Errorf("around: %w", f)
	}
	refused := &interop.RPCError{Code: -5, Message: "no\n", Data: json.RawMessage(`{"a": 1}`)}
	advice := func(kind interop.Kind, cause error) string {
		return strings.ReplaceAll((&interop.Fault{Kind: kind, Tool: "x", Cause: cause}).Advice(), `"`, `\"`)
	}
	failed := func(text string) string {
		return `{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`
	}
	tests := []struct {
		name   string
		err    error
		result string
		code   int64
		msg    string
	}{
		{"unknown tool", &toolbox.UnknownTool{Name: "x"}, "", -32602, `no tool named "x" is available`},
		{"the server's own error", fault(interop.ToolError, refused), "", -5, "no\n"},
		{"tool error", fault(interop.ToolError, errors.New("boom")), failed("weather: tools/call x: boom; what to try: " + advice(interop.ToolError, errors.New("boom"))), 0, ""},
		{"timeout", fault(interop.Timeout, nil), failed("weather: tools/call x; what to try: " + advice(interop.Timeout, nil)), 0, ""},
		{"not connected", fault(interop.NotConnected, nil), failed("weather: tools/call x; what to try: " + advice(interop.NotConnected, nil)), 0, ""},
		{"a server that is down, by its handshake's error", fault(interop.NotConnected, refused), failed(`weather: tools/call x: no\n (-5); what to try: ` + advice(interop.NotConnected, refused)), 0, ""},
		{"transport", fault(interop.Transport, nil), failed("weather: tools/call x; what to try: " + advice(interop.Transport, nil)), 0, ""},
		{"spawn failed", fault(interop.SpawnFailed, nil), failed("weather: tools/call x; what to try: " + advice(interop.SpawnFailed, nil)), 0, ""},
		{"a policy in between", fmt.Errorf("the policy: %w", toolbox.Errorf("not today")), failed("not today"), 0, ""},
		{"what only a log may show", errors.New("open /etc/x"), failed("t: internal error"), 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return nil, tt.err })
			got, err := tools.New(src, tools.Options{}).Handle(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t"}`)}, nil)
			var rpc *interop.RPCError
			if tt.result != "" {
				if err != nil || string(got) != tt.result {
					t.Fatalf("%s, %v", got, err)
				}
			} else if !errors.As(err, &rpc) || rpc.Code != tt.code || rpc.Message != tt.msg {
				t.Fatalf("%s, %v", got, err)
			}
		})
	}
	src := shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return nil, fault(interop.Protocol, nil) })
	_, err := tools.New(src, tools.Options{}).Handle(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t"}`)}, nil)
	if !errors.Is(err, interop.Protocol) {
		t.Errorf("a server that breaks the protocol is an error: %v", err)
	}
}

func TestLocalResults(t *testing.T) {
	tests := []struct {
		name           string
		r              *toolbox.Result
		legacy, modern string // modern "": the same
	}{
		{"nothing", nil, `{"content":[]}`, ""},
		{"text", toolbox.NewResult(toolbox.Text("a\"b"), toolbox.Text("")), `{"content":[{"type":"text","text":"a\"b"},{"type":"text","text":""}]}`, ""},
		{"JSON", toolbox.NewResult(toolbox.JSON(json.RawMessage(`{"a": 1}`))), `{"content":[{"type":"text","text":"{\"a\": 1}"}]}`, ""},
		{"failure", toolbox.ErrorResult("no"), `{"content":[{"type":"text","text":"no"}],"isError":true}`, ""},
		{"structured", toolbox.StructuredResult(json.RawMessage(`{"b":2}`), toolbox.Text("x")), `{"content":[{"type":"text","text":"x"}],"structuredContent":{"b":2}}`, ""},
		{"structured, no object", toolbox.StructuredResult(json.RawMessage(`[1]`)), `{"content":[]}`, `{"content":[],"structuredContent":[1]}`},
		{"media", toolbox.NewResult(shelf.Media(`{"type":"image","x":1}`)), `{"content":[{"type":"image","x":1}]}`, ""},
		{"relayed", shelf.WireResult(`{"content": [ {"type":"new"} ],"isError":false}`), `{"content": [ {"type":"new"} ],"isError":false}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tools.New(shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return tt.r, nil }), tools.Options{})
			for era, want := range map[interop.Era]string{interop.Legacy: tt.legacy, interop.Modern: tt.modern} {
				if want == "" {
					want = tt.legacy
				}
				got, err := b.Handle(t.Context(), interop.Message{Method: "tools/call", Era: era, Params: json.RawMessage(`{"name":"t"}`)}, nil)
				if err != nil || string(got) != want {
					t.Errorf("%s: %s, %v; want %s", era, got, err, want)
				}
			}
		})
	}
	for name, r := range map[string]*toolbox.Result{
		"block":      toolbox.NewResult(shelf.Media(`{`)),
		"structured": toolbox.StructuredResult(json.RawMessage(`{`)),
	} {
		b := tools.New(shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return r, nil }), tools.Options{})
		if got, err := b.Handle(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t"}`)}, nil); err == nil {
			t.Errorf("broken %s goes out: %s", name, got)
		}
	}
}

func TestProgressKeepsItsBytes(t *testing.T) {
	tests := []struct {
		token string
		p     toolbox.Progress
		want  string // "": none
	}{
		{`"t\u006f"`, toolbox.Progress{Done: 0.5, Total: 2, Message: "a\"b"}, `{"progressToken":"t\u006f","progress":0.5,"total":2,"message":"a\"b"}`},
		{`7.0`, toolbox.Progress{Done: 1e21}, `{"progressToken":7.0,"progress":1000000000000000000000}`},
		{`7`, toolbox.Progress{Done: 9, Wire: toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(`{ "progress":9007199254740993, "progressToken":99, "new":[null] }`)}},
			`{ "progress":9007199254740993, "progressToken":7, "new":[null] }`},
		{`null`, toolbox.Progress{Done: 1}, ""},
		{`{"a":1}`, toolbox.Progress{Done: 1}, ""},
	}
	for _, tt := range tests {
		var got string
		src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			if (c.Progress == nil) != (tt.want == "") {
				t.Errorf("%s: Progress is nil: %v", tt.token, c.Progress == nil)
			}
			if c.Progress != nil {
				c.Progress(tt.p)
			}
			return nil, nil
		})
		_, err := tools.New(src, tools.Options{}).Handle(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t","_meta":{"progressToken":` + tt.token + `}}`)},
			func(_ context.Context, m interop.Message) (json.RawMessage, error) {
				if m.Method != "notifications/progress" || m.ID != nil {
					t.Errorf("%+v", m)
				}
				got = string(m.Params)
				return nil, nil
			})
		if err != nil || got != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.token, got, tt.want, err)
		}
	}
}
