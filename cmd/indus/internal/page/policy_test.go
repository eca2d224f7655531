package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/policy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// policyJSON is the JSON of "/policy".
type policyJSON struct {
	Mode, Version, Problem string
	Files                  []string
	Rules                  []policy.Text
	Total, Pages           int
	Findings               []policy.Finding
	Explanation            *struct {
		Verdict string
		policy.Explanation
	}
}

// explain asks the policy as the operator.
func (d *desk) explain(fields ...string) (got policyJSON) {
	d.t.Helper()
	form := map[string][]string{}
	for i := 0; i < len(fields); i += 2 {
		form[fields[i]] = []string{fields[i+1]}
	}
	status, text := d.request(d.link(), "/policy/explain", form)
	if err := json.Unmarshal(text, &got); err != nil || status != http.StatusOK || got.Explanation == nil {
		d.t.Fatalf("status %d: %s", status, text)
	}
	return got
}

const explainedRules = `permit(principal in Group::"dev", action == Action::"call", resource in Server::"s")
when { context.args.text == "ok" };
@approve("other")
permit(principal == User::"carol", action == Action::"call", resource) when {
  resource.claims has readOnly && resource.claims.readOnly };
permit(principal, action == Action::"read", resource) when { 1 == 2 };
`

// The rules are shown with their places and findings, and a request is explained as on the command line.
func TestThePolicyIsShownAndExplained(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "merge"}, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}})
	d := newDesk(t, deskOptions{policy: explainedRules, servers: map[string]*mcp.Server{"s": e.Server}})
	var got policyJSON
	d.show("/policy", &got)
	if got.Mode != "enforce" || got.Total != 3 || len(got.Findings) != 1 || got.Problem != "" || len(got.Files) != 1 {
		t.Fatalf("%+v", got)
	}
	if r := got.Rules[1]; r.Line != 3 || r.Effect != "permit" || !strings.HasPrefix(r.Text, "@approve(\"other\")\npermit(") {
		t.Errorf("%+v", r)
	}
	b := d.browse()
	wants(t, b.open("/policy"), "policy.cedar:3", "context.args.text == &#34;ok&#34;", "never applies",
		"a request that no permit covers is denied", `<option value="s/merge">`)

	denied := d.explain("as", "alice", "groups", "dev, other", "item", "s/merge", "args", `{"text": "no"}`)
	if x := denied.Explanation; x.Verdict != "deny" || len(x.Near) == 0 || x.Near[0].Line != 1 {
		t.Errorf("%+v", x)
	}
	text := b.submit("/policy/explain", "as", "alice", "groups", "dev, other", "item", "s/merge", "args", `{"text": "no"}`)
	wants(t, text, `<span class="bad">deny</span>`, "permit policy.cedar:1 would apply, but:",
		"context.args.text == &#34;ok&#34; is false", `value="dev, other"`, "{&#34;text&#34;: &#34;no&#34;}</textarea>")
	if x := d.explain("as", "alice", "groups", "dev", "item", "s/merge", "args", `{"text":"ok"}`).Explanation; x.Verdict != "allow" {
		t.Errorf("%+v", x)
	}
	// The annotations are those of the tool that is listed.
	if x := d.explain("as", "carol", "item", "s/look").Explanation; x.Verdict != "approve" {
		t.Errorf("%+v", x)
	}
	if x := d.explain("as", "carol", "item", "s/merge").Explanation; x.Verdict != "deny" {
		t.Errorf("%+v", x)
	}
}

// A denied call leads to the rule that decided, in Calls and in the audit.
func TestADeniedCallLeadsToItsRule(t *testing.T) {
	t.Parallel()
	rules := "@id(\"all\") permit(principal, action, resource);\n" +
		"@id(\"no & <b>\") forbid(principal, action, resource == Tool::\"s/merge\");\n"
	d := newDesk(t, deskOptions{policy: rules, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}, audit: true})
	d.call("", "s__merge", nil)
	link := `by <a href="/policy?rule=no+%26+%3Cb%3E#rules">no &amp; &lt;b&gt;</a>`
	b := d.browse()
	for _, path := range []string{"/calls?outcome=denied", "/audit?outcome=denied"} {
		wants(t, b.open(path), link)
	}
	text := b.open("/policy?rule=no+%26+%3Cb%3E")
	wants(t, text, "forbid(principal, action, resource == Tool::&#34;s/merge&#34;)", "All rules")
	if strings.Contains(text, "policy.cedar:1") {
		t.Error("other rules are shown:", text)
	}
	wants(t, b.open("/policy?rule=gone"), "There is no rule gone any more")
}

