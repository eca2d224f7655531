package page_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// changesJSON is the JSON of "/changes".
type changesJSON struct {
	Tools []struct {
		describe.ChangedTool
		Denied bool
	}
	Refused      []describe.ChangedTool
	Total, Pages int
	Stored       bool
}

// awaitChanges waits until so many tools are new or changed.
func (d *desk) awaitChanges(n int) {
	d.t.Helper()
	seen := make(chan struct{}, 1)
	defer d.gateway.Attached().Watch(func() {
		select {
		case seen <- struct{}{}:
		default:
		}
	})()
	for len(d.gateway.Attached().Changed()) != n {
		select {
		case <-seen:
		case <-d.t.Context().Done():
			d.t.Fatal(d.t.Context().Err())
		}
	}
}

// In a cluster, a changed tool is on the page of each replica. Once it is accepted on one page it is live at both.
func TestAChangedToolIsAcceptedInACluster(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "Reads a file."})
	o := deskOptions{
		servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges, cluster: &clustertest.Memory{},
	}
	both := []*desk{newDesk(t, o), newDesk(t, o)}
	e.list(&mcp.Tool{Name: "read", Description: "Reads a file and sends it away."})
	var got changesJSON
	for _, d := range both {
		d.awaitChanges(1)
		if d.show("/changes", &got); !got.Stored || d.call("", "s__read", nil) == "echo " {
			t.Errorf("%+v", got)
		}
	}
	wants(t, both[0].browse().submit("/changes/accept", "tool", got.Tools[0].Version), "accepted s__read")
	for _, d := range both {
		d.awaitChanges(0)
		for d.call("", "s__read", nil) != "echo " { // until the replica has read the ledger
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// A changed tool is held back and shown word by word. Once it is accepted it is live, and the ledger names the person.
func TestAChangedToolIsAccepted(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "Reads a file."})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges})
	b := d.browse()
	wants(t, b.open("/changes"), "Every tool is as it was approved.")
	e.list(&mcp.Tool{Name: "read", Description: "Reads a file and sends it away."})
	d.awaitChanges(1)
	var got changesJSON
	d.show("/changes", &got)
	if len(got.Tools) != 1 || !got.Stored || !got.Tools[0].Held || got.Tools[0].New || len(got.Tools[0].Fields) == 0 {
		t.Fatalf("%+v", got)
	}
	version := got.Tools[0].Version
	text := b.open("/changes")
	wants(t, text, "1 tool is new or has changed", "<dt>description</dt>", "is held back since", version,
		"<span>Reads a</span><del> file.</del><ins> file and sends it away.</ins>")
	if got := d.call("", "s__read", nil); got == "echo " {
		t.Error("a tool that is held back can be called")
	}
	wants(t, b.submit("/changes/accept", "tool", version), "accepted s__read")
	d.awaitChanges(0)
	if got := d.call("", "s__read", nil); got != "echo " {
		t.Errorf("an accepted tool: %q", got)
	}
	entries, err := d.log.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := ""
	for _, entry := range entries {
		if entry.Op == ledger.Accept {
			by = entry.Note
		}
	}
	if !strings.HasPrefix(by, "by ") || !strings.HasSuffix(by, ", on the page") {
		t.Errorf("the ledger names the person %q", by)
	}
}

// A version that was replaced meanwhile is not accepted, and the text names the present one.
func TestAReplacedVersionIsNotAccepted(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges})
	e.list(&mcp.Tool{Name: "read", Description: "two"})
	d.awaitChanges(1)
	var before, after changesJSON
	d.show("/changes", &before)
	e.list(&mcp.Tool{Name: "read", Description: "three"})
	for after.Tools == nil || after.Tools[0].Version == before.Tools[0].Version {
		d.show("/changes", &after)
	}
	_, failed := d.act("/changes/accept", "tool", before.Tools[0].Version)
	wants(t, failed, "s__read is no longer at version", "look at the changes again")
	_, failed = d.act("/changes/accept", "tool", "s__none")
	wants(t, failed, `no tool "s__none" is other than it was approved`)
	_, failed = d.act("/changes/accept")
	wants(t, failed, "no tool is named")
}

