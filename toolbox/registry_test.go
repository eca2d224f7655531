package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

func TestRegistryKeepsTheOrderOfFirstAddition(t *testing.T) {
	r := registry(textTool("b", "1"), textTool("a", "1"), textTool("c", "1"))
	r.Add(textTool("b", "2"))
	if diff := cmp.Diff([]string{"b", "a", "c"}, names(r.Snapshot("").Tools)); diff != "" {
		t.Error(diff)
	}
	got, err := r.Do(t.Context(), toolbox.Call{Name: "b"})
	if err != nil || *got.Blocks()[0].Text != "2" {
		t.Errorf("the last registration of a name should win: %v, %v", got, err)
	}
	r.Remove("a", "nobody")
	r.Add(textTool("a", "3"))
	if diff := cmp.Diff([]string{"b", "c", "a"}, names(r.Snapshot("").Tools)); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryOfTwoWithOneNameInOneAdditionTheLaterWins(t *testing.T) {
	r := registry(textTool("a", "1"), textTool("a", "2"))
	got, _ := r.Do(t.Context(), toolbox.Call{Name: "a"})
	if len(r.Snapshot("").Tools) != 1 || *got.Blocks()[0].Text != "2" {
		t.Errorf("%v: %v", names(r.Snapshot("").Tools), got)
	}
}

func TestRegistrySnapshotsAreImmutableAndVersioned(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	empty := r.Snapshot("")
	r.Add(echoTool("a"), echoTool("b"))
	two := r.Snapshot("")
	if two != r.Snapshot("somebody") {
		t.Error("one moment has more than one snapshot")
	}
	r.Remove("nobody")
	r.Add()
	if r.Snapshot("") != two {
		t.Error("there is a new snapshot though nothing changed")
	}
	r.Remove("a")
	one := r.Snapshot("")
	if !(empty.Version < two.Version && two.Version < one.Version) {
		t.Errorf("versions %d, %d, %d do not grow", empty.Version, two.Version, one.Version)
	}
	if diff := cmp.Diff([][]string{{}, {"a", "b"}, {"b"}},
		[][]string{names(empty.Tools), names(two.Tools), names(one.Tools)}); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryDescribesLocalTools(t *testing.T) {
	schema := json.RawMessage(`{"type":"object", "properties":{"z":{},"a":{}}}`)
	tool := echoTool("a")
	tool.Description, tool.Schema = "says it again", schema
	want := []toolbox.Descriptor{
		{Name: "a", Tool: "a", Description: "says it again", Schema: schema},
		{Name: "b", Tool: "b", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
	if diff := cmp.Diff(want, registry(tool, echoTool("b")).Snapshot("").Tools); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryRefusesToolsThatCannotWork(t *testing.T) {
	tests := map[string]toolbox.Tool{
		"a tool needs a name":    {Run: echoTool("a").Run},
		`tool "a" has no Run`:    {Name: "a"},
		`schema of tool "array"`: {Name: "array", Run: echoTool("a").Run, Schema: json.RawMessage(`[]`)},
		`schema of tool "torn"`:  {Name: "torn", Run: echoTool("a").Run, Schema: json.RawMessage(`{"type":`)},
		`schema of tool "empty"`: {Name: "empty", Run: echoTool("a").Run, Schema: json.RawMessage{}},
	}
	for want, tool := range tests {
		t.Run(want, func(t *testing.T) {
			if err := tool.Check(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Check says %v", err)
			}
			r := registry(echoTool("before"))
			defer func() {
				if v := recover(); v == nil {
					t.Error("Add did not panic")
				}
				if diff := cmp.Diff([]string{"before"}, names(r.Snapshot("").Tools)); diff != "" {
					t.Error(diff)
				}
			}()
			r.Add(echoTool("good"), tool)
		})
	}
}

func TestRegistryTurnsWhatGoesWrongIntoResults(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user went home")
	tests := []struct {
		name    string
		ctx     context.Context
		run     func(context.Context) (*toolbox.Result, error)
		text    string
		isError bool
		err     error
	}{
		{"an error", t.Context(), func(context.Context) (*toolbox.Result, error) { return nil, toolbox.Errorf("no %s today", "rain") }, "no rain today", true, nil},
		{"an error in another", t.Context(), func(context.Context) (*toolbox.Result, error) {
			return nil, fmt.Errorf("open /home/me/clouds: %w", toolbox.Errorf("no rain today"))
		}, "no rain today", true, nil},
		{"a raw error", t.Context(), func(context.Context) (*toolbox.Result, error) {
			return nil, errors.New("open /home/me/clouds: s3cret")
		}, "weather: internal error", true, nil},
		{"an error beside a result", t.Context(), func(context.Context) (*toolbox.Result, error) {
			return toolbox.NewResult(), toolbox.Errorf("no rain today")
		}, "no rain today", true, nil},
		{"a panic", t.Context(), func(context.Context) (*toolbox.Result, error) { panic("out of clouds") }, "weather: internal error", true, nil},
		{"nothing", t.Context(), func(context.Context) (*toolbox.Result, error) { return nil, nil }, "", false, nil},
		{"somebody else's cancellation", t.Context(), func(context.Context) (*toolbox.Result, error) { return nil, context.Canceled }, "weather: internal error", true, nil},
		{"a cancellation", over, func(ctx context.Context) (*toolbox.Result, error) {
			cancel(reason)
			return nil, ctx.Err()
		}, "", false, context.Canceled},
		{"its cause", over, func(ctx context.Context) (*toolbox.Result, error) { return nil, context.Cause(ctx) }, "", false, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			r := toolbox.NewRegistry(&toolbox.Context{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			r.Add(toolbox.Tool{Name: "weather",
				Run: func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
					return tt.run(ctx)
				}})
			got, err := r.Do(tt.ctx, toolbox.Call{Name: "weather"})
			if err != tt.err {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			text := ""
			for _, b := range got.Blocks() {
				text += *b.Text
			}
			logged := strings.Contains(log.String(), "a tool failed")
			if logged != strings.HasSuffix(tt.text, "internal error") {
				t.Errorf("logged: %s", &log)
			}
			if text != tt.text || got.IsError() != tt.isError {
				t.Errorf("%q, %v; want %q, %v", text, got.IsError(), tt.text, tt.isError)
			}
		})
	}
}

func TestRegistryDoesNotBeginWhenTheContextIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := registry(textTool("a", "1")).Do(ctx, toolbox.Call{Name: "a"}); err != context.Canceled {
		t.Error(err)
	}
}

func TestRegistrySaysWhatItDoesNotHave(t *testing.T) {
	_, err := registry(echoTool("a")).Do(t.Context(), toolbox.Call{Name: "b"})
	if unknown, ok := errors.AsType[*toolbox.UnknownTool](err); !ok || unknown.Name != "b" {
		t.Errorf("%v", err)
	}
}

func TestRegistryGivesToolsAnObjectWhereNothingCame(t *testing.T) {
	for in, want := range map[string]string{"": `{}`, "null": `{}`, " null\n": `{}`,
		`{"n":12345678901234567890}`: `{"n":12345678901234567890}`, `"x"`: `"x"`} {
		got, err := registry(echoTool("a")).Do(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(in)})
		if err != nil || string(got.Blocks()[0].JSON) != want {
			t.Errorf("%q became %s, %v", in, got.Blocks()[0].JSON, err)
		}
	}
}

func TestDefineTellsAModelWhatToMend(t *testing.T) {
	type input struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty" jsonschema:"minimum=1"`
	}
	tool := toolbox.Define("weather", "", func(_ context.Context, in input) (string, error) { return in.City, nil })
	tests := []struct {
		in, text string
		isError  bool
	}{
		{`{"city":"Ulm","days":3}`, "Ulm", false},
		{``, "the arguments of weather do not fit:\n/: missing required \"city\" (string)", true},
		{`{"city":"Ulm","days":"3"}`, "the arguments of weather do not fit:\n/days: expected integer, got \"3\"", true},
		{`{"city":"Ulm","days":0}`, "the arguments of weather do not fit:\n/days: expected at least 1, got 0", true},
		{`["Ulm"]`, "the arguments of weather do not fit:\n/: expected object, got [\"Ulm\"]", true},
		{`{"town":"Ulm"}`, "the arguments of weather do not fit:\n/: missing required \"city\" (string)\n/: unknown property \"town\"", true},
	}
	for _, tt := range tests {
		got, err := registry(tool).Do(t.Context(), toolbox.Call{Name: "weather", Input: json.RawMessage(tt.in)})
		if err != nil {
			t.Fatal(err)
		}
		if text := *got.Blocks()[0].Text; text != tt.text || got.IsError() != tt.isError {
			t.Errorf("%s: %q, %v; want %q, %v", tt.in, text, got.IsError(), tt.text, tt.isError)
		}
	}
}