// Bad fields of the form are refused with a text.
func TestBadQuestionsToThePolicy(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{policy: explainedRules, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	for want, fields := range map[string][]string{
		"the arguments are not JSON":       {"as", "alice", "item", "s/merge", "args", "{"},
		`the item "" is not SERVER/NAME`:   {"as", "alice"},
		`the action "steal" is unknown`:    {"as", "alice", "item", "s/merge", "action", "steal"},
		`the era "modest" is unknown`:      {"as", "alice", "item", "s/merge", "era", "modest"},
		`the item "merge" is not SERVER/N`: {"as", "alice", "item", "merge"},
	} {
		_, failed := d.act("/policy/explain", fields...)
		wants(t, failed, want)
	}
	b := d.browse()
	typed := strings.TrimRight(foreignMarkup, "\u202e\u200b\x1b[31m") // the form shows the own text of the visitor unchanged
	text := b.submit("/policy/explain", "as", typed, "groups", typed, "item", typed, "args", typed, "view", typed,
		"client", typed, "address", typed)
	wants(t, text, `class="problem"`)
	b.submit("/policy/explain", "as", typed, "item", "s/"+typed, "args", `{"<b>":"<script>alert(1)</script>"}`)
}

// Without a policy, the page has no form. With a file that is broken now, it has the reason, and the rules go on.
func TestAMissingAndABrokenPolicy(t *testing.T) {
	t.Parallel()
	servers := map[string]*mcp.Server{"s": newEcho(oneTool()).Server}
	d := newDesk(t, deskOptions{servers: servers})
	var got policyJSON
	d.show("/policy", &got)
	if got.Mode != "none" || got.Rules == nil {
		t.Errorf("%+v", got)
	}
	wants(t, d.browse().open("/policy"), "There is no policy: every caller may do everything.")
	_, failed := d.act("/policy/explain", "as", "alice", "item", "s/merge")
	wants(t, failed, "there is no policy")

	d = newDesk(t, deskOptions{policy: explainedRules, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	d.policyProblem = errors.New("policy.cedar:1: <b>")
	d.show("/policy", &got)
	if got.Total != 3 || got.Problem != "policy.cedar:1: <b>" {
		t.Errorf("%+v", got)
	}
	wants(t, d.browse().open("/policy"), "The policy cannot be used as it is now.", "policy.cedar:1: &lt;b&gt;",
		"policy.cedar:3")
}

// Rules with hostile texts stay text, and many rules have pages. A caller without rights sees none.
func TestManyHostileRules(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	quoted := strings.NewReplacer(`"`, `\"`, "\x1b", "").Replace(foreignMarkup)
	for i := range 120 {
		fmt.Fprintf(&rules, "permit(principal == User::\"%d %s\", action == Action::\"call\", resource);\n", i, quoted)
	}
	d := newDesk(t, deskOptions{policy: rules.String(), servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}, keys: true})
	var got policyJSON
	d.show("/policy?page=3", &got)
	if got.Total != 120 || got.Pages != 3 || len(got.Rules) != 20 {
		t.Errorf("%d rules of %d on %d pages", len(got.Rules), got.Total, got.Pages)
	}
	wants(t, d.browse().open("/policy?page=2"), "&lt;script&gt;alert(1)", `\u{202e}`, "Page 2 of 3")
	for _, form := range []map[string][]string{nil, {"as": {"alice"}, "item": {"s/merge"}}} {
		path := "/policy"
		if form != nil {
			path += "/explain"
		}
		if status, _ := d.request(d.key(fmt.Sprintf("alice-%d", len(form))), path, form); status != http.StatusForbidden {
			t.Errorf("a caller without rights: status %d", status)
		}
	}
}
