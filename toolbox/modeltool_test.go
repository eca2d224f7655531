package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/indusagi/indus/schema/validate"
	"github.com/indusagi/indus/toolbox"
)

// inputSource returns a source with one tool that returns the input it received.
func inputSource(d toolbox.Descriptor) *fleet {
	return newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{d}},
		func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(string(c.Input))), nil
		})
}

const awkwardSchema = `{
	"$schema": "http://json-schema.org/draft-07/schema#",
	"type": "object",
	"properties": {
		"tags[]": {"type": "array", "items": {"$ref": "#/definitions/tag"}},
		"note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
		"level": {"const": "high"},
		"limit": {"type": "integer", "maximum": 10}
	},
	"required": ["tags[]", "note"],
	"additionalProperties": false,
	"definitions": {"tag": {"type": "string"}}
}`

// adaptedTool returns a tool with a schema that no provider accepts unchanged, in a box for all
// providers.
func adaptedTool() (*toolbox.Box, toolbox.Descriptor) {
	d := plainDescriptor("find")
	d.Schema = json.RawMessage(awkwardSchema)
	return toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, inputSource(d)), d
}

func TestBoxShowsWhatEveryProviderTakes(t *testing.T) {
	box, d := adaptedTool()
	shown := box.Descriptors()[0]
	if found := schema.Check(shown.Parameters, schema.Universal); found != nil {
		t.Errorf("%s: %v", shown.Parameters, found)
	}
	if string(shown.Schema) != string(d.Schema) {
		t.Error("the owner's schema has changed")
	}
	rules := map[rule.Rule]bool{}
	for _, c := range shown.Changes {
		rules[c.Rule] = true
	}
	if !rules[rule.Key] || !rules[rule.Description] {
		t.Errorf("told of %v", shown.Changes)
	}
	plain := plainDescriptor("plain")
	plain.Description, plain.Schema = "Says so.", json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	if d := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal},
		inputSource(plain)).Descriptors()[0]; d.Changes != nil {
		t.Errorf("changed %v", d.Changes)
	}
}

// Arguments for the schema that the model saw arrive in the form of the owner's schema.
func TestRunRestoresArguments(t *testing.T) {
	box, _ := adaptedTool()
	var shown struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(box.Descriptors()[0].Parameters, &shown); err != nil {
		t.Fatal(err)
	}
	key := ""
	for name := range shown.Properties {
		if strings.HasPrefix(name, "tags") {
			key = name
		}
	}
	out := box.Run(t.Context(), toolbox.Call{Name: "find", Input: json.RawMessage(`{"` + key + `":["a"],"limit":3}`)})
	if want := `{"tags[]":["a"],"limit":3,"note":null}`; out.IsError || out.Text() != want {
		t.Errorf("it arrived as %s, want %s", out.Text(), want)
	}
	// Errors use the names that the model knows.
	out = box.Run(t.Context(), toolbox.Call{Name: "find", Input: json.RawMessage(`{"` + key + `":["a",7],"limit":30}`)})
	want := "the arguments of find do not fit:\n/limit: expected at most 10, got 30\n/" + key +
		"/1: expected string, got 7"
	if diff := cmp.Diff(want, out.Text()); diff != "" {
		t.Error(diff)
	}
	out = box.Run(t.Context(), toolbox.Call{Name: "find", Input: json.RawMessage(`{}`)})
	if want := "the arguments of find do not fit:\n/: missing required \"" + key + "\" (string[])"; out.Text() != want {
		t.Errorf("%q, want %q", out.Text(), want)
	}
}

