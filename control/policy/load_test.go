package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/control/policy"
)

func TestErrorsHaveAPlace(t *testing.T) {
	for _, c := range []struct{ name, policy, want string }{
		{"syntax", "permit(principal, action, resource)\nwhen { true }",
			`policy.cedar:2:14: the file ends where ";" is expected`},
		{"another word", "permit(principal, action resource);", `policy.cedar:1:26: "," is expected before "resource"`},
		{"no end of a text", "permit(principal, action, resource) when { context.era == \"x };",
			"policy.cedar:1:59: literal not terminated"},
		{"attribute of the principal", "permit(principal, action, resource)\n  when { principal.nme == \"x\" };",
			`policy.cedar:2:20: no entity and no context has an attribute "nme": did you mean "name"?`},
		{"attribute of the context", "// nme\npermit(principal, action, resource) when { context.foo };",
			`policy.cedar:2:52: no entity and no context has an attribute "foo"`},
		{"attribute after has", `permit(principal, action, resource) when { principal has nme };`,
			`policy.cedar:1:58: no entity and no context has an attribute "nme": did you mean "name"?`},
		{"attribute behind a constant", `permit(principal, action, resource) when { false && resource.nme == "x" };`,
			`policy.cedar:1:62: no entity and no context has an attribute "nme": did you mean "name"?`},
		{"attribute of another entity", `permit(principal, action == Action::"call", resource) when { resource.uri == "x" };`,
			`policy.cedar:1:71: attribute "uri" on entity type "Tool" not found: limit the rule to actions and resources that have it`},
		{"attribute of some entities", `permit(principal, action, resource) when { resource.path == "x" };`,
			`policy.cedar:1:53: attribute "path" on entity type "Prompt", "Server", "Tool", "View" not found: ` +
				`limit the rule to actions and resources that have it`},
		{"optional attribute of the context", `permit(principal, action, resource is Server) when { context.address.isLoopback() };`,
			`policy.cedar:1:62: attribute "address" in context for Action::"administer", Action::"ask", Action::"list" ` +
				`may be absent: test it with has first`},
		{"optional attribute", `permit(principal, action == Action::"call", resource) when { resource.claims.readOnly };`,
			`policy.cedar:1:78: attribute "claims.readOnly" on entity type "Tool" may be absent: test it with has first`},
		{"beside arguments",
			`permit(principal, action == Action::"call", resource) when { context.args.nme == principal.nme };`,
			`policy.cedar:1:75: no entity and no context has an attribute "nme": did you mean "name"?`},
		{"a type beside arguments", `permit(principal, action == Action::"call", resource) when { context.args.n > "1" };`,
			`policy.cedar:1:1: unexpected type: expected datetime, or duration, or Long but saw String`},
		{"arguments of a read", `permit(principal, action == Action::"read", resource) when { context.args.x == 1 };`,
			`policy.cedar:1:70: attribute "args" in context for Action::"read" not found: limit the rule to actions and resources that have it`},
		{"arguments of any action", `permit(principal, action, resource) when { context.args.x == 1 };`,
			`policy.cedar:1:52: attribute "args" in context for Action::"administer", Action::"approve", Action::"ask", ` +
				`Action::"complete", Action::"list", Action::"read", Action::"subscribe" not found: ` +
				`limit the rule to actions and resources that have it`},
		{"arguments and entities",
			`permit(principal, action == Action::"call", resource) when { context.args.u == principal };`,
			`policy.cedar:1:70: a value of context.args is JSON and never an entity: ` +
				`compare it with an attribute such as principal.name`},
		{"arguments in an entity",
			`permit(principal, action == Action::"call", resource) when { context.args.u in Group::"a" };`,
			`policy.cedar:1:70: a value of context.args is JSON and never an entity: compare it with ==`},
		{"action", `permit(principal, action == Action::"cal", resource);`,
			`policy.cedar:1:37: unrecognized action "Action::"cal""`},
		{"entity type", `permit(principal == Usr::"alice", action, resource);`,
			`policy.cedar:1:21: unrecognized entity type "Usr"`},
		{"no action", `permit(principal, action == Action::"call", resource == Server::"a");`,
			`policy.cedar:1:1: unable to find an applicable action given the policy scope constraints`},
		{"annotation", "@advice(\"x\")\npermit(principal, action, resource);",
			`policy.cedar:1:2: @advice is unknown: the annotations are @id, @approve, @rate and @audit`},
		{"approve", `@approve("boss") permit(principal, action, resource);`,
			`policy.cedar:1:2: @approve("boss") is unknown: use "caller", "other" or "either"`},
		{"rate", "permit(principal, action, resource);\n@rate(\"0/m\") permit(principal, action, resource);",
			`policy.cedar:2:2: @rate("0/m") is not a rate: use "30/m", "5/10s", "100/h" or "1000/d"`},
		{"audit", `@audit("result") permit(principal, action, resource);`,
			`policy.cedar:1:2: @audit("result") is unknown: use "arguments" or "arguments,result"`},
		{"approve on a forbid", `@approve("other") forbid(principal, action, resource);`,
			`policy.cedar:1:2: @approve has no effect on a forbid: put it on a permit`},
		{"repeated id", "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);",
			`policy.cedar:2:1: @id("a") is also the id of the rule at policy.cedar:1: choose another`},
		{"two problems", "@x permit(principal, action, resource);\n@y permit(principal, action, resource);",
			"policy.cedar:1:2: @x is unknown: the annotations are @id, @approve, @rate and @audit\n" +
				"policy.cedar:2:2: @y is unknown: the annotations are @id, @approve, @rate and @audit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := policy.Parse("policy.cedar", []byte(c.policy))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditionsOnArgumentsLoad(t *testing.T) {
	for _, condition := range []string{
		`context.args.force`, `!context.args.force`, `context.args.a.b.c == 1`, `context.args["odd name"] like "x*"`,
		`context.args.n + 1 < 3 * context.args.m`, `-context.args.n > 0`, `context.args.list.isEmpty()`,
		`context.args.list.containsAll(["a", "b"])`, `["a"].contains(context.args.x)`,
		`[context.args.x, "b"].containsAny(context.args.list)`, `context.args.a == context.args.b`,
		`(if context.args.a then context.args.b else context.args.c) == 7`, `context.args == {"a": 1}`,
		`context.args.when == "now" || datetime(context.args.when) < context.time`,
		`context.args.price.greaterThan(decimal("1.5"))`, `decimal(context.args.price).lessThan(decimal("2.0"))`,
		`context.args has a.b && context.args.a.b == principal.name`, `{"x": context.args.a} == {"x": 1}`,
	} {
		text := `permit(principal, action == Action::"call", resource) when { ` + condition + ` };`
		if _, err := policy.Parse("policy.cedar", []byte(text)); err != nil {
			t.Errorf("%s: %v", condition, err)
		}
	}
}

func TestEngineKeepsTheLastGoodPolicies(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := policy.Open(dir); err == nil || !strings.Contains(err.Error(), "no *.cedar file") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := policy.Open(filepath.Join(dir, "missing.cedar")); err == nil {
		t.Error("a missing file opens")
	}
	write("a.cedar", `permit(principal, action, resource in Server::"github");`)
	write("b.cedar", `forbid(principal, action, resource == Tool::"github/delete");`)
	write("notes.txt", "not a policy")
	engine, err := policy.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	request := call("alice", "github", "create_issue", "")
	if !engine.Current().Decide(request).Allowed {
		t.Error("denied at first")
	}
	if changed, err := engine.Reload(); changed || err != nil {
		t.Errorf("nothing changed: %v, %v", changed, err)
	}
	version := engine.Current().Version()
	write("b.cedar", `forbid(principal, action, resource`)
	if changed, err := engine.Reload(); changed || err == nil || !strings.Contains(err.Error(), "b.cedar:1:35") {
		t.Errorf("a broken file: %v, %v", changed, err)
	}
	if engine.Current().Version() != version || !engine.Current().Decide(request).Allowed {
		t.Error("a broken file changed the policies")
	}
	write("b.cedar", `forbid(principal, action, resource);`)
	if changed, err := engine.Reload(); !changed || err != nil || engine.Current().Decide(request).Allowed {
		t.Errorf("a repaired file: %v, %v", changed, err)
	}
	if got := engine.Current().Decide(request).Rules; len(got) != 1 || got[0].File != "b.cedar" || got[0].Line != 1 {
		t.Errorf("the deciding rule is %+v", got)
	}
	if engine.Current().Version() == version {
		t.Error("another text has the same version")
	}
}

func TestCheckFindsRulesWithoutEffect(t *testing.T) {
	s := parse(t, `permit(principal, action, resource in Server::"github");
permit(principal in Group::"dev", action == Action::"call", resource == Tool::"fs/delete");
forbid(principal, action, resource in Server::"fs");
permit(principal, action, resource) when { context.era == "modern" && context.era == "legacy" };
permit(principal, action, resource) when { principal in Group::"a" } unless { principal in Group::"a" };
permit(principal, action == Action::"call", resource) when { context.args.n > 5 && 4 == context.args.n };
@id("again") permit(principal, action, resource in Server::"github");
permit(principal, action == Action::"list", resource);
permit(principal, action == Action::"list", resource is Server);
forbid(principal, action == Action::"call", resource) when { context.args.path like "/etc/*" };
forbid(principal, action == Action::"call", resource) when { context.args has path && context.args.path like "/etc/*" };
permit(principal, action, resource) when { 1 == 2 };`)
	var got []string
	for _, f := range s.Check() {
		got = append(got, f.String())
	}
	want := []string{
		`policy.cedar:2: has no effect: the forbid at policy.cedar:3 always applies`,
		`policy.cedar:4: never applies: context.era cannot be "modern" and "legacy"`,
		`policy.cedar:5: never applies: principal in Group::"a" is required and excluded`,
		`policy.cedar:6: never applies: context.args.n has an empty range`,
		`policy.cedar:7: repeats the rule at policy.cedar:1`,
		`policy.cedar:8: has an effect on servers and views only: a tool, prompt or resource is listed if ` +
			`Action::"call", "get" or "read" is permitted`,
		`policy.cedar:10: denies every request without context.args.path: test it with context.args has path first`,
		`policy.cedar:12: never applies: 1 == 2 is never true`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCheckFindsURIsThatNoRequestHas checks that a literal in another than the canonical form is found, and no other.
func TestCheckFindsURIsThatNoRequestHas(t *testing.T) {
	for condition, want := range map[string]string{
		`resource == Resource::"a/FILE:///srv/./x"`:                                                    `Resource::"a/FILE:///srv/./x": write "a/file:///srv/x"`,
		`resource in [Resource::"a/https://h/", Resource::"a/https://h:443/"]`:                         `Resource::"a/https://h:443/": write "a/https://h/"`,
		`resource != Resource::"a/file:/srv/x"`:                                                        `Resource::"a/file:/srv/x": a URI of file begins with file://`,
		`resource == Resource::"notes"`:                                                                `Resource::"notes": write SERVER/URI`,
		`resource.uri == "https://H.example"`:                                                          `resource.uri == "https://H.example": write "https://h.example/"`,
		`["file:///a%7e", "file:///b"].contains(resource.uri)`:                                         `resource.uri == "file:///a%7e": write "file:///a~"`,
		`resource.uri like "file:///srv/%73*"`:                                                         `resource.uri like "file:///srv/%73*": write "file:///srv/s*"`,
		`resource.uri like "*a b"`:                                                                     `resource.uri like "*a b": a URI cannot contain ' ': percent-encode it`,
		`resource.path like "/srv//*"`:                                                                 `resource.path like "/srv//*": the path has an empty segment`,
		`resource.path == "/a/../b"`:                                                                   `resource.path == "/a/../b": write "/b"`,
		`resource has host && resource.host == "Intranet.Example."`:                                    `resource.host == "Intranet.Example.": write "intranet.example"`,
		`resource has host && resource.host like "*.Example"`:                                          `resource.host like "*.Example": write "*.example"`,
		`resource has host && resource.host == "[2001:DB8::1]"`:                                        `resource.host == "[2001:DB8::1]": write "2001:db8::1"`,
		`resource.scheme == "HTTPS"`:                                                                   `resource.scheme == "HTTPS": write "https"`,
		`resource has query && resource.query == "?a"`:                                                 `resource.query == "?a": write "a"`,
		`resource == Resource::"a/file:///srv/x" || resource == Resource::"a/x:{y}"`:                   ``,
		`resource.uri like "https*" || resource.uri like "https://h*" || resource.uri like "*secret*"`: ``,
		`resource has host && (resource.host == "2001:db8::1" || resource.host like "10.*")`:           ``,
		`resource.path like "*%2*" || resource.path like "/a\*/*" || resource.path == "x"`:             ``,
	} {
		s := parse(t, "permit(principal, action == Action::\"read\", resource) when { "+condition+" };")
		var got string
		for _, f := range s.Check() {
			got += strings.TrimPrefix(f.String(), "policy.cedar:1: never matches ")
		}
		if got != want || len(s.Misspelt()) != len(s.Check()) {
			t.Errorf("%s\n%q\n%q", condition, got, want)
		}
	}
	s := parse(t, `forbid(principal, action, resource == Resource::"a/file:///srv/%73");`)
	if got := s.Misspelt(); len(got) != 1 {
		t.Error(got)
	}
}

func TestRulesHaveTheirText(t *testing.T) {
	s := parse(t, `// A comment; with a semicolon.
@id("first") // here too;
permit(principal, action, resource) when { context.era == "a;b" }; forbid(principal, action,
  resource == Tool::"x/y"); // the end;
// More.
`)
	got := s.Rules()
	want := []policy.Text{
		{policy.Rule{ID: "first", File: "policy.cedar", Line: 2, Effect: "permit"}, "@id(\"first\") // here too;\n" +
			`permit(principal, action, resource) when { context.era == "a;b" };`},
		{policy.Rule{ID: "policy.cedar:3", File: "policy.cedar", Line: 3, Effect: "forbid"},
			"forbid(principal, action,\n  resource == Tool::\"x/y\");"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExplainNamesTheClosestPermits(t *testing.T) {
	s := parse(t, `permit(principal in Group::"admin", action, resource in Server::"fs");
permit(principal in Group::"dev", action == Action::"call", resource in Server::"github") when {
	context.era == "legacy" && context.args.repo == "indus" };
permit(principal, action == Action::"read", resource);`)
	got := s.Explain(call("alice", "github", "create_issue", `{"repo": "other"}`))
	want := []policy.Reason{
		{Rule: policy.Rule{ID: "policy.cedar:2", File: "policy.cedar", Line: 2, Effect: "permit"},
			Missing: []string{`the condition context.era == "legacy" is false (context.era is "modern")`}},
		{Rule: policy.Rule{ID: "policy.cedar:1", File: "policy.cedar", Line: 1, Effect: "permit"}, Missing: []string{
			`the principal is User::"alice": the rule requires principal in Group::"admin"`,
			`the resource is Tool::"github/create_issue": the rule requires resource in Server::"fs"`}},
	}
	if diff := cmp.Diff(want, got.Near); diff != "" {
		t.Error(diff)
	}
}
