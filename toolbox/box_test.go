package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestBoxTheFirstSourceThatClaimsANameWins(t *testing.T) {
	first, second := registry(textTool("a", "first")), registry(textTool("b", "second"), textTool("a", "second"))
	box := toolbox.NewBox(nil, first, second)
	if diff := cmp.Diff([]string{"a", "b"}, names(box.Descriptors())); diff != "" {
		t.Error(diff)
	}
	if got := box.Run(t.Context(), toolbox.Call{Name: "a"}).Text(); got != "first" {
		t.Errorf("a is the %s source's", got)
	}
	first.Remove("a")
	if got := box.Run(t.Context(), toolbox.Call{Name: "a"}).Text(); got != "second" {
		t.Errorf("a is the %s source's", got)
	}
}

func TestBoxIsLive(t *testing.T) {
	r := registry(echoTool("a"))
	box := toolbox.NewBox(nil, r)
	before, received := box.Snapshot(""), 0
	stop := box.Watch(func() { received++ })
	r.Add(echoTool("b"))
	after := box.Snapshot("")
	if diff := cmp.Diff([][]string{{"a"}, {"a", "b"}}, [][]string{names(before.Tools), names(after.Tools)}); diff != "" {
		t.Error(diff)
	}
	if after.Version <= before.Version {
		t.Errorf("version %d after %d", after.Version, before.Version)
	}
	stop()
	stop()
	r.Add(echoTool("c"))
	if received != 1 {
		t.Errorf("heard %d changes of 1", received)
	}
}

func TestBoxesCompose(t *testing.T) {
	r := registry(echoTool("a"))
	inner := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Seed}, r)
	outer := toolbox.NewBox(nil, registry(echoTool("z")), inner)
	received := 0
	defer outer.Watch(func() { received++ })()
	r.Add(echoTool("b"))
	if diff := cmp.Diff([]string{"z", "a", "b"}, names(outer.Descriptors())); diff != "" || received != 1 {
		t.Errorf("heard %d changes; %s", received, diff)
	}
	if got := outer.Run(t.Context(), toolbox.Call{Name: "b"}); got.IsError {
		t.Error(got.Text())
	}
}

func TestBoxShapesSchemasForModelsAndKeepsTheOwners(t *testing.T) {
	tool := echoTool("a")
	tool.Schema = json.RawMessage(`{ "$schema":"x", "type":"object", "properties":{"n":{"type":"integer","default":1}} }`)
	for _, tt := range []struct {
		profile *schema.Profile
		want    string
	}{
		{nil, string(tool.Schema)},
		{schema.Original, string(tool.Schema)},
		{schema.Seed, `{"type":"object","properties":{"n":{"type":"integer"}}}`},
	} {
		d := toolbox.NewBox(&toolbox.BoxOptions{Profile: tt.profile}, registry(tool)).Descriptors()[0]
		if diff := cmp.Diff([]string{string(tool.Schema), tt.want},
			[]string{string(d.Schema), string(d.Parameters)}); diff != "" {
			t.Errorf("%s: %s", tt.profile.Name(), diff)
		}
	}
}

func TestBoxHidesFromModelsWhatTheirProvidersRefuse(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `{}` + strings.Repeat(`}`, 100)
	tests := []struct{ name, schema, unfit, want string }{
		{"plain", `{}`, "", ""},
		{"a" + strings.Repeat("9", 63), `{}`, "", ""},
		{"a" + strings.Repeat("9", 64), `{}`, "", "its name"},
		{"dotted.name", `{}`, "", "its name"},
		{"9lives", `{}`, "", "its name"},
		{"naïve", `{}`, "", "its name"},
		{"", `{}`, "", "its name"},
		{"deep", deep, "", "65"},
		{"torn", `{"type":`, "", "malformed JSON"},
		{"bool", `true`, "", "its schema is not a JSON object"},
		{"none", ``, "", "malformed JSON"},
		{"owner", `{}`, "two tools have this name", "two tools have this name"},
	}
	for _, tt := range tests {
		d := toolbox.Descriptor{Name: tt.name, Schema: json.RawMessage(tt.schema), Excluded: tt.unfit}
		answer := func(context.Context, toolbox.Call) (*toolbox.Result, error) { return toolbox.NewResult(), nil }
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Seed},
			newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{d}}, answer))
		got := box.Snapshot("").Tools[0]
		if !strings.Contains(got.Excluded, tt.want) || (got.Excluded == "") != (tt.want == "") {
			t.Errorf("%s: unfit because %q, want %q", tt.name, got.Excluded, tt.want)
		}
		if shown := len(box.Descriptors()) == 1; shown != (tt.want == "") || shown != (got.Parameters != nil) {
			t.Errorf("%s: shown is %v, parameters are %s", tt.name, shown, got.Parameters)
		}
		if _, err := box.Do(t.Context(), toolbox.Call{Name: tt.name}); err != nil {
			t.Errorf("%s cannot be called: %v", tt.name, err)
		}
	}
}

