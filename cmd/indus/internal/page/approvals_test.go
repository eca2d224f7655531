package page_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approvalsJSON is the JSON of "/approvals".
type approvalsJSON struct {
	Waiting []approvalJSON
	Past    []approvalJSON
	Total   int
	Pages   int
	Older   int
}

type approvalJSON struct {
	approval.Item
	MayAllow, MayDeny bool
	Refusal           string
	Change            *describe.ChangedTool
}

const approvedByOthers = `
@approve("other")
permit(principal, action == Action::"call", resource in Server::"s");
permit(principal in Group::"lead", action in [Action::"approve", Action::"administer"], resource);
permit(principal in Group::"admin", action == Action::"administer", resource);
`

func oneTool() *mcp.Tool { return &mcp.Tool{Name: "merge", Title: "Merge", Description: "Merges."} }

// waitingID returns the id of the approval in the answer to a call.
func waitingID(t *testing.T, answer string) string {
	t.Helper()
	found := regexp.MustCompile(`waits for approval ([2-9B-Z]{4}):`).FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("no approval in %q", answer)
	}
	return found[1]
}

// The operator sees a call with its arguments, allows it, and the same call runs once.
func TestTheOperatorAllowsACall(t *testing.T) {
	t.Parallel()
	e := newEcho(oneTool())
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": e.Server}})
	arguments := map[string]any{"text": "to main"}
	answer := d.call("", "s__merge", arguments)
	id := waitingID(t, answer)
	wants(t, answer, "a person approves it at "+d.web.URL+"/approvals or by `indus approvals allow "+id+"` until ")

	var got approvalsJSON
	d.show("/approvals", &got)
	if len(got.Waiting) != 1 || got.Total != 1 || len(got.Past) != 0 {
		t.Fatalf("%+v", got)
	}
	row := got.Waiting[0]
	if row.ID != id || row.Server != "s" || row.Tool != "merge" || show.CompactJSON(row.Shown) != `{"text":"to main"}` ||
		row.Client != "<b>client</b>" || row.Way != approval.Other || !row.MayAllow || !row.MayDeny || row.Rule == "" {
		t.Errorf("%+v", row)
	}
	b := d.browse()
	text := b.open("/approvals")
	wants(t, text, id, "<strong>merge</strong> of s", "&lt;b&gt;client&lt;/b&gt;, as it names itself", "&#34;text&#34;: &#34;to main&#34;",
		"another person than the caller", row.Rule, `datetime="`+row.Expires.UTC().Format(time.RFC3339)+`"`,
		"1 call waits for approval.")
	wants(t, b.submit("/approvals/allow", "id", id), "allowed "+id+": merge of s, for local until ")
	if e.count() != 0 {
		t.Error("a call ran before it was sent again")
	}
	if got := d.call("", "s__merge", arguments); got != "echo to main" {
		t.Errorf("the allowed call: %q", got)
	}
	var after approvalsJSON
	d.show("/approvals", &after)
	if len(after.Waiting) != 0 || len(after.Past) != 1 || after.Past[0].State != approval.Spent ||
		after.Past[0].Channel != approval.ByOperator {
		t.Errorf("%+v", after)
	}
	wants(t, b.open("/approvals"), "No call waits for approval.", "spent", "allowed by local at ")
	waitingID(t, d.call("", "s__merge", arguments)) // the grant is used
}

// A denial has a reason, which the caller gets. A second decision is refused with the first in its text.
func TestACallIsDeniedWithAReason(t *testing.T) {
	t.Parallel()
	e := newEcho(oneTool())
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": e.Server}})
	id := waitingID(t, d.call("", "s__merge", nil))
	done, failed := d.act("/approvals/deny", "id", strings.ToLower(id), "reason", " not on a Friday ")
	if !strings.HasPrefix(done, "denied "+id) || failed != "" {
		t.Errorf("%q, %q", done, failed)
	}
	wants(t, d.call("", "s__merge", nil), "a person denied this call (approval "+id+"): not on a Friday")
	_, failed = d.act("/approvals/allow", "id", id)
	wants(t, failed, "it is decided already: denied by local at ", ": not on a Friday")
	_, failed = d.act("/approvals/allow", "id", "2222")
	wants(t, failed, "there is no such approval")
	if e.count() != 0 {
		t.Error("a denied call ran")
	}
}

// Of two people who decide at the same time, one gets the decision of the other.
func TestTwoPeopleDecideAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	for range 5 {
		id := waitingID(t, d.call("", "s__merge", map[string]any{"text": time.Now().String()}))
		links := []string{d.link(), d.link()}
		outcomes := make(chan [2]string, len(links))
		var people sync.WaitGroup
		for i, action := range []string{"allow", "deny"} {
			people.Go(func() {
				done, failed := d.actAs(links[i], "/approvals/"+action, "id", id)
				outcomes <- [2]string{done, failed}
			})
		}
		people.Wait()
		close(outcomes)
		succeeded := 0
		for outcome := range outcomes {
			if outcome[0] != "" {
				succeeded++
			} else {
				wants(t, outcome[1], "it is decided already: ")
			}
		}
		if succeeded != 1 {
			t.Errorf("%d decisions counted", succeeded)
		}
	}
}

