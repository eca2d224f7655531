package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/control/policy"
)

func parse(t *testing.T, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("policy.cedar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(user, server, tool, arguments string) *policy.Request {
	r := &policy.Request{
		Principal: policy.Principal{Name: "user:" + user, Groups: []string{"dev"}},
		Action:    policy.Call,
		Item:      policy.Item{Kind: policy.Tool, Server: server, Name: tool},
		View:      "@review", Client: "claude-code", Era: "modern", Address: "192.0.2.7:5555",
		Time: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
	}
	if arguments != "" {
		r.Arguments = json.RawMessage(arguments)
	}
	return r
}

func TestDecide(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name, policy string
		request      func(r *policy.Request)
		arguments    string
		want         bool
	}{
		{name: "no rule", want: false},
		{name: "a permit of everything", policy: `permit(principal, action, resource);`, want: true},
		{name: "a forbid overrides", policy: `permit(principal, action, resource);
			forbid(principal == User::"alice", action, resource);`, want: false},
		{name: "the principal", policy: `permit(principal == User::"alice", action, resource);`, want: true},
		{name: "another principal", policy: `permit(principal == User::"bob", action, resource);`, want: false},
		{name: "a group", policy: `permit(principal in Group::"dev", action, resource);`, want: true},
		{name: "a group in a condition", policy: `permit(principal, action, resource) when {
			principal in Group::"dev" && !(principal in Group::"admin") };`, want: true},
		{name: "another group", policy: `permit(principal in Group::"admin", action, resource);`, want: false},
		{name: "the action", policy: `permit(principal, action == Action::"call", resource);`, want: true},
		{name: "actions", policy: `permit(principal, action in [Action::"call", Action::"read"], resource);`, want: true},
		{name: "another action", policy: `permit(principal, action == Action::"read", resource);`, want: false},
		{name: "the tool", policy: `permit(principal, action, resource == Tool::"github/create_issue");`, want: true},
		{name: "the server", policy: `permit(principal, action, resource in Server::"github");`, want: true},
		{name: "another server", policy: `permit(principal, action, resource in Server::"fs");`, want: false},
		{name: "a tool in a server", policy: `permit(principal, action, resource is Tool in Server::"github");`, want: true},
		{name: "the view", policy: `permit(principal, action, resource) when { context.view == View::"@review" };`,
			want: true},
		{name: "the client", policy: `permit(principal, action, resource) when { context.client.name like "claude*" };`,
			want: true},
		{name: "the era", policy: `permit(principal, action, resource) when { context.era == "legacy" };`, want: false},
		{name: "the address", policy: `permit(principal, action, resource) when {
			context has address && context.address.isInRange(ip("192.0.2.0/24")) };`, want: true},
		{name: "no address", policy: `permit(principal, action, resource) when { context has address };`,
			request: func(r *policy.Request) { r.Address = "" }, want: false},
		{name: "the time", policy: `permit(principal, action, resource) when {
			context.time < datetime("2027-01-01") };`, want: true},
		{name: "a claim", policy: `permit(principal, action == Action::"call", resource) when {
			resource.claims has readOnly && resource.claims.readOnly };`,
			request: func(r *policy.Request) { r.Item.Claims.ReadOnly = &yes }, want: true},
		{name: "a false claim", policy: `permit(principal, action == Action::"call", resource) when {
			resource.claims has readOnly && resource.claims.readOnly };`,
			request: func(r *policy.Request) { r.Item.Claims.ReadOnly = &no }, want: false},
		{name: "an absent claim", policy: `permit(principal, action == Action::"call", resource) when {
			resource.claims has destructive && !resource.claims.destructive };`, want: false},
		{name: "a changed tool", policy: `permit(principal, action, resource);
			forbid(principal, action == Action::"call", resource) when { resource.changed };`,
			request: func(r *policy.Request) { r.Item.Changed = true }, want: false},
		{name: "an argument", policy: `permit(principal, action == Action::"call", resource) when {
			context.args.repo == "indus" };`, arguments: `{"repo": "indus"}`, want: true},
		{name: "a nested argument", policy: `permit(principal, action == Action::"call", resource) when {
			context.args.a.b.contains(3) && context.args["odd name"] };`,
			arguments: `{"a": {"b": [1, 2, 3.0]}, "odd name": true}`, want: true},
		{name: "a decimal", policy: `permit(principal, action == Action::"call", resource) when {
			context.args.price.lessThan(decimal("10.0")) };`, arguments: `{"price": 9.99}`, want: true},
		{name: "an argument is compared with the caller", policy: `permit(principal, action == Action::"call", resource)
			when { context.args.owner == principal.name };`, arguments: `{"owner": "alice"}`, want: true},
		{name: "an address in the arguments", policy: `permit(principal, action == Action::"call", resource) when {
			ip(context.args.host).isInRange(ip("10.0.0.0/8")) };`, arguments: `{"host": "10.1.2.3"}`, want: true},
		{name: "no arguments", policy: `permit(principal, action == Action::"call", resource) when {
			!(context.args has force) };`, want: true},
		{name: "a forbid of list hides", policy: `permit(principal, action, resource);
			forbid(principal, action == Action::"list", resource == Tool::"github/create_issue");`, want: false},
		{name: "a permit of list permits no call", policy: `permit(principal, action == Action::"list", resource);`,
			want: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := call("alice", "github", "create_issue", c.arguments)
			if c.request != nil {
				c.request(r)
			}
			got := parse(t, c.policy).Decide(r)
			if got.Allowed != c.want {
				t.Errorf("allowed %v, want %v: %+v", got.Allowed, c.want, got)
			}
			if len(got.Problems) > 0 {
				t.Errorf("problems: %q", got.Problems)
			}
		})
	}
}

