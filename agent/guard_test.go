package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// pending is a source whose servers are not all connected. It runs every call.
type pending struct {
	toolbox.Watchers
	snapshot atomic.Pointer[toolbox.Snapshot]
	ran      []string
}

func (p *pending) Snapshot(toolbox.Principal) *toolbox.Snapshot { return p.snapshot.Load() }

func (p *pending) Do(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
	p.ran = append(p.ran, c.Name)
	return toolbox.NewResult(toolbox.Text("ran")), nil
}

func source(s toolbox.Snapshot) *pending {
	p := &pending{}
	p.snapshot.Store(&s)
	return p
}

func described(name, description string) toolbox.Descriptor {
	return toolbox.Descriptor{Name: name, Server: "s", Tool: name, Description: description, Schema: json.RawMessage(`{"type":"object"}`)}
}

// TestWhatIsAskedFor checks the [agent.Ask] that the function permit receives, for names of every
// kind.
func TestWhatIsAskedFor(t *testing.T) {
	down := toolbox.Down{Server: "d", Owns: func(name string) bool { return strings.HasPrefix(name, "d__") }}
	tests := map[string]struct {
		snapshot toolbox.Snapshot
		name     string
		ask      bool
		listed   bool
	}{
		"listed":     {toolbox.Snapshot{Tools: []toolbox.Descriptor{described("a", "A.")}}, "a", true, true},
		"unknown":    {toolbox.Snapshot{Tools: []toolbox.Descriptor{described("a", "A.")}}, "b", false, false},
		"connecting": {toolbox.Snapshot{Pending: []string{"s"}}, "s__a", true, false},
		"held":       {toolbox.Snapshot{Held: []string{"s__a"}}, "s__a", true, false},
		"down":       {toolbox.Snapshot{Down: []toolbox.Down{down}}, "d__a", true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, answer := range []error{nil, errors.New("no, thank you")} {
				src, ask := source(test.snapshot), []agent.Ask{}
				guarded := agent.Guard(src, func(_ context.Context, a agent.Ask) error {
					ask = append(ask, a)
					return answer
				})
				c := toolbox.Call{Name: test.name, Input: json.RawMessage(`{"x":1}`)}
				r, err := guarded.Do(t.Context(), c)
				if !test.ask {
					unknown, ok := errors.AsType[*toolbox.UnknownTool](err)
					if !ok || unknown.Name != test.name || len(ask) != 0 || len(src.ran) != 0 {
						t.Error(r, err, ask, src.ran)
					}
					continue
				}
				if len(ask) != 1 || ask[0].Listed() != test.listed || ask[0].Tool.Name != test.name || string(ask[0].Call.Input) != `{"x":1}` {
					t.Errorf("%+v", ask)
				}
				switch {
				case err != nil:
					t.Error(err)
				case answer == nil && (r.IsError() || len(src.ran) != 1):
					t.Error("it did not run")
				case answer != nil && (!r.IsError() || len(src.ran) != 0 || *r.Blocks()[0].Text != test.name+" did not run: no, thank you"):
					t.Error(*r.Blocks()[0].Text, src.ran)
				}
			}
		})
	}
}

// TestAToolThatChangesWhileItIsAskedFor checks that a tool runs only if it is still the tool that was asked for.
func TestAToolThatChangesWhileItIsAskedFor(t *testing.T) {
	before := described("a", "Reads.")
	one := toolbox.Snapshot{Tools: []toolbox.Descriptor{before}}
	wire, schema, other := before, before, before
	wire.Wire = toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(`{}`)}
	schema.Schema = json.RawMessage(`{}`)
	other.Server = "evil"
	tests := map[string]struct {
		before, after toolbox.Snapshot
		runs          bool
	}{
		"same":           {one, one, true},
		"equal":          {one, toolbox.Snapshot{Version: 2, Tools: []toolbox.Descriptor{described("x", ""), before}}, true},
		"description":    {one, toolbox.Snapshot{Tools: []toolbox.Descriptor{described("a", "Deletes.")}}, false},
		"schema":         {one, toolbox.Snapshot{Tools: []toolbox.Descriptor{schema}}, false},
		"tool object":    {one, toolbox.Snapshot{Tools: []toolbox.Descriptor{wire}}, false},
		"server":         {one, toolbox.Snapshot{Tools: []toolbox.Descriptor{other}}, false},
		"gone":           {one, toolbox.Snapshot{}, false},
		"held":           {one, toolbox.Snapshot{Held: []string{"a"}}, false},
		"connected":      {toolbox.Snapshot{Pending: []string{"s"}}, one, false},
		"still unlisted": {toolbox.Snapshot{Pending: []string{"s"}}, toolbox.Snapshot{Pending: []string{"s"}, Version: 2}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := source(test.before)
			guarded := agent.Guard(src, func(context.Context, agent.Ask) error {
				src.snapshot.Store(&test.after)
				return nil
			})
			r, err := guarded.Do(t.Context(), toolbox.Call{Name: "a"})
			if err != nil || r.IsError() == test.runs || len(src.ran) == 1 != test.runs {
				t.Error(err, src.ran)
			}
			if !test.runs && !strings.Contains(*r.Blocks()[0].Text, "the tool changed while permission was asked for") {
				t.Error(*r.Blocks()[0].Text)
			}
		})
	}
}

