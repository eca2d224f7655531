package page_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The overview shows everything that waits for a person, with the decision, and every page counts it.
func TestWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "merge"}, &mcp.Tool{Name: "two", Description: "one"})
	broken := config.Server{ID: "broken", Transport: config.Stdio{Command: "false"}}
	d := newDesk(t, deskOptions{
		policy: approvedByOthers, servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges,
		configured: []config.Server{broken}, config: &mcpconfig.Config{Rows: []mcpconfig.Row{
			{Server: config.Server{ID: "s"}, State: mcpconfig.Active}, {Server: broken, State: mcpconfig.Active},
		}},
	})
	b := d.browse()
	id := waitingID(t, d.call("", "s__merge", map[string]any{"text": "first\nsecond"}))
	e.list(&mcp.Tool{Name: "two", Description: "two"})
	d.awaitChanges(1)
	d.policyProblem = errors.New("policy.cedar:1: <b>no</b>")
	text := b.open("/")
	wants(t, text, `id="allow-`+id, `id="deny-`+id, "text: first …", `data-until="`, "<del>one</del><ins>two</ins>",
		"broken</strong>", `id="restart-broken"`, "tried again", "policy.cedar:1: &lt;b&gt;no&lt;/b&gt;")
	for _, path := range []string{"/", "/calls", "/audit", "/try"} {
		head, _, _ := strings.Cut(b.open(path), "<main")
		for _, part := range []string{
			"<title>(2) ", `>Approvals <span class="count">1</span>`, `>Changes <span class="count">1</span>`,
			`>Servers <span class="count fault">1</span>`, `>Policy <span class="count fault">1</span>`, `data-waits="` + id + ` `,
		} {
			if !strings.Contains(head, part) {
				t.Errorf("%s: %q is missing in %s", path, part, head)
			}
		}
	}
	var list struct{ Servers []struct{ ID string } }
	if d.show("/servers", &list); len(list.Servers) != 2 || list.Servers[0].ID != "broken" {
		t.Errorf("%+v", list)
	}
	wants(t, b.submit("/approvals/allow", "id", id, "from", "overview"), "allowed "+id, "<h1>Overview</h1>")
}

// A quiet gateway says so in one sentence, with the figures of the day.
func TestNothingNeedsAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	d.call("", "s__read", nil)
	text := d.browse().open("/")
	wants(t, text, "Nothing waits for a person.", "in 24 hours")
	if strings.Contains(text, `class="count`) || !strings.Contains(text, "<title>Overview") {
		t.Error(text)
	}
}
