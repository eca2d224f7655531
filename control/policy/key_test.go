package policy_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/control/policy"
)

// The verdict about a request is not the verdict about another request that a rule distinguishes from it.
func TestDecideRemembersEveryMentionedAttribute(t *testing.T) {
	yes, no := true, false
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	large := json.RawMessage(`{"a":1,"b":"` + strings.Repeat("x", 10_000) + `"}`)
	for _, c := range []struct {
		condition string
		change    func(r *policy.Request)
	}{
		{`principal == User::"alice"`, func(r *policy.Request) { r.Principal.Name = "user:bob" }},
		{`principal in Group::"dev"`, func(r *policy.Request) { r.Principal.Groups = []string{"other"} }},
		{`context.view == View::"@review"`, func(r *policy.Request) { r.View = "" }},
		{`context.client == Client::"claude"`, func(r *policy.Request) { r.Client = "cursor" }},
		{`context.era == "modern"`, func(r *policy.Request) { r.Era = "legacy" }},
		{`context has address && context.address == ip("192.0.2.1")`, func(r *policy.Request) { r.Address = "192.0.2.2:1" }},
		{`context.time < datetime("2026-06-01")`, func(r *policy.Request) { r.Time = at.AddDate(1, 0, 0) }},
		{`context.args.a == 1`, func(r *policy.Request) { r.Arguments = json.RawMessage(`{"a":2}`) }},
		{`!(context.args has b)`, func(r *policy.Request) { r.Arguments = large }},
		{`context.args.a == 1`, func(r *policy.Request) { r.Arguments = json.RawMessage(`{"a":1,"A":2}`) }},
		{`resource.changed`, func(r *policy.Request) { r.Item.Changed = false }},
		{`resource.claims has readOnly && resource.claims.readOnly`, func(r *policy.Request) { r.Item.Claims.ReadOnly = &no }},
		{`resource.claims has readOnly`, func(r *policy.Request) { r.Item.Claims.ReadOnly = nil }},
		{`resource.claims has destructive && resource.claims.destructive`, func(r *policy.Request) { r.Item.Claims.Destructive = &no }},
		{`resource.claims has idempotent && resource.claims.idempotent`, func(r *policy.Request) { r.Item.Claims.Idempotent = &no }},
		{`resource.claims has openWorld && resource.claims.openWorld`, func(r *policy.Request) { r.Item.Claims.OpenWorld = &no }},
		{`resource.name == "t"`, func(r *policy.Request) { r.Item.Name = "u" }},
		{`resource in Server::"s"`, func(r *policy.Request) { r.Item.Server = "other" }},
	} {
		s := parse(t, `permit(principal, action == Action::"call", resource) when { `+c.condition+" };")
		for i := range 3 {
			r := &policy.Request{
				Principal: policy.Principal{Name: "user:alice", Groups: []string{"dev"}}, View: "@review", Client: "claude",
				Era: "modern", Address: "192.0.2.1:1", Time: at, Action: policy.Call, Arguments: json.RawMessage(`{"a":1}`),
				Item: policy.Item{Kind: policy.Tool, Server: "s", Name: "t", Changed: true,
					Claims: policy.Claims{ReadOnly: &yes, Destructive: &yes, Idempotent: &yes, OpenWorld: &yes}},
			}
			want := i != 1
			if !want {
				c.change(r)
			}
			if got := s.Decide(r); got.Allowed != want {
				t.Errorf("%s: request %d is allowed: %v, want %v (%v)", c.condition, i, got.Allowed, want, got.Problems)
			}
		}
	}
}

// The action and the kind of the item are part of the request.
func TestDecideRemembersTheAction(t *testing.T) {
	s := parse(t, `permit(principal, action == Action::"call", resource); permit(principal, action == Action::"get", resource);
		forbid(principal, action, resource is Prompt);`)
	for _, c := range []struct {
		action policy.Action
		kind   policy.Kind
		want   bool
	}{
		{policy.Call, policy.Tool, true}, {policy.Approve, policy.Tool, false}, {policy.Get, policy.Prompt, false},
		{policy.Call, policy.Tool, true}, {policy.Call, policy.Prompt, false},
	} {
		r := call("alice", "s", "t", "")
		r.Action, r.Item.Kind = c.action, c.kind
		if s.Decide(r).Allowed != c.want {
			t.Errorf("%s of a %s is allowed: %v", c.action, c.kind, !c.want)
		}
	}
}

// Whether arguments are known, and whether an item is a template, is part of the request too.
func TestDecideRemembersOpenRequests(t *testing.T) {
	s := parse(t, `permit(principal, action == Action::"call", resource) when { context.args.a == 1 };`)
	r := call("alice", "s", "t", `{"a":2}`)
	for i := range 3 {
		r.AnyArguments = i == 1
		if s.Decide(r).Allowed != r.AnyArguments {
			t.Errorf("with any arguments %v: %v", r.AnyArguments, !r.AnyArguments)
		}
	}
	s = parse(t, `permit(principal, action == Action::"read", resource) when { resource.uri like "file:///a*" };`)
	item := policy.Item{Kind: policy.Resource, Server: "s", Name: "file:///{+path}"}
	for i := range 3 {
		item.Template = i == 1
		r := &policy.Request{Action: policy.Read, Item: item}
		if s.Decide(r).Allowed != item.Template {
			t.Errorf("template %v: allowed %v", item.Template, !item.Template)
		}
	}
}

// With more requests than the set remembers, verdicts stay right, and memory bounded.
func TestDecideForgets(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	s := parse(t, `permit(principal, action == Action::"call", resource) when { context.args.a < 10000 };`)
	before, filler := heap(), strings.Repeat("x", 1500)
	for i := range 20_000 {
		r := call("alice", "s", "t", fmt.Sprintf(`{"a":%d,"b":%q}`, i, filler))
		if s.Decide(r).Allowed != (i < 10_000) {
			t.Fatal(i)
		}
	}
	if after := heap(); after > before+20 { // all requests have 30 MB
		t.Errorf("the set holds %d MB", after-before)
	}
	runtime.KeepAlive(s)
}