func TestBoxAroundWrapsBothDoorsTheFirstOutermost(t *testing.T) {
	var trace []string
	wrap := func(label string) func(toolbox.Do) toolbox.Do {
		return func(next toolbox.Do) toolbox.Do {
			return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
				trace = append(trace, label+">"+c.Name)
				defer func() { trace = append(trace, "<"+label) }()
				return next(ctx, c)
			}
		}
	}
	box := toolbox.NewBox(&toolbox.BoxOptions{Around: []func(toolbox.Do) toolbox.Do{wrap("1"), wrap("2")}},
		registry(echoTool("a")))
	_, _ = box.Do(t.Context(), toolbox.Call{Name: "a"})
	box.Run(t.Context(), toolbox.Call{Name: "nobody"})
	want := []string{"1>a", "2>a", "<2", "<1", "1>nobody", "2>nobody", "<2", "<1"}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Error(diff)
	}
}

func TestBoxDoIsExact(t *testing.T) {
	wire := toolbox.Wire{Format: "test", JSON: json.RawMessage(`{ "big" : 9007199254740993 }`)}
	decoded := 0
	sent := toolbox.WireResult(wire, func(toolbox.Wire) toolbox.Decoded { decoded++; return toolbox.Decoded{} })
	var got toolbox.Call
	f := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
		func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			got = c
			return sent, nil
		})
	box := toolbox.NewBox(nil, toolbox.NewBox(nil, f))
	for _, input := range []string{"", " null", `"{}"`, `{ "b":1, "a":2 }`, `not json`} {
		r, err := box.Do(t.Context(), toolbox.Call{ID: "7", Name: "a", Input: json.RawMessage(input), Caller: "", Wire: wire})
		if err != nil || r != sent || string(got.Input) != input || string(got.Wire.JSON) != string(wire.JSON) ||
			got.ID != "7" {
			t.Errorf("%q arrived as %q (%v, %v)", input, got.Input, r, err)
		}
	}
	if decoded != 0 {
		t.Error("the result was looked into")
	}
}

func TestBoxAsksSourcesThatAreStillStarting(t *testing.T) {
	pending := func(server string) *toolbox.Snapshot {
		return &toolbox.Snapshot{Version: 1, Pending: []string{server}}
	}
	var asked []string
	answer := func(label string, r *toolbox.Result, err error) toolbox.Do {
		return func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			asked = append(asked, label)
			if r == nil && err == nil {
				err = &toolbox.UnknownTool{Name: c.Name}
			}
			return r, err
		}
	}
	fault := errors.New("two: connect: no route to host")
	none := newFleet(pending("one"), answer("none", nil, nil))
	settled := newFleet(&toolbox.Snapshot{Version: 1}, answer("settled", nil, errors.New("must not be asked")))
	faulty := newFleet(pending("two"), answer("faulty", nil, fault))
	late := newFleet(pending("one"), answer("late", toolbox.NewResult(), nil))

	if diff := cmp.Diff([]string{"one", "two"},
		toolbox.NewBox(nil, none, settled, faulty, late).Snapshot("").Pending); diff != "" {
		t.Error(diff)
	}
	if _, err := toolbox.NewBox(nil, none, settled, faulty, late).Do(t.Context(), toolbox.Call{Name: "x"}); err != fault {
		t.Errorf("want the fault, not %v", err)
	}
	if r, err := toolbox.NewBox(nil, none, settled, late).Do(t.Context(), toolbox.Call{Name: "x"}); r == nil ||
		err != nil {
		t.Errorf("%v, %v", r, err)
	}
	_, err := toolbox.NewBox(nil, none, settled).Do(t.Context(), toolbox.Call{Name: "x"})
	if _, ok := errors.AsType[*toolbox.UnknownTool](err); !ok {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"none", "faulty", "none", "late", "none"}, asked); diff != "" {
		t.Error(diff)
	}
}