// TestErrorsFailClosed checks values that Cedar cannot represent, and missing arguments: a permit that needs them does
// not apply, and a forbid that needs them denies.
func TestErrorsFailClosed(t *testing.T) {
	const (
		permit = `permit(principal, action == Action::"call", resource) when { context.args.n == 1 };`
		other  = `permit(principal, action == Action::"call", resource) when { !(context.args has n) };`
		unless = `permit(principal, action == Action::"call", resource) unless { context.args.n == 1 };`
		forbid = `permit(principal, action, resource);
			forbid(principal, action == Action::"call", resource) when { context.args.n == 1 };`
		guarded = `permit(principal, action, resource);
			forbid(principal, action == Action::"call", resource) when { context.args has n && context.args.n == 1 };`
		whole = `permit(principal, action, resource);
			forbid(principal, action == Action::"call", resource) when { context.args == {"n": 1} };`
		elsewhere = `permit(principal, action == Action::"call", resource) when { context.args.m == 1 };`
		lazy      = `permit(principal, action, resource);
			forbid(principal, action == Action::"call", resource) when {
				resource.name == "delete" && context.args.n == 1 };`
	)
	for _, c := range []struct {
		name, policy, arguments string
		want                    bool
		problem                 string
	}{
		{"null, permit", permit, `{"n": null}`, false, "policy.cedar:1: args.n is null"},
		{"null is present", other, `{"n": null}`, false, "policy.cedar:1: args.n is null"},
		{"null, unless", unless, `{"n": null}`, false, "policy.cedar:1: args.n is null"},
		{"null, forbid", forbid, `{"n": null}`, false, "policy.cedar:2: args.n is null"},
		{"null, guarded forbid", guarded, `{"n": null}`, false, "policy.cedar:2: args.n is null"},
		{"null inside, forbid", forbid, `{"n": {"x": [1, {"y": null}]}}`, false, "policy.cedar:2: args.n.x[1].y is null"},
		{"null elsewhere, forbid of all arguments", whole, `{"z": null}`, false, "policy.cedar:2: args.z is null"},
		{"null elsewhere", elsewhere, `{"n": null, "m": 1}`, true, ""},
		{"null, but the condition is decided before", lazy, `{"n": null}`, true, ""},
		{"large", permit, `{"n": 9223372036854775808}`, false,
			"policy.cedar:1: args.n is an integer of more than 64 bits"},
		{"many digits", permit, `{"n": 1.00001}`, false, "policy.cedar:1: args.n has more than four decimal places"},
		{"huge", forbid, `{"n": 1e999999999}`, false, "policy.cedar:2: args.n is a number out of range"},
		{"1.0 is 1", permit, `{"n": 1.0}`, true, ""},
		{"10e-1 is 1", forbid, `{"n": 10e-1}`, false, ""},
		{"half a surrogate pair", forbid, `{"n": "\ud800"}`, false, "policy.cedar:2: args.n is not Unicode"},
		{"missing, forbid", forbid, `{}`, false, "policy.cedar:2: record does not have the attribute `n`"},
		{"missing, guarded forbid", guarded, `{}`, true, ""},
		{"repeated", elsewhere, `{"m": 1, "m": 2}`, false, "the arguments repeat a member"},
		{"repeated, escaped", elsewhere, `{"m": 1, "\u006d": 1}`, false, "the arguments repeat a member"},
		{"repeated elsewhere", elsewhere, `{"m": 1, "z": [{"a": 1, "a": 1}]}`, false, "the arguments repeat a member"},
		{"another spelling, forbid", guarded, `{"N": 1}`, false, "policy.cedar:2: args.N is another spelling of \"n\""},
		{"both spellings, permit", permit, `{"n": 1, "N": 2}`, false, "policy.cedar:1: args.N is another spelling of \"n\""},
		{"another spelling elsewhere", elsewhere, `{"m": 1, "N": 1}`, true, ""},
		{"no object", elsewhere, `[1]`, false, "the arguments are not an object, or have too many members"},
		{"no JSON", elsewhere, `{"m": 1`, false, "the arguments are not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(t, c.policy).Decide(call("alice", "github", "create_issue", c.arguments))
			var problems []string
			if c.problem != "" {
				problems = []string{c.problem}
			}
			if diff := cmp.Diff(problems, got.Problems, cmpopts.EquateEmpty()); diff != "" || got.Allowed != c.want {
				t.Errorf("allowed %v, want %v: %s", got.Allowed, c.want, diff)
			}
		})
	}
}

