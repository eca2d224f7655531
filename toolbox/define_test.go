package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/indusagi/indus/toolbox"
)

type portion struct {
	Size  uint8  `json:"size" jsonschema:"default=2"`
	Sauce string `json:"sauce,omitempty" jsonschema:"default=mint"`
}

type meal struct {
	Dish   string    `json:"dish,omitempty" jsonschema:"default=dal"`
	Guests int       `json:"guests,omitempty" jsonschema:"default=2"`
	Spicy  bool      `json:"spicy,omitempty" jsonschema:"default=true"`
	Sides  []portion `json:"sides,omitempty"`
	First  *portion  `json:"first,omitempty"`
	Delta  int8      `json:"delta,omitempty"`
	Lamps  []uint16  `json:"lamps,omitempty"`
	Count  uint      `json:"count,omitempty"`
	Far    int64     `json:"far,omitempty"`
	Raw    any       `json:"raw,omitempty"`
}

// do calls a tool through Do and returns its text.
func do(t *testing.T, tool toolbox.Tool, input string) (text string, failed bool) {
	t.Helper()
	reg := toolbox.NewRegistry(nil)
	reg.Add(tool)
	r, err := reg.Do(t.Context(), toolbox.Call{Name: tool.Name, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	if b := r.Blocks()[0]; b.Text != nil {
		return *b.Text, r.IsError()
	}
	return string(r.Blocks()[0].JSON), r.IsError()
}

func TestDefineFillsInDefaultsAndReadsWholeNumbers(t *testing.T) {
	serve := toolbox.Define("serve", "", func(_ context.Context, in meal) (string, error) {
		first := "none"
		if in.First != nil {
			first = fmt.Sprint(*in.First)
		}
		return fmt.Sprintln(in.Dish, in.Guests, in.Spicy, in.Sides, first, in.Delta, in.Lamps, in.Count, in.Far, in.Raw), nil
	})
	for _, tt := range []struct{ input, want string }{
		{``, `dal 2 true [] none 0 [] 0 0 <nil>`},
		{`{"dish":"idli","guests":0,"spicy":false}`, `idli 0 false [] none 0 [] 0 0 <nil>`},
		{`{"sides":[{},{"size":9,"sauce":""}],"first":{}}`, `dal 2 true [{2 mint} {9 }] {2 mint} 0 [] 0 0 <nil>`},
		{`{"guests":1.0,"count":1e2,"delta":-1.28E2,"lamps":[6.5535e4,0.0],"far":9007199254740993.0}`, `dal 1 true [] none -128 [65535 0] 100 9007199254740993 <nil>`},
		{`{"raw":{"x":1.50}}`, `dal 2 true [] none 0 [] 0 0 map[x:1.5]`},
	} {
		if got, failed := do(t, serve, tt.input); strings.TrimSpace(got) != tt.want || failed {
			t.Errorf("%s: got %s, want %s", tt.input, got, tt.want)
		}
	}
	for input, want := range map[string]string{
		`{"sides":[{"size":256}]}`: "/sides/0/size: expected at most 255",
		`{"sides":[{"size":-1}]}`:  "/sides/0/size: expected at least 0",
		`{"delta":128}`:            "/delta: expected at most 127",
		`{"lamps":[65536]}`:        "/lamps/0: expected at most 65535",
		`{"count":-1}`:             "/count: expected at least 0",
		`{"guests":1.5}`:           "/guests: expected integer",
		`{"far":1e30}`:             "it takes int64",
		`{"far":1e500}`:            "it takes int64",
		`{"dish":null}`:            "/dish: expected string",
	} {
		if got, failed := do(t, serve, input); !strings.Contains(got, want) || !failed {
			t.Errorf("%s: got %s, want %s", input, got, want)
		}
	}
	if !strings.Contains(string(serve.Schema), `"size":{"type":"integer","maximum":255,"minimum":0,"default":2}`) {
		t.Errorf("%s", serve.Schema)
	}
}

type verdict struct {
	Grade string `json:"grade" jsonschema:"enum=good,enum=bad"`
	Score uint8  `json:"score" jsonschema:"maximum=10"`
}

// A client of the TypeScript SDK throws if a result does not fit the tool's output schema. Such a result is therefore a
// failure.
func TestAResultFitsItsOutputSchema(t *testing.T) {
	judge := toolbox.Define("judge", "", func(_ context.Context, in verdict) (verdict, error) { return in, nil })
	judge.Schema = json.RawMessage(`{"type":"object"}`)
	byHand := func(r *toolbox.Result) toolbox.Tool {
		return toolbox.Tool{Name: "judge", Output: judge.Output,
			Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return r, nil }}
	}
	good := json.RawMessage(`{"grade":"good","score":1}`)
	for _, tt := range []struct {
		tool        toolbox.Tool
		input, want string
		failed      bool
	}{
		{judge, `{"grade":"good","score":10}`, `{"grade":"good","score":10}`, false},
		{judge, `{"grade":"so-so"}`, "judge: its result does not fit its output schema:\n/grade: expected", true},
		{judge, `{"grade":"bad","score":11}`, "judge: its result does not fit its output schema:\n/score: expected at most 10, got 11", true},
		{byHand(toolbox.StructuredResult(good, toolbox.Text("fine"))), "", "fine", false},
		{byHand(toolbox.NewResult(toolbox.Text("fine"))), "", "judge: its result has no structured value, and its output schema asks for one", true},
		{byHand(nil), "", "judge: its result has no structured value, and its output schema asks for one", true},
		{byHand(toolbox.ErrorResult("closed")), "", "closed", true},
		{toolbox.Define("judge", "", func(context.Context, struct{}) (*verdict, error) { return nil, nil }), "", "judge: its result has no structured value", true},
	} {
		if got, failed := do(t, tt.tool, tt.input); !strings.HasPrefix(got, tt.want) || failed != tt.failed {
			t.Errorf("%s: got %s (%t), want %s (%t)", tt.input, got, failed, tt.want, tt.failed)
		}
	}
}
