package policy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// randomPolicy returns policies over few names, so that rules meet.
func randomPolicy(r *rand.Rand) string {
	pick := func(choices ...string) string { return choices[r.IntN(len(choices))] }
	var atom func(depth int) string
	atom = func(depth int) string {
		if depth > 0 && r.IntN(3) == 0 {
			a, b := atom(depth-1), atom(depth-1)
			switch r.IntN(4) {
			case 0:
				return "(" + a + " && " + b + ")"
			case 1:
				return "(" + a + " || " + b + ")"
			case 2:
				return "!(" + a + ")"
			default:
				return "(if " + a + " then " + b + " else " + atom(depth-1) + ")"
			}
		}
		member := "context.args." + pick("a", "b", "c")
		return pick(
			member+` == `+pick("1", `"x"`, "true", "principal.name"),
			member+` != 2`,
			member+` > `+pick("1", "5"),
			member+` <= 3`,
			member+` like `+pick(`"x*"`, `"xy*"`, `"x"`, `"*"`),
			`["x", "y"].contains(`+member+`)`,
			member+`.contains("x")`,
			member+`.containsAny(["x", "z"])`,
			`context.args has `+pick("a", "b"),
			member+` has d`,
			member+`.d == 1`,
			member,
			`context.era == "modern"`,
			`context.view == View::"@v"`,
			`resource.name like "t*"`,
			`resource.changed`,
			`principal in Group::"dev"`,
			`(resource.claims has readOnly && resource.claims.readOnly)`,
		)
	}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		fmt.Fprintf(&b, "%s(%s, %s, %s)%s;\n", pick("permit", "permit", "forbid"),
			pick("principal", `principal == User::"alice"`, `principal in Group::"dev"`),
			pick(`action == Action::"call"`, `action in [Action::"call"]`),
			pick("resource", `resource in Server::"s"`, `resource == Tool::"s/t1"`, `resource is Tool in Server::"s"`),
			pick("", "", " when { "+atom(2)+" }", " unless { "+atom(2)+" }", " when { "+atom(1)+" } unless { "+atom(1)+" }"))
	}
	return b.String()
}

// someArguments are the arguments that the test tries.
func someArguments() (all []json.RawMessage) {
	values := []string{"", "0", "1", "2", "3", "5", "6", "true", "false", `"x"`, `"xy"`, `"y"`, `"q"`, `"alice"`, `["x"]`,
		`[]`, `["z", "q"]`, `["x", "z"]`, `{"d": 1}`, `{"d": 7}`, `{}`, "null"}
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				var members []string
				for name, v := range map[string]string{"a": a, "b": b, "c": c} {
					if v != "" {
						members = append(members, fmt.Sprintf("%q: %s", name, v))
					}
				}
				all = append(all, json.RawMessage("{"+strings.Join(members, ", ")+"}"))
			}
		}
	}
	return all
}

// TestListIsCall checks random policies: a tool that is not listed cannot be called with any arguments, and a listed
// tool can be called with some.
func TestListIsCall(t *testing.T) {
	policies, r := fixture.Size(t, somePolicies, 10_000), fixture.Rand(t)
	arguments := someArguments()
	yes := true
	listed, unlisted := 0, 0
	for range policies {
		text := randomPolicy(r)
		s, err := policy.Parse("policy.cedar", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		request := policy.Request{Era: "modern", View: "@v", Principal: policy.Principal{Name: "user:alice"}}
		if r.IntN(2) == 0 {
			request.Principal.Groups = []string{"dev"}
		}
		items := []policy.Item{
			{Kind: policy.Tool, Server: "s", Name: "t1", Changed: r.IntN(2) == 0},
			{Kind: policy.Tool, Server: "o", Name: "u", Claims: policy.Claims{ReadOnly: &yes}},
		}
		for i, shown := range s.MayList(&request, items) {
			request.Item, request.Action, request.AnyArguments = items[i], policy.Call, false
			callable := false
			tries := 40
			if shown {
				tries += len(arguments) // all, if a few at random are not permitted
			}
			for k := 0; k < tries && !callable; k++ {
				request.Arguments = arguments[r.IntN(len(arguments))]
				if k >= 40 {
					request.Arguments = arguments[k-40]
				}
				callable = s.Decide(&request).Allowed
			}
			if shown != callable {
				t.Fatalf("listed %v, callable %v with %s: %+v\n%s", shown, callable, request.Arguments, items[i], text)
			}
			if shown {
				listed++
			} else {
				unlisted++
			}
		}
	}
	if listed < policies/10 || unlisted < policies/10 {
		t.Errorf("%d listed and %d unlisted tools: the policies are not mixed", listed, unlisted)
	}
}
