package ledger_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

func TestProject(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{`"as it is\n\u2603"`, "as it is\n☃"}, {`null`, ""}, {``, ""}, {` null `, ""}, {`""`, ""},
		{`{"b":9007199254740993,"a":[1,{}]}`, "{\n  \"b\": 9007199254740993,\n  \"a\": [\n    1,\n    {}\n  ]\n}"},
		{`1.0`, "1.0"}, {`true`, "true"}, {`{`, "{"},
	} {
		for _, isError := range []bool{false, true} {
			r := ledger.Project(toolbox.Outcome{Output: json.RawMessage(c.output), IsError: isError})
			if got := *r.Blocks()[0].Text; got != c.want || r.IsError() != isError || len(r.Blocks()) != 1 {
				t.Errorf("%s is %q, error %t", c.output, got, r.IsError())
			}
		}
	}
}

// A tool is called under its name, with an id that names the caller.
func TestCapabilityRunsThroughTheBox(t *testing.T) {
	var called toolbox.Call
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(toolbox.Define("add", "Adds.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }))
	box := toolbox.NewBox(&toolbox.BoxOptions{Around: []func(toolbox.Do) toolbox.Do{func(next toolbox.Do) toolbox.Do {
		return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) { called = c; return next(ctx, c) }
	}}}, shelf)
	c := ledger.Capabilities(box)[0]
	if got := c.Run(t.Context(), json.RawMessage(`{"A":1,"B":2}`)); *got.Blocks()[0].Text != "3" || called.Name != "add" || called.ID != "bridge_add" {
		t.Errorf("%+v, called as %+v", got, called)
	}
	if got := c.Run(t.Context(), json.RawMessage(`{`)); !got.IsError() {
		t.Error("no JSON is no error")
	}
}