// An administrator decides only with the right to approve, under the own name, and never the own call.
func TestRightsOfAdministratorsToApprove(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{
		policy: approvedByOthers, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}, keys: true,
	})
	alice, lead, admin := d.key("alice"), d.key("lead", "lead"), d.key("admin", "admin")
	id := waitingID(t, d.call(alice, "s__merge", nil))
	if status, _ := d.request(alice, "/approvals", nil); status != http.StatusForbidden {
		t.Errorf("a caller without rights: status %d", status)
	}
	if status, _ := d.request(alice, "/approvals/allow", map[string][]string{"id": {id}}); status != http.StatusForbidden {
		t.Errorf("a caller without rights acts: status %d", status)
	}
	var got approvalsJSON
	d.showTo(admin, "/approvals", &got)
	if row := got.Waiting[0]; row.MayAllow || row.MayDeny || !strings.Contains(row.Refusal, `Action::"approve"`) {
		t.Errorf("an administrator without the right to approve: %+v", row)
	}
	for _, action := range []string{"allow", "deny"} {
		_, failed := d.actAs(admin, "/approvals/"+action, "id", id)
		wants(t, failed, "user:admin may not approve calls of this tool")
	}
	own := waitingID(t, d.call(lead, "s__merge", nil))
	got = approvalsJSON{}
	d.showTo(lead, "/approvals", &got)
	for _, row := range got.Waiting {
		if isOwn := row.ID == own; row.MayAllow == isOwn || isOwn != (row.Refusal != "") {
			t.Errorf("the lead may allow the call: %v: %+v", row.MayAllow, row)
		}
	}
	_, failed := d.actAs(lead, "/approvals/allow", "id", own)
	wants(t, failed, "another person than the caller has to decide")
	if done, failed := d.actAs(lead, "/approvals/allow", "id", id); done == "" {
		t.Errorf("the lead cannot approve: %s", failed)
	}
	item, err := d.control.Approvals.Item(t.Context(), id)
	if err != nil || item.By != "user:lead" || item.Channel != approval.ByPage {
		t.Errorf("%+v, %v", item, err)
	}
}

// Names, arguments and reasons of hostile servers and clients stay text, and their hidden characters are visible.
func TestHostileTextInApprovals(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "merge", Title: foreignMarkup, Description: foreignMarkup})
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": e.Server}})
	id := waitingID(t, d.call("", "s__merge", map[string]any{"text": foreignMarkup, "password": "hunter2hunter2"}))
	b := d.browse()
	text := b.open("/approvals")
	wants(t, text, `\u{202e}`, "&lt;script&gt;alert(1)")
	if strings.Contains(text, "hunter2") {
		t.Error("a secret is shown")
	}
	b.submit("/approvals/deny", "id", id, "reason", foreignMarkup)
	b.open("/approvals")
	b.submit("/approvals/deny", "id", foreignMarkup)
	b.submit("/approvals/deny", "id", id, "return", "page="+foreignMarkup)
}

// The approver of a call sees that the tool has changed, word by word.
func TestTheToolOfACallHasChanged(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "merge", Description: "Merges."})
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": e.Server}})
	waitingID(t, d.call("", "s__merge", nil))
	b := d.browse()
	if text := b.open("/approvals"); strings.Contains(text, "not the version that was approved") {
		t.Error("a tool that has not changed is shown as changed")
	}
	e.list(&mcp.Tool{Name: "merge", Description: "Merges and pushes."})
	d.awaitChanges(1)
	wants(t, b.open("/approvals"), "is live all the same since", "<del>Merges.</del><ins>Merges and pushes.</ins>")
	var got approvalsJSON
	d.show("/approvals", &got)
	if change := got.Waiting[0].Change; change == nil || len(change.Fields) == 0 {
		t.Errorf("%+v", got.Waiting[0])
	}
}

// A long list has pages, and the oldest past approvals are counted.
func TestManyApprovals(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	const many = 90
	for i := range many {
		_, _, err := d.control.Approvals.Require(t.Context(), approval.Item{
			Subject: approval.Subject{Server: "s", Tool: "merge", Client: strings.Repeat("x", i)}, Way: approval.Other,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	var got approvalsJSON
	for page := 1; page == 1 || page <= got.Pages; page++ {
		got = approvalsJSON{}
		d.show("/approvals?page="+string(rune('0'+page)), &got)
		for _, row := range got.Waiting {
			seen[row.ID] = true
		}
	}
	if len(seen) != many || got.Total != many || got.Pages != 4 {
		t.Errorf("%d approvals on %d pages, of %d", len(seen), got.Pages, got.Total)
	}
	wants(t, d.browse().open("/approvals?page=2"), `href="/approvals?page=1"`, `href="/approvals?page=3"`, "Page 2 of 4")
	for id := range seen {
		if _, err := d.control.Approvals.Decide(t.Context(), id, approval.Decision{Channel: approval.ByOperator}); err != nil {
			t.Fatal(err)
		}
	}
	got = approvalsJSON{}
	d.show("/approvals?page=99", &got)
	if len(got.Waiting) != 0 || len(got.Past) != 50 || got.Older != many-50 {
		t.Errorf("%d waiting, %d past, %d older", len(got.Waiting), len(got.Past), got.Older)
	}
}
