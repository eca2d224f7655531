package catalog_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoes returns a registry with the tool echo, which returns its input.
func echoes() *toolbox.Registry {
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Tool{
		Name: "echo", Description: "Say the same again.",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"more":{"type":"object"}}}`),
		Run: func(_ context.Context, _ *toolbox.Context, input json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(string(input))), nil
		},
	})
	return r
}

// do calls one of the four tools and returns the first block of its result as text.
func do(t testing.TB, src toolbox.Source, name, input string) string {
	t.Helper()
	return doAs(t, src, "", name, input)
}

func doAs(t testing.TB, src toolbox.Source, p toolbox.Principal, name, input string) string {
	t.Helper()
	r, err := src.Do(t.Context(), toolbox.Call{Name: name, Input: json.RawMessage(input), Caller: p})
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	return textOf(r)
}

func textOf(r *toolbox.Result) string {
	blocks := r.Blocks()
	if len(blocks) != 1 {
		return "not one block"
	}
	if blocks[0].Text != nil {
		return *blocks[0].Text
	}
	return string(blocks[0].JSON)
}