func TestRunRefusesArgumentsThatDoNotFit(t *testing.T) {
	d := plainDescriptor("a")
	d.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	called := 0
	source := newFleet(&toolbox.Snapshot{Version: 1, Tools: []toolbox.Descriptor{d}},
		func(context.Context, toolbox.Call) (*toolbox.Result, error) {
			called++
			return nil, nil
		})
	call := toolbox.Call{ID: "1", Name: "a", Input: json.RawMessage(`{"n":"one"}`)}
	box := toolbox.NewBox(nil, source)

	out := box.Run(t.Context(), call)
	misfit := (*validate.Error)(nil)
	if !out.IsError || out.ID != "1" || !errors.As(out.Err, &misfit) || misfit.Problems[0].Path != "/n" {
		t.Errorf("%+v", out)
	}
	if want := "the arguments of a do not fit:\n/n: expected integer, got \"one\""; out.Text() != want || called != 0 {
		t.Errorf("called %d times: %s", called, out.Text())
	}
	if out := box.Run(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(`{"n":1}`)}); out.IsError ||
		called != 1 {
		t.Errorf("called %d times: %s", called, out.Text())
	}
	if _, err := box.Do(t.Context(), call); err != nil || called != 2 {
		t.Errorf("the exact door looks: %v", err)
	}
	if out := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true}, source).Run(t.Context(), call); out.IsError ||
		called != 3 {
		t.Errorf("it was to be left to the tool: %s", out.Text())
	}
	// A box around the box knows the tool as well as its owner.
	if out := toolbox.NewBox(nil, toolbox.NewBox(nil, source)).Run(t.Context(), call); !out.IsError || called != 3 {
		t.Errorf("%+v", out)
	}
}

func TestRunChecksLocalTools(t *testing.T) {
	tool := echoTool("a")
	tool.Schema = json.RawMessage(`{"type":"object","properties":{"depth":{"type":"integer"}},"additionalProperties":false}`)
	out := toolbox.NewBox(nil, registry(tool)).Run(t.Context(),
		toolbox.Call{Name: "a", Input: json.RawMessage(`{"deepth":1}`)})
	if want := "the arguments of a do not fit:\n/: unknown property \"deepth\"; did you mean \"depth\"?"; out.Text() != want {
		t.Error(out.Text())
	}
}

