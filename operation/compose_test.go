package operation_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
)

// inner decodes the envelope that a composing handler returned.
func inner(t testing.TB, e operation.Envelope) operation.Envelope {
	t.Helper()
	var got struct {
		ID    string
		Value json.RawMessage
		Error *operation.Error
	}
	if err := e.Decode(&got); err != nil {
		t.Fatal(err)
	}
	return operation.Envelope{ID: got.ID, Value: got.Value, Err: got.Error}
}

func TestWhatAHandlerMayCall(t *testing.T) {
	restricted := hidden("restricted", returning(`"done"`, nil))
	restricted.Spec.Access = operation.Access{ScopesAll: []string{"db"}}
	typed := hidden("typed", returning(`"done"`, nil))
	typed.Spec.Input = json.RawMessage(`{"type":"object","required":["x"]}`)
	for _, tt := range []struct {
		about, name string
		env         []string
		authority   *operation.Identity
		want        operation.Code
	}{
		{"an internal one in its env", "free", []string{"free"}, nil, ""},
		{"one that it does not name", "free", []string{"typed"}, nil, operation.NotFound},
		{"one that nobody has", "nothing", []string{"nothing"}, nil, operation.NotFound},
		{"with rights", "restricted", []string{"restricted"}, &operation.Identity{Grants: scopes("db")}, ""},
		{"without rights", "restricted", []string{"restricted"}, nil, operation.Forbidden},
		{"with other rights", "restricted", []string{"restricted"}, &operation.Identity{Grants: scopes("fs")}, operation.Forbidden},
		{"with an input that does not fit", "typed", []string{"typed"}, nil, operation.InvalidInput},
	} {
		top := public("top", calls(tt.name, "{}"))
		top.Env, top.Authority = tt.env, tt.authority
		r := registry(t, top, hidden("free", returning(`"done"`, nil)), restricted, typed)
		// The caller has all rights. They must not extend the nested call.
		answer := r.Call(t.Context(), operation.Call{Operation: "top", Caller: operation.Identity{Grants: scopes("db", "fs")}})
		if got := inner(t, answer); code(got) != tt.want {
			t.Errorf("%s: %+v", tt.about, got)
		}
	}
}

func TestALeafCallsNothing(t *testing.T) {
	leaf := public("leaf", calls("free", ""))
	leaf.Provenance = operation.FromMCP
	r := registry(t, leaf, hidden("free", returning("1", nil)), public("open", returning("1", nil)))
	if got := inner(t, ask(r, "leaf", "")); code(got) != operation.NotFound {
		t.Errorf("%+v", got)
	}
	for about, change := range map[string]func(*operation.Registration){
		"an authority": func(r *operation.Registration) { r.Authority = &operation.Identity{} },
		"an env":       func(r *operation.Registration) { r.Env = []string{"free"} },
	} {
		bad := leaf
		bad.Spec.Name = "bad"
		change(&bad)
		if err := r.Add(bad); err == nil {
			t.Errorf("a leaf was registered with %s", about)
		}
	}
}

func TestWhoCallsIsTheCallingOperation(t *testing.T) {
	seen := map[string][2]operation.Identity{}
	look := func(_ context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		seen[c.Operation().Spec.Name] = [2]operation.Identity{c.Caller(), c.Origin()}
		return nil, nil
	}
	top := public("top", func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
		c.Call(ctx, "low", nil)
		return look(ctx, c, in)
	})
	top.Env, top.Authority = []string{"low"}, &operation.Identity{Principal: "top-agent", Grants: scopes("low:read")}
	ada := operation.Identity{Principal: "ada", Grants: scopes("all")}
	registry(t, top, hidden("low", look)).Call(t.Context(), operation.Call{Operation: "top", Caller: ada})
	want := map[string][2]operation.Identity{
		"top": {ada, ada},
		"low": {{Principal: "top-agent", Grants: scopes("low:read")}, ada},
	}
	noResources := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Resources" }, cmp.Ignore())
	if diff := cmp.Diff(want, seen, noResources); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCapabilities(t *testing.T) {
	reveal := func(_ context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		var all []string
		for _, name := range []string{"own", "call", "parent"} {
			s, _ := c.Capability(name)
			all = append(all, s.Reveal())
		}
		return json.Marshal(all)
	}
	keep := func(list map[string]string) operation.Capabilities {
		c := operation.Capabilities{}
		for name, text := range list {
			c[name] = operation.NewSecret(text)
		}
		return c
	}
	low := hidden("low", reveal)
	low.Capabilities = keep(map[string]string{"own": "low's", "call": "low's"})
	top := public("top", func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
		return c.Call(ctx, "low", in).Value, nil
	})
	top.Env, top.Capabilities = []string{"low"}, keep(map[string]string{"parent": "top's", "own": "top's"})
	r := registry(t, low, top)
	given := keep(map[string]string{"call": "the call's"})
	t.Setenv("call", "the environment's")
	t.Setenv("parent", "the environment's")
	const want = `["low's","the call's",""]`
	if got := r.Call(t.Context(), operation.Call{Operation: "top", Capabilities: given}); string(got.Value) != want {
		t.Errorf("%s %v, not %s", got.Value, got.Err, want)
	}
}

func TestAContextEndsWithItsCall(t *testing.T) {
	var kept *operation.Context
	top := public("top", func(_ context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		kept = c
		return nil, nil
	})
	top.Env = []string{"low"}
	r := registry(t, top, hidden("low", returning("1", nil)))
	ask(r, "top", "")
	if got := kept.Call(context.Background(), "low", nil); code(got) != operation.Canceled {
		t.Errorf("%+v", got)
	}
}

func TestOperationsThatCallOneAnotherForEver(t *testing.T) {
	deepest := 0
	ring := public("ring", nil)
	ring.Env = []string{"ring"}
	ring.Handler = func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
		deepest++
		if e := c.Call(ctx, "ring", in); e.Err != nil {
			return nil, e.Err
		}
		return nil, nil
	}
	answer := ask(registry(t, ring), "ring", "")
	if code(answer) != operation.InternalError || answer.Err.Message != "operations call one another too deep" || deepest != 64+1 {
		t.Errorf("%d deep: %+v", deepest, answer.Err)
	}
}