// The ledger also has tools of other processes. The page shows and accepts only those of its gateway.
func TestChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	other := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	a := ledger.Attach(t.Context(), ledger.Ledger{}, []config.Server{{ID: "other"}}, &ledger.Options{
		Log: d.log, Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{
			Endpoint: d.connector(map[string]*mcp.Server{"other": other.Server}),
		}},
	})
	t.Cleanup(a.Close)
	other.list(&mcp.Tool{Name: "read", Description: "two"})
	for len(a.Changed()) == 0 || a.Flush(t.Context()) != nil {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := d.log.Read(t.Context(), 0)
	if err != nil || len(describe.ChangedTools(entries)) != 1 {
		t.Fatalf("%d changed tools in the ledger, %v", len(describe.ChangedTools(entries)), err)
	}
	var got changesJSON
	d.show("/changes", &got)
	if got.Total != 0 {
		t.Errorf("%+v", got)
	}
	_, failed := d.act("/changes/accept", "tool", "other__read")
	wants(t, failed, `no tool "other__read" is other than it was approved`)
}

// Only the operator and administrators see and accept changes. The ledger names the administrator.
func TestRightsToAcceptChanges(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, keys: true, changes: config.DenyChanges})
	e.list(&mcp.Tool{Name: "read", Description: "two"})
	d.awaitChanges(1)
	alice, admin := d.key("alice"), d.key("root", "admin")
	if status, _ := d.request(alice, "/changes", nil); status != http.StatusForbidden {
		t.Errorf("a caller: status %d", status)
	}
	if status, _ := d.request(alice, "/changes/accept", map[string][]string{"tool": {"s"}}); status != http.StatusForbidden {
		t.Errorf("a caller accepts: status %d", status)
	}
	var got changesJSON
	d.showTo(admin, "/changes", &got)
	if len(got.Tools) != 1 || !got.Tools[0].Denied {
		t.Fatalf("%+v", got)
	}
	wants(t, d.browse().open("/changes"), "it stays held back")
	if done, failed := d.actAs(admin, "/changes/accept", "tool", got.Tools[0].Version); done != "accepted s__read" {
		t.Errorf("%q, %q", done, failed)
	}
	entries, err := d.log.History(t.Context())
	if err != nil || entries[len(entries)-1].Note != "by user:root, on the page" {
		t.Errorf("%+v, %v", entries[len(entries)-1], err)
	}
}

// Without a ledger, changes are shown and cannot be accepted.
func TestChangesWithoutALedger(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, sealed: true})
	e.list(&mcp.Tool{Name: "read", Description: "two"})
	d.awaitChanges(1)
	var got changesJSON
	d.show("/changes", &got)
	if len(got.Tools) != 1 || got.Stored || got.Tools[0].Held {
		t.Fatalf("%+v", got)
	}
	_, failed := d.act("/changes/accept", "tool", got.Tools[0].Version)
	wants(t, failed, "no ledger is kept")
	wants(t, d.browse().open("/changes"), "No ledger is kept", "is live all the same since")
}

