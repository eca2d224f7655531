package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// Every provider must accept the four tools as a box adapts them. It must also accept them
// unchanged, except for strict functions, which require every object to be closed.
func TestTheFourFitEveryProvider(t *testing.T) {
	src := catalog.Over(toolbox.NewRegistry(nil), &catalog.Options{Prefix: "ops_", About: "Files and GitHub."})
	for _, p := range schema.Profiles() {
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, src)
		shown := box.Descriptors()
		if len(shown) != 4 {
			t.Errorf("%s: %d tools are shown", p.Name(), len(shown))
		}
		for _, d := range shown {
			findings := append(schema.Check(d.Parameters, p), schema.CheckTool(d.Name, d.Description, p)...)
			if !p.Rules().Closed {
				findings = append(findings, schema.Check(d.Schema, p)...)
			}
			for _, f := range findings {
				t.Errorf("%s: %s: %s %s", p.Name(), d.Name, f.Path, f.Message)
			}
		}
	}
}

// The input that a model of each provider writes for its adapted schema must reach the operation.
func TestTheFourWorkInEveryShape(t *testing.T) {
	for _, p := range schema.Profiles() {
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, catalog.Over(echoes(), nil))
		written, want := `{"text":"hello"}`, `{"text":"hello"}`
		if p.Rules().Closed { // there free keys become a list of entries, and nested values become text
			written, want = `[{"key":"text","value":"hello"},{"key":"more","value":"{\"deep\":[{}]}"}]`,
				`{"text":"hello","more":{"deep":[{}]}}`
		}
		for tool, input := range map[string]string{"call": string(call("echo", written)),
			"batch": `{"calls":[` + string(call("echo", written)) + `]}`} {
			out := box.Run(t.Context(), toolbox.Call{Name: tool, Input: json.RawMessage(input)})
			quoted, _ := json.Marshal(want)
			if out.IsError || out.Text() != want && !strings.Contains(out.Text(), string(quoted)) {
				t.Errorf("%s: %s: %s", p.Name(), tool, out.Text())
			}
		}
	}
}

func TestTheFourCostLittle(t *testing.T) {
	var all int
	for _, d := range catalog.Over(toolbox.NewRegistry(nil), nil).Snapshot("").Tools {
		all += len(d.Name) + len(d.Description) + len(d.Schema)
	}
	// English and JSON take a token for about four bytes.
	if t.Logf("%d bytes, about %d tokens", all, all/4); all > 2000 {
		t.Errorf("the four take %d bytes", all)
	}
}

func TestThePrefixIsEverywhere(t *testing.T) {
	src := catalog.Over(echoes(), &catalog.Options{Prefix: "ops_", About: "Echoes."})
	for _, d := range src.Snapshot("").Tools {
		if !strings.HasPrefix(d.Name, "ops_") || strings.Contains(d.Description+string(d.Schema), "$") {
			t.Errorf("%s: %s %s", d.Name, d.Description, d.Schema)
		}
	}
	if got := src.Snapshot("").Tools[0].Description; !strings.HasSuffix(got, "$schema, then $call. Echoes.") &&
		!strings.HasSuffix(got, "ops_schema, then ops_call. Echoes.") {
		t.Error(got)
	}
	if _, err := src.Do(t.Context(), toolbox.Call{Name: "search"}); err == nil ||
		err.Error() != `no tool named "search" is available` {
		t.Error(err)
	}
	if got := do(t, src, "ops_call", `{"operation":"echo","input":{"text":"a"}}`); got != `{"text":"a"}` {
		t.Error(got)
	}
}