func TestAGuardIsItsSource(t *testing.T) {
	r := registry(tool("a", nil))
	guarded := agent.Guard(r, func(context.Context, agent.Ask) error { return nil })
	if guarded.Snapshot("") != r.Snapshot("") {
		t.Error("another snapshot")
	}
	changes := 0
	stop := guarded.Watch(func() { changes++ })
	r.Add(tool("b", nil))
	stop()
	r.Add(tool("c", nil))
	if changes != 1 {
		t.Errorf("%d changes", changes)
	}
}

// TestBehindTheCatalog checks that the four tools ask for each call that they make, and for nothing else.
func TestBehindTheCatalog(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	permit := func(_ context.Context, a agent.Ask) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, a.Tool.Name+string(a.Call.Input))
		if a.Tool.Name == "harm" {
			return errors.New("the user said no")
		}
		return nil
	}
	ran := tool("harm", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		t.Error("it ran")
		return nil, nil
	})
	tools := toolbox.NewBox(nil, catalog.Over(agent.Guard(registry(tool("help", nil), ran), permit), nil))
	m := model(
		calls("1", "search", `{"query":"tool"}`, "2", "schema", `{"operation":"harm"}`),
		calls("3", "call", `{"operation":"help","input":{"n":1}}`),
		calls("4", "call", `{"operation":"harm"}`),
		calls("5", "batch", `{"calls":[{"operation":"help","input":{}},{"operation":"harm","input":{}}]}`),
		calls("6", "call", `{"operation":"nothing"}`),
		textReply("done"))
	s := agent.New(agent.Options{Provider: m, Tools: tools})
	if _, err := s.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(asked[2:])
	if diff := cmp.Diff([]string{`help{"n":1}`, "harm{}", "harm{}", "help{}"}, asked); diff != "" {
		t.Error(diff)
	}
	messages := s.Messages()
	for at, want := range map[int]string{4: `help{"n":1}`, 6: "!harm did not run: the user said no", 10: "NOT_FOUND"} {
		if got := outputs(messages[at])[0]; !strings.Contains(got, want) {
			t.Errorf("%d: %s", at, got)
		}
	}
	if got := outputs(messages[8])[0]; strings.Count(got, "did not run") != 1 || !strings.Contains(got, "help{}") {
		t.Error(got)
	}
}

func TestFingerprints(t *testing.T) {
	base := described("a", "A.")
	again := described("a", "A.")
	again.Parameters = json.RawMessage(`{}`) // as a box adds them
	if agent.Fingerprint(base) != agent.Fingerprint(again) || len(agent.Fingerprint(base)) != 64 {
		t.Error(agent.Fingerprint(base))
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*toolbox.Descriptor){
		"nothing":     func(*toolbox.Descriptor) {},
		"name":        func(d *toolbox.Descriptor) { d.Name = "b" },
		"server":      func(d *toolbox.Descriptor) { d.Server = "t" },
		"tool":        func(d *toolbox.Descriptor) { d.Tool = "t" },
		"moved":       func(d *toolbox.Descriptor) { d.Server, d.Tool = "sa", "" },
		"title":       func(d *toolbox.Descriptor) { d.Title = "t" },
		"description": func(d *toolbox.Descriptor) { d.Description += " " },
		"schema":      func(d *toolbox.Descriptor) { d.Schema = json.RawMessage(`{"type": "object"}`) },
		"output":      func(d *toolbox.Descriptor) { d.Output = json.RawMessage(`{}`) },
		"annotations": func(d *toolbox.Descriptor) { d.Annotations = &toolbox.Annotations{ReadOnly: true} },
		"wire":        func(d *toolbox.Descriptor) { d.Wire.JSON = json.RawMessage(`{}`) },
		"format":      func(d *toolbox.Descriptor) { d.Wire.Format = "{}" },
	} {
		d := described("a", "A.")
		change(&d)
		if other, taken := seen[agent.Fingerprint(d)]; taken {
			t.Errorf("%s is %s", name, other)
		}
		seen[agent.Fingerprint(d)] = name
	}
}