// The names and texts of hostile tools stay text.
func TestHostileTextInChanges(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges})
	e.AddTool(&mcp.Tool{
		Name: "read", Description: "one " + foreignMarkup,
		InputSchema: map[string]any{
			"type": "object", "properties": map[string]any{foreignMarkup: map[string]any{"type": "string", "description": foreignMarkup}},
		},
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	d.awaitChanges(1)
	b := d.browse()
	wants(t, b.open("/changes"), `\u{202e}`, `\u{200b}`, `\u{1b}`, "&lt;script&gt;")
	b.submit("/changes/accept", "tool", foreignMarkup)
	b.submit("/changes/accept", "tool", "s", "return", "server="+foreignMarkup)
	b.open("/changes?server=" + "%3Cimg%20src=x%3E")
}

// 2,000 changed tools have pages, and all of a page can be accepted at once.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	const many = 2000
	e := newEcho(oneTool())
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges})
	schema := map[string]any{"type": "object"} // a schema made from a Go type takes most of the time
	for i := range many {
		e.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "New.", InputSchema: schema}, nil)
	}
	d.awaitChanges(many)
	var got changesJSON
	d.show("/changes?page=3", &got)
	if got.Total != many || got.Pages != many/20 || len(got.Tools) != 20 || !got.Tools[0].New {
		t.Errorf("%d tools of %d on %d pages", len(got.Tools), got.Total, got.Pages)
	}
	wants(t, d.browse().open("/changes?page=3"), "2000 tools are new", "Accept all 20 above of s", "Page 3 of 100")
	var fields []string
	for _, row := range got.Tools {
		fields = append(fields, "tool", row.Version)
	}
	if done, failed := d.act("/changes/accept", fields...); !strings.HasPrefix(done, "accepted s__tool_") {
		t.Errorf("%q, %q", done, failed)
	}
	d.show("/changes", &got)
	if got.Total != many-20 {
		t.Errorf("%d tools are left", got.Total)
	}
}

// A person refuses the held version of a tool. It stays held back and no longer waits, also for other replicas. The next
// version waits again, and a refused version can be accepted.
func TestAHeldToolIsRefused(t *testing.T) {
	t.Parallel()
	for _, shared := range []*clustertest.Memory{nil, {}} {
		e := newEcho(&mcp.Tool{Name: "read", Description: "Reads a file."})
		d := newDesk(t, deskOptions{
			servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges, cluster: shared,
		})
		b := d.browse()
		change := func(text string) (version string) {
			e.list(&mcp.Tool{Name: "read", Description: text})
			for page := ""; !strings.Contains(page, text); page = b.open("/changes") {
				d.awaitChanges(1)
			}
			var got changesJSON
			if d.show("/changes", &got); len(got.Tools) == 0 {
				return ""
			}
			return got.Tools[0].Version
		}
		version := change("sends it away")
		wants(t, b.submit("/changes/refuse", "tool", version), "refused s__read")
		var got changesJSON
		d.show("/changes", &got)
		if len(got.Tools) != 0 || got.Total != 0 || len(got.Refused) != 1 || got.Refused[0].Version != version {
			t.Fatalf("%+v", got)
		}
		text := b.open("/changes")
		wants(t, text, "Every tool is as it was approved.", "is refused by ", ", on the page, and is held back since", "1 refused tool")
		if strings.Contains(text, `class="count`) || strings.Contains(text, "refuse-"+got.Refused[0].Sum) {
			t.Errorf("a refused tool waits for a person: %s", text)
		}
		if answer := d.call("", "s__read", nil); answer == "echo " {
			t.Error("a refused tool can be called")
		}
		wants(t, b.open("/try?tool=s__read"), "is refused by ", "once a person has accepted it", `href="/changes?server=s#tool-`)
		wants(t, b.submit("/try/call", "tool", "s__read"), "s__read is held back: look at the changes")
		if next := change("sends it elsewhere"); next == version || next == "" {
			t.Error("the next version does not wait")
		}
		if change("sends it away") != "" {
			t.Error("the refused version waits again")
		}
		wants(t, b.submit("/changes/accept", "tool", version), "accepted s__read")
		d.awaitChanges(0)
	}
}

// A tool that is live is not refused: the text names the way to hold it back.
func TestALiveToolIsNotRefused(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "read", Description: "one"})
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": e.Server}})
	e.list(&mcp.Tool{Name: "read", Description: "two"})
	d.awaitChanges(1)
	var got changesJSON
	d.show("/changes", &got)
	_, failed := d.act("/changes/refuse", "tool", got.Tools[0].Version)
	wants(t, failed, "s__read is live", `"changes": "hold"`)
	wants(t, d.browse().open("/changes"), "It is live: to hold back such tools")
}
