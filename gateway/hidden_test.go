package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A read of a URI that no server lists asks all servers, and counts once against a limit.
func TestASearchForAURICountsOnce(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		g, _ := controlled(t, control.Options{}, `@rate("3/m") permit(principal, action == Action::"read", resource);`)
		c := dial(t, g, "/mcp", era)
		for i := range 5 {
			_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "nowhere://x"})
			limited := err != nil && (strings.Contains(err.Error(), "limit of the policy") ||
				strings.Contains(err.Error(), http.StatusText(http.StatusTooManyRequests)))
			if err == nil || limited != (i >= 3) {
				t.Errorf("%s: read %d: %v", era, i, err)
			}
		}
	}
}

// The merged capabilities do not have the capabilities of a server of which nothing is permitted.
func TestCapabilitiesObeyThePolicy(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		for server, want := range map[string]bool{"a": false, "b": true} {
			plainServer := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
			mcp.AddTool(plainServer, &mcp.Tool{Name: "open"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return &mcp.CallToolResult{}, nil, nil
				})
			g := shelf{"a": plainServer, "b": newOffice("b").Server}.open(t, gateway.Options{Guard: control.New(&control.Options{
				Policy: always(rules(t, `permit(principal, action, resource in Server::"`+server+`");`), false),
			})}, "a", "b")
			for _, tool := range []string{"a__open", "b__open"} {
				if err := g.Attached().Fleet.Await(t.Context(), tool); err != nil {
					t.Fatal(err)
				}
			}
			c := dial(t, g, "/mcp", era)
			if got := c.InitializeResult().Capabilities.Completions != nil; got != want {
				t.Errorf("%s: with %s alone, completions are declared: %v", era, server, got)
			}
			if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) == 0 {
				t.Error(tools, err)
			}
		}
	}
}