func TestAnnotationsCombine(t *testing.T) {
	s := parse(t, `
		@id("a") @approve("either") @rate("30/m") @audit("arguments")
		permit(principal, action, resource);
		@id("b") @approve("caller") @rate("5/10s")
		permit(principal, action == Action::"call", resource);
		@approve("other") @audit("arguments,result")
		permit(principal, action, resource in Server::"fs");
		@audit("arguments")
		forbid(principal, action, resource == Tool::"github/delete");`)
	got := s.Decide(call("alice", "github", "create_issue", ""))
	want := policy.Verdict{
		Allowed: true, Approve: policy.CallerApproves, Audit: policy.Audit{Arguments: true},
		Rates: []policy.Rate{{Policy: "a", Calls: 30, Per: time.Minute}, {Policy: "b", Calls: 5, Per: 10 * time.Second}},
		Rules: []policy.Rule{
			{ID: "a", File: "policy.cedar", Line: 2, Effect: "permit"},
			{ID: "b", File: "policy.cedar", Line: 4, Effect: "permit"},
		},
		RuleIDs: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := s.Decide(call("alice", "fs", "write", "")); got.Approve != policy.OtherApproves || !got.Audit.Result {
		t.Errorf("on fs: %+v", got)
	}
	got = s.Decide(call("alice", "github", "delete", ""))
	want = policy.Verdict{Audit: policy.Audit{Arguments: true},
		Rules:   []policy.Rule{{ID: "policy.cedar:8", File: "policy.cedar", Line: 8, Effect: "forbid"}},
		RuleIDs: []string{"policy.cedar:8"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A rule gives power over the requests of others only if it names the action.
func TestToApproveAndToAdministerAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`permit(principal, action, resource);`:                                                                                   false,
		`permit(principal, action, resource in Server::"s");`:                                                                    false,
		`permit(principal, action, resource) when { action == Action::"approve" || true };`:                                      false,
		`permit(principal, action in [Action::"approve", Action::"administer"], resource);`:                                      true,
		`permit(principal, action == Action::"approve", resource); permit(principal, action == Action::"administer", resource);`: true,
	} {
		s := parse(t, text)
		r := call("alice", "s", "t", "")
		r.Action = policy.Approve
		if got := s.Decide(r).Allowed; got != want {
			t.Errorf("%s: approve %v", text, got)
		}
		r.Action, r.Item = policy.Administer, policy.Item{Kind: policy.Server, Server: "s"}
		if got := s.Decide(r).Allowed; got != want {
			t.Errorf("%s: administer %v", text, got)
		}
		if notes := s.Unnamed(); (len(notes) == 1) != !want {
			t.Errorf("%s: %v", text, notes)
		}
	}
}
