package operation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
)

func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		access operation.Access
		grants operation.Grants
		want   bool
	}{
		{operation.Access{}, operation.Grants{}, true},
		{operation.Access{ScopesAll: []string{"a", "b"}}, scopes("b", "a", "c"), true},
		{operation.Access{ScopesAll: []string{"a", "b"}}, scopes("a"), false},
		{operation.Access{ScopesAny: []string{"a", "b"}}, scopes("b"), true},
		{operation.Access{ScopesAny: []string{"a", "b"}}, scopes("c"), false},
		{operation.Access{ScopesAll: []string{"a"}, ScopesAny: []string{"b", "c"}}, scopes("a"), false},
		{operation.Access{ScopesAll: []string{"a"}, ScopesAny: []string{"b", "c"}}, scopes("a", "c"), true},
		{operation.Access{ScopesAll: []string{"*"}}, scopes("a"), false},
		{operation.Access{ScopesAll: []string{"a"}}, scopes("*"), false},
	} {
		if got := tt.access.Allows(tt.grants); got != tt.want {
			t.Errorf("%+v with %+v: %v", tt.access, tt.grants, got)
		}
	}
}

func TestForbiddenComesBeforeTheInputAndTheHandler(t *testing.T) {
	ran := false
	op := public("deploy", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		ran = true
		return nil, nil
	})
	op.Spec.Input = json.RawMessage(`{"type":"object","required":["to"]}`)
	op.Spec.Access = operation.Access{ScopesAll: []string{"ops", "prod"}, ScopesAny: []string{"eu", "us"}}
	r := registry(t, op)
	for _, input := range []string{``, `nonsense`, `{"to":"prod"}`} {
		answer := r.Call(t.Context(), operation.Call{Operation: "deploy", Input: json.RawMessage(input), Caller: operation.Identity{Grants: scopes("ops")}})
		if code(answer) != operation.Forbidden || ran {
			t.Fatalf("%q: %v, ran %v", input, answer.Err, ran)
		}
		if diff := cmp.Diff([]string{"prod", "eu", "us"}, details(t, answer).Missing); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestAnInternalOperationDoesNotExistOutside checks that a call from outside cannot distinguish an Internal operation
// from an unknown name.
func TestAnInternalOperationDoesNotExistOutside(t *testing.T) {
	op := hidden("vault/secret", returning("1", nil))
	op.Spec.Input = json.RawMessage(`{"type":"object","required":["x"]}`)
	op.Spec.Access = operation.Access{ScopesAll: []string{"root"}}
	r := registry(t, op, public("vault/status", returning("1", nil)))
	for _, input := range []string{``, `nonsense`, `{"x":1}`, `[]`} {
		for _, who := range []operation.Identity{{}, {Grants: scopes("root")}} {
			one := r.Call(t.Context(), operation.Call{ID: "1", Operation: "vault/secret", Input: json.RawMessage(input), Caller: who})
			other := r.Call(t.Context(), operation.Call{ID: "1", Operation: "vault/secrex", Input: json.RawMessage(input), Caller: who})
			a, _ := json.Marshal(one)
			b, _ := json.Marshal(other)
			if code(one) != operation.NotFound || strings.ReplaceAll(string(b), "secrex", "secret") != string(a) {
				t.Errorf("%s\n%s", a, b)
			}
		}
	}
	if _, ok := r.Find("vault/secret", operation.Identity{Grants: scopes("root")}); ok {
		t.Error("it is found")
	}
	root := operation.Identity{Grants: scopes("root")}
	got := slices.DeleteFunc(slices.Clone(r.Snapshot().Operations), func(e operation.Entry) bool { return !e.CallableBy(root) })
	if len(got) != 1 || got[0].Spec.Name != "vault/status" {
		t.Errorf("listed: %+v", got)
	}
}

func TestNearestNamesAreThoseThatTheCallerMayCall(t *testing.T) {
	admin := public("fs/read_file", returning("1", nil))
	admin.Spec.Access = operation.Access{ScopesAll: []string{"fs"}}
	r := registry(t, admin, hidden("fs/read_fild", returning("1", nil)), public("fs/read_files", returning("1", nil)))
	for who, want := range map[string][]string{"": {"fs/read_files"}, "fs": {"fs/read_file", "fs/read_files"}} {
		answer := r.Call(t.Context(), operation.Call{Operation: "fs/raed_file", Caller: operation.Identity{Grants: scopes(who)}})
		if diff := cmp.Diff(want, details(t, answer).Nearest); diff != "" {
			t.Errorf("%q: -want +got:\n%s", who, diff)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if text, _ := json.Marshal(ask(r, long, "")); len(text) > 1000 {
		t.Errorf("the answer to a name of 1 MiB has %d bytes", len(text))
	}
}

// TestNoWayAround builds random services and tries every call from everywhere. A handler may run only if each step was
// allowed: by the caller's rights for the first call, and by the calling operation's rights for nested calls.
func TestNoWayAround(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		some := func(list []string) (out []string) {
			for _, s := range list {
				if rng.IntN(3) == 0 {
					out = append(out, s)
				}
			}
			return out
		}
		names, rights := make([]string, 12), []string{"a", "b", "c"}
		for i := range names {
			names[i] = fmt.Sprintf("op%d", i)
		}
		type one struct{ operation.Registration }
		all := map[string]*one{}
		var broken []string
		for _, name := range names {
			o := &one{}
			o.Spec = operation.Spec{Name: name, Visibility: operation.Visibility(rng.IntN(2)), Access: operation.Access{ScopesAll: some(rights), ScopesAny: some(rights)}}
			if rng.IntN(3) > 0 {
				o.Authority, o.Env = &operation.Identity{Principal: operation.Principal(name), Grants: scopes(some(rights)...)}, some(names)
			} else {
				o.Provenance = operation.FromMCP
			}
			o.Handler = func(ctx context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
				from := string(c.Caller().Principal)
				if !strings.Contains(c.ID(), ".") {
					if o.Spec.Visibility != operation.External || !o.Spec.Access.Allows(c.Caller().Grants) || from != "outside" {
						broken = append(broken, name+" ran from outside")
					}
				} else if by := all[from]; by == nil || by.Authority == nil || !slices.Contains(by.Env, name) || !o.Spec.Access.Allows(by.Authority.Grants) {
					broken = append(broken, name+" ran for "+from)
				}
				if c.Origin().Principal != "outside" {
					broken = append(broken, name+" does not know who called first")
				}
				if strings.Count(c.ID(), ".") < 3 {
					for _, other := range names {
						c.Call(ctx, other, nil)
					}
				}
				return nil, nil
			}
			all[name] = o
		}
		r := operation.NewRegistry(nil)
		for _, name := range names {
			if err := r.Add(all[name].Registration); err != nil {
				t.Fatal(err)
			}
		}
		who := operation.Identity{Principal: "outside", Grants: scopes(some(rights)...)}
		for _, name := range names {
			answer := r.Call(t.Context(), operation.Call{Operation: name, Caller: who})
			spec := all[name].Spec
			want := operation.Code("")
			if spec.Visibility == operation.Internal {
				want = operation.NotFound
			} else if !spec.Access.Allows(who.Grants) {
				want = operation.Forbidden
			}
			if code(answer) != want {
				t.Errorf("seed %d: %s: %v, not %q", seed, name, answer.Err, want)
			}
		}
		if broken != nil {
			t.Errorf("seed %d: %v", seed, broken)
		}
	}
}