// If the arguments cannot be checked, the tool judges them.
func TestRunSendsWhatItCannotCheck(t *testing.T) {
	unusable := plainDescriptor("a")
	unusable.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}},"required":["a"]}`)
	unfit := plainDescriptor("a")
	unfit.Schema = json.RawMessage(strings.Repeat(`{"items":`, 100) + "{}" + strings.Repeat("}", 100))
	late := newFleet(&toolbox.Snapshot{Version: 1, Pending: []string{"s"}}, textDo("late"))
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for name, source := range map[string]toolbox.Source{
		"a schema that cannot be used": inputSource(unusable),
		"a schema beyond the bounds":   inputSource(unfit),
		"a tool that is not listed":    late,
		"arguments beyond the bounds":  inputSource(plainDescriptor("a")),
	} {
		if out := toolbox.NewBox(nil, source).Run(t.Context(),
			toolbox.Call{Name: "a", Input: json.RawMessage(deep)}); out.IsError {
			t.Errorf("%s: %.100s", name, out.Text())
		}
	}
}

// A tool that is excluded can still be called, and its arguments are checked.
func TestRunChecksUnfitTools(t *testing.T) {
	d := plainDescriptor("dotted.name")
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, inputSource(d))
	if out := box.Run(t.Context(), toolbox.Call{Name: d.Name, Input: json.RawMessage(`{ "a":1 }`)}); out.Text() !=
		`{ "a":1 }` {
		t.Error(out.Text())
	}
	if out := box.Run(t.Context(), toolbox.Call{Name: d.Name, Input: json.RawMessage(`[1]`)}); !out.IsError {
		t.Error(out.Text())
	}
}

func TestBoxDescribesToolsForModels(t *testing.T) {
	for _, tt := range []struct {
		name, description, server, schema string
		profile                           *schema.Profile
		want                              string
	}{
		{"plain", "Says so.", "s", `{"type":"object"}`, schema.Universal, "Says so."},
		{"none", "", "s", `{"type":"object"}`, schema.Universal, "none, a tool of s"},
		{"local", " \u202e\x00", "", `{"type":"object"}`, schema.Universal, "local, a tool"},
		{"none", "", "s", `{"type":"object"}`, schema.Anthropic, ""},
		{"hidden", "a\x1b\u202eb", "s", `{"type":"object"}`, schema.Universal, "ab"},
		{"own", "a\x1b", "s", `{"type":"object"}`, nil, "a\x1b"},
		{"long", strings.Repeat("x", 20_000), "s", `{"type":"object"}`, schema.Flat, strings.Repeat("x", 9_999) + "…"},
	} {
		d := plainDescriptor(tt.name)
		d.Description, d.Server, d.Schema = tt.description, tt.server, json.RawMessage(tt.schema)
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: tt.profile}, inputSource(d))
		got := box.Descriptors()[0]
		if got.Description != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got.Description, tt.want)
		}
		if found := schema.CheckTool(got.Name, got.Description, tt.profile); found != nil {
			t.Errorf("%s: %v", tt.name, found)
		}
		if own := box.Snapshot("").Tools[0].Description; own != tt.description {
			t.Errorf("%s: published as %q", tt.name, own)
		}
		received := false
		for _, c := range got.Changes {
			received = received || c.Rule == rule.Description
		}
		if received != (tt.want != tt.description) {
			t.Errorf("%s: told of %v", tt.name, got.Changes)
		}
	}
}

// Rules that the root schema cannot express appear once, at the end of the description.
func TestBoxKeepsTheNoteOfASchema(t *testing.T) {
	const either = `{"type":"object","properties":{"url":{"type":"string"},"path":{"type":"string"}},"anyOf":[{"required":["url"]},{"required":["path"]}]}`
	adapted, err := schema.Adapt(json.RawMessage(either), schema.Universal)
	if err != nil || adapted.Note == "" {
		t.Fatalf("no note: %v", err)
	}
	for _, description := range []string{"Reads.", "", "Reads.\n\n" + adapted.Note, strings.Repeat("word ", 500)} {
		d := plainDescriptor("read")
		d.Description, d.Schema = description, json.RawMessage(either)
		got := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, inputSource(d)).Descriptors()[0].Description
		if !strings.HasSuffix(got, adapted.Note) || strings.Count(got, adapted.Note) != 1 {
			t.Errorf("%.20q became %q", description, got)
		}
	}
}

// The unchanged parts of a tool are not made again.
func TestBoxKeepsWhatItMadeOfATool(t *testing.T) {
	d := plainDescriptor("a")
	d.Schema = json.RawMessage(awkwardSchema)
	source := inputSource(d)
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, source)
	one := box.Descriptors()[0]
	again := d
	again.Schema = json.RawMessage(awkwardSchema) // the same text in other memory
	again.Description = "It says more now."
	source.set(&toolbox.Snapshot{Version: 2, Tools: []toolbox.Descriptor{again}})
	two := box.Descriptors()[0]
	if &one.Parameters[0] != &two.Parameters[0] {
		t.Error("the schema was adapted again")
	}
	if two.Description != again.Description || cmp.Equal(one.Changes, two.Changes) {
		t.Errorf("described as %q, changed %v", two.Description, two.Changes)
	}
	other := again
	other.Schema = json.RawMessage(`{"type":"object","required":["x"]}`)
	source.set(&toolbox.Snapshot{Version: 3, Tools: []toolbox.Descriptor{other}})
	if out := box.Run(t.Context(), toolbox.Call{Name: "a"}); !strings.Contains(out.Text(), `missing required "x"`) {
		t.Errorf("another schema is checked by the old one: %s", out.Text())
	}
}

func TestBoxFindsThatThereAreTooManyTools(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, r)
	limit := schema.Universal.Rules().Tool.MaxTools
	for i := range limit {
		r.Add(textTool(fmt.Sprint("t", i), ""))
	}
	r.Add(textTool("unfit.name", ""))
	if found := box.Findings(); found != nil {
		t.Errorf("%d tools: %v", limit, found)
	}
	r.Add(textTool("one_more", ""))
	if found := box.Findings(); len(found) != 1 || found[0].Rule != rule.Count ||
		!strings.Contains(found[0].Message, fmt.Sprint(limit+1)) {
		t.Errorf("%d tools: %v", limit+1, found)
	}
	if found := toolbox.NewBox(nil, r).Findings(); found != nil {
		t.Errorf("the owners' way has no limit: %v", found)
	}
}
