package page_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/interop/config"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overviewJSON is the JSON of "/".
type overviewJSON struct {
	Address       string
	Servers       struct{ All, Ready, Idle, Down, Tools int }
	SignInsNeeded int
	Approvals     struct{ Waiting int }
	Changes       struct{ Tools, Held int }
	Policy        struct {
		Mode  string
		Rules int
	}
	Audit struct{ Recorded bool }
}

// The overview counts the present state of all sections, and links to them.
func TestOverview(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "merge"}, &mcp.Tool{Name: "two"})
	d := newDesk(t, deskOptions{
		policy: approvedByOthers, audit: true, servers: map[string]*mcp.Server{"s": e.Server}, changes: config.HoldChanges,
		configured: []config.Server{{ID: "broken", Transport: config.Stdio{Command: "false"}}},
	})
	var got overviewJSON
	d.show("/", &got)
	want := overviewJSON{Address: d.web.URL + "/mcp"}
	want.Servers.All, want.Servers.Ready, want.Servers.Down, want.Servers.Tools = 2, 1, 1, 2
	want.Policy.Mode, want.Policy.Rules, want.Audit.Recorded = "enforce", 3, true
	if got != want {
		t.Errorf("%+v\nnot %+v", got, want)
	}
	b := d.browse()
	wants(t, b.open("/"), "1 of 2", "ready, 2 tools, 1 down", "3 rules", "enforced", "requests are recorded",
		`href="/approvals"`, `href="/audit"`, `data-live="servers approvals tools calls policy"`)

	waitingID(t, d.call("", "s__merge", nil))
	e.list(&mcp.Tool{Name: "two", Description: "changed"})
	d.awaitChanges(1)
	d.show("/", &got)
	if got.Approvals.Waiting != 1 || got.Changes.Tools != 1 || got.Changes.Held != 1 || got.Servers.Tools != 1 {
		t.Errorf("%+v", got)
	}
	wants(t, b.open("/"), `Waiting calls <span class="count">1</span>`, `New and changed tools <span class="count">1</span>`,
		"held back")
}

// A time has its date unless it is today, in the zone of the system.
func TestATimeOfAnotherDayHasItsDate(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 28, 12, 0, 0, 0, time.Local)
	for _, row := range []struct {
		at   time.Time
		want string
	}{
		{noon.Add(-12 * time.Hour), "00:00:00"}, {noon.UTC(), "12:00:00"}, {noon.Add(11 * time.Hour), "23:00:00"},
		{noon.Add(-12*time.Hour - time.Second), "2026-07-27 23:59:59"}, {noon.AddDate(-1, 0, 0), "2025-07-28 12:00:00"},
		{noon.Add(12 * time.Hour), "2026-07-29 00:00:00"},
	} {
		if got := page.ClockText(row.at, noon); got != row.want {
			t.Errorf("%v: %q, not %q", row.at, got, row.want)
		}
	}
	text := newDesk(t, deskOptions{}).browse().open("/usage")
	if !regexp.MustCompile(`<time datetime="[^"]+" title="\d{4}-\d\d-\d\d [\d:]{8} [+-]\d\d:\d\d">`).MatchString(text) {
		t.Error(text)
	}
}

// Without policy and audit, the overview says so. It is for the operator and administrators.
func TestOverviewOfAPlainGateway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{keys: true})
	var got overviewJSON
	d.show("/", &got)
	if got.Policy.Mode != "none" || got.Audit.Recorded || got.Servers.All != 0 {
		t.Errorf("%+v", got)
	}
	wants(t, d.browse().open("/"), "0 of 0", "every caller may do everything", "requests are not recorded")
	if status, _ := d.request(d.key("alice"), "/", nil); status != http.StatusForbidden {
		t.Errorf("a caller without rights: status %d", status)
	}
	d.showTo(d.key("root", "admin"), "/", &got)
}