// Two clients share a cached list only if they are equal in every attribute that the policy mentions.
func TestListsAreForEachClient(t *testing.T) {
	t.Parallel()
	const text = `
		permit(principal in Group::"dev", action == Action::"call", resource == Tool::"a/open");
		permit(principal == User::"bob", action == Action::"call", resource == Tool::"a/secret");
		permit(principal, action == Action::"call", resource == Tool::"b/open") when { context.client.name == "special" };
		permit(principal, action == Action::"call", resource == Tool::"b/secret")
		when { context has address && context.address.isInRange(ip("192.0.2.0/24")) };`
	team := newTeam(t, shelf{"a": newOffice("a").Server, "b": newOffice("b").Server}, text, "a", "b")
	open, _ := controlled(t, control.Options{}, text) // without identities
	for _, tool := range []string{"a__open", "b__open"} {
		if err := team.Attached().Fleet.Await(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
	}
	key := func(k identity.Key) string {
		token, _, err := team.keys.Add(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	alice := key(identity.Key{Name: "alice"})
	list := func(token, client, address string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + protocol.MetaVersion + `":"2026-07-28","` +
			protocol.MetaClientCaps + `":{},"io.modelcontextprotocol/clientInfo":{"name":"` + client + `","version":"1"}}}}`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.RemoteAddr = address + ":1"
		g := open
		if token != "" {
			g = team.Gateway
			r.Header.Set("Authorization", "Bearer "+token)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		modernHeaders(r, "tools/list", `{}`)
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		return w.Body.String()
	}
	for tool, other := range map[string][3]string{
		"a__open":   {key(identity.Key{Name: "alice", Groups: []string{"dev"}}), "plain", "198.51.100.1"},
		"a__secret": {key(identity.Key{Name: "bob"}), "plain", "198.51.100.1"},
		"b__open":   {"", "special", "198.51.100.1"},
		"b__secret": {"", "plain", "192.0.2.1"},
	} {
		for i := range 4 {
			by, want := [3]string{"", "plain", "198.51.100.1"}, i%2 == 1
			if want {
				by = other
			} else if other[0] != "" {
				by[0] = alice
			}
			if got := list(by[0], by[1], by[2]); strings.Contains(got, `"`+tool+`"`) != want {
				t.Errorf("%s is listed: %v, want %v: %s", tool, !want, want, got)
			}
		}
	}
}

// A request without an identity manages nothing.
func TestNobodyManages(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `permit(principal, action, resource);`} {
		c := control.Options{}
		if text != "" {
			c.Policy = always(rules(t, text), false)
		}
		g, _ := controlled(t, c, "")
		judge := beside(g, c)
		if judge.MayAdminister(nil, "") || judge.MayApprove(nil, &approval.Item{Subject: approval.Subject{Server: "a", Tool: "open"}}, "") {
			t.Errorf("with the policy %q, nobody may manage the gateway", text)
		}
	}
}

// A policy that is not enforced gives no right to manage the gateway: only the group of administrators has it.
func TestAReportedPolicyLetsNobodyManage(t *testing.T) {
	t.Parallel()
	everything := rules(t, `permit(principal, action in [Action::"administer", Action::"approve"], resource);`)
	for _, report := range []bool{false, true} {
		g := control.New(&control.Options{Policy: always(everything, report)})
		shelf{}.open(t, gateway.Options{Guard: g})
		for group, want := range map[string]bool{identity.AdminGroup: true, "dev": !report} {
			id, call := &identity.Identity{Principal: "ann", Groups: []string{group}}, &approval.Item{Subject: approval.Subject{Server: "a", Tool: "open"}}
			if g.MayAdminister(id, "") != want || g.MayApprove(id, call, "") != want {
				t.Errorf("report %t, group %s: not %t", report, group, want)
			}
		}
	}
}

// A decision about an approval is judged by the call that waits: by its client, view and era, and by the annotations of
// the tool that was called, also if the tool is no longer listed, or is listed with others.
func TestApproversAreJudgedByTheCallThatWaits(t *testing.T) {
	t.Parallel()
	const all = `permit(principal, action == Action::"approve", resource);`
	destructive := `resource.claims has destructive && resource.claims.destructive`
	for _, era := range []interop.Era{interop.Legacy, interop.Modern} {
		book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
		var set atomic.Pointer[policy.Set]
		set.Store(rules(t, `@approve("other") permit(principal, action == Action::"call", resource);`).Current())
		g, offices := controlled(t, control.Options{
			Approvals: book, Policy: func() (*policy.Set, bool) { return set.Load(), false },
		}, "")
		offices["a"].AddTool(&mcp.Tool{
			Name: "drop", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)},
		}, nil)
		if _, err := dial(t, g, "/mcp/@all", era).CallTool(t.Context(), call("a__drop")); err != nil {
			t.Fatal(err)
		}
		waiting, err := book.List(t.Context(), nil)
		if err != nil || len(waiting) != 1 {
			t.Fatal(waiting, err)
		}
		lead := &identity.Identity{Principal: "lead"}
		judge := beside(g, control.Options{Policy: func() (*policy.Set, bool) { return set.Load(), false }})
		check := func(when string) {
			t.Helper()
			for condition, want := range map[string]bool{
				"false": true, destructive: false, `resource.claims has openWorld`: true,
				`context.era == "` + string(era) + `"`: false, `context.era != "` + string(era) + `"`: true,
				`context.view == View::"@all"`: false, `context.client == Client::"` + waiting[0].Client + `"`: false,
			} {
				set.Store(rules(t, all+`forbid(principal, action == Action::"approve", resource) when { `+condition+` };`).Current())
				if got := judge.MayApprove(lead, &waiting[0], ""); got != want {
					t.Errorf("%s, %s, forbidden when %s: the approver may decide: %t", era, when, condition, got)
				}
			}
		}
		check("as listed")
		for judge.PolicyItem("a", "drop").Claims.Destructive != nil { // a server may begin to announce late
			offices["a"].RemoveTools("drop")
			time.Sleep(20 * time.Millisecond)
			offices["a"].AddTool(&mcp.Tool{Name: "drop", InputSchema: map[string]any{"type": "object"}}, nil)
			time.Sleep(20 * time.Millisecond)
		}
		check("without annotations")
	}
}
