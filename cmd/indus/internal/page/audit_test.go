package page_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/control/audit"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// auditJSON is the JSON of "/audit".
type auditJSON struct {
	Recorded, Stopped bool
	Records           []struct {
		Principal  string `json:"principal_id"`
		Type       string `json:"event_type"`
		Tool       string `json:"tool_name"`
		Outcome    string
		Extensions struct{ Indus struct{ Approval string } }
	}
	Next         uint64
	Damaged      int
	Verification *struct {
		Whole   bool
		Records int
	}
}

func (a *auditJSON) tools() (tools []string) {
	for _, r := range a.Records {
		tools = append(tools, r.Tool)
	}
	return tools
}

// Calls are found by their filters, the newest first, and an action on the page is a record too.
func TestCallsAreFoundInTheAudit(t *testing.T) {
	t.Parallel()
	e := newEcho(&mcp.Tool{Name: "one"}, &mcp.Tool{Name: "two"})
	d := newDesk(t, deskOptions{audit: true, servers: map[string]*mcp.Server{"s": e.Server}, policy: `
@audit("arguments")
permit(principal, action, resource) unless { resource == Tool::"s/two" };
permit(principal == User::"x", action == Action::"call", resource);`})
	d.call("", "s__one", map[string]any{"text": "needle"})
	d.call("", "s__two", nil)
	d.act("/approvals/allow", "id", "2222")
	var got auditJSON
	d.show("/audit?tool=one", &got)
	if !got.Recorded || len(got.Records) != 1 || got.Records[0].Outcome != "allowed" || got.Records[0].Principal != "local" {
		t.Errorf("%+v", got)
	}
	for query, want := range map[string]string{
		"text=NEEDLE": "one", "outcome=denied": "two", "server=s&outcome=allowed": "one", "tool=none": "", "since=1h&tool=one": "one",
		"until=1h": "", "principal=user:bob": "",
	} {
		got = auditJSON{}
		d.show("/audit?"+query, &got)
		if tools := strings.Join(got.tools(), ","); tools != want {
			t.Errorf("%s: %q, want %q", query, tools, want)
		}
	}
	got = auditJSON{}
	d.show("/audit", &got)
	if r := got.Records[0]; r.Type != "indus.page.approvals.allow" || r.Outcome != "error" {
		t.Errorf("the newest record is %+v", r)
	}
	b := d.browse()
	wants(t, b.open("/audit?text=needle"), "tools/call s/one", `<span class="good">allowed</span>`, "needle", `value="needle"`,
		"Arguments:")
	for query, want := range map[string]string{
		"outcome=maybe": "the outcome &#34;maybe&#34; is unknown", "since=yesterday": "is no time",
	} {
		wants(t, b.open("/audit?"+query), want)
		if status, text := d.request(d.link(), "/audit?"+query, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d: %s", query, status, text)
		}
	}
}

// A long log has pages, which a cursor connects without a gap.
func TestALongAuditHasPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{audit: true})
	const many = 450
	for i := range many {
		if err := d.control.Audit.Append(&audit.Record{Type: "mcp.tools.call", Tool: fmt.Sprint(i), Outcome: audit.Allowed}); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	pages, next := 0, "/audit?outcome=allowed"
	for next != "" {
		var got auditJSON
		d.show(next, &got)
		pages++
		for _, r := range got.Records {
			if r.Tool != "" { // a call
				all = append(all, r.Tool)
			}
		}
		next = ""
		if got.Next > 0 {
			next = fmt.Sprintf("/audit?outcome=allowed&before=%d", got.Next)
		}
	}
	if len(all) != many || pages != 5 {
		t.Fatalf("%d records on %d pages", len(all), pages)
	}
	for i, tool := range all {
		if tool != fmt.Sprint(many-1-i) {
			t.Fatalf("record %d is %s", i, tool)
		}
	}
	b := d.browse()
	wants(t, b.open("/audit?outcome=allowed"), "Older records", `href="/audit?before=`, "&amp;outcome=allowed")
}

// A search ends when its time is over, and goes on at the same place.
func TestASearchGoesOn(t *testing.T) { // not parallel: it sets the time of all searches
	before := page.SetSearchWait(time.Nanosecond)
	defer page.SetSearchWait(before)
	d := newDesk(t, deskOptions{audit: true})
	for i := range 20 {
		if err := d.control.Audit.Append(&audit.Record{Type: "mcp.tools.call", Tool: fmt.Sprint(i), Outcome: audit.Allowed}); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, d.browse().open("/audit?tool=0"), "The search has ended before all records were read.", "Search on in older records")
	var got auditJSON
	d.show("/audit?tool=0", &got)
	if !got.Stopped || got.Next == 0 || len(got.Records) > 0 {
		t.Fatalf("%+v", got)
	}
	searches := 1
	for ; got.Next > 0 && len(got.Records) == 0; searches++ {
		next := got.Next
		got = auditJSON{}
		d.show(fmt.Sprintf("/audit?tool=0&before=%d", next), &got)
		if got.Next >= next {
			t.Fatalf("the search goes on before %d, after %d", got.Next, next)
		}
	}
	if len(got.Records) != 1 || searches < 2 {
		t.Errorf("%+v after %d searches", got, searches)
	}
}

// The check finds an altered record.
func TestTheAuditIsVerified(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{audit: true, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}})
	d.call("", "s__merge", map[string]any{"text": "x"})
	verify := func() (got auditJSON) {
		status, text := d.request(d.link(), "/audit/verify", map[string][]string{})
		if err := json.Unmarshal(text, &got); err != nil || status != http.StatusOK || got.Verification == nil {
			t.Fatalf("status %d: %s", status, text)
		}
		return got
	}
	if got := verify(); !got.Verification.Whole || got.Verification.Records == 0 {
		t.Errorf("%+v", got.Verification)
	}
	b := d.browse()
	wants(t, b.submit("/audit/verify"), "Every record is as it was written.", "as they were written", "head ")
	text, err := os.ReadFile(d.auditPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.auditPath(), bytes.Replace(text, []byte(`"merge"`), []byte(`"mergE"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got.Verification.Whole {
		t.Errorf("%+v", got.Verification)
	}
	wants(t, b.submit("/audit/verify"), "Some records are not as they were written.", "altered")
	wants(t, b.open("/audit"), "1 line cannot be read.")
}

// Without an audit, the page names the setting. Only the operator and administrators see records.
func TestAMissingAuditAndRights(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{})
	var got auditJSON
	d.show("/audit", &got)
	if got.Recorded || got.Records == nil {
		t.Errorf("%+v", got)
	}
	wants(t, d.browse().open("/audit"), "Requests are not recorded")
	_, failed := d.act("/audit/verify")
	wants(t, failed, "requests are not recorded")

	d = newDesk(t, deskOptions{audit: true, keys: true})
	alice, admin := d.key("alice"), d.key("root", "admin")
	if status, _ := d.request(alice, "/audit", nil); status != http.StatusForbidden {
		t.Errorf("a caller: status %d", status)
	}
	if status, _ := d.request(alice, "/audit/verify", map[string][]string{}); status != http.StatusForbidden {
		t.Errorf("a caller verifies: status %d", status)
	}
	d.showTo(admin, "/audit", &got)
}

// Texts of hostile callers stay text, in records and in the form.
func TestHostileTextInTheAudit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{audit: true, servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server}, policy: `
@audit("arguments,result")
permit(principal, action, resource);`})
	d.call("", "s__merge", map[string]any{"text": foreignMarkup})
	d.call("", foreignMarkup, nil)
	err := d.control.Audit.Append(&audit.Record{
		Type: "mcp.tools.call", Tool: foreignMarkup, Principal: foreignMarkup, Outcome: audit.Denied, Server: foreignMarkup,
		Client: foreignMarkup, Reason: foreignMarkup, ErrorKind: foreignMarkup, Policies: []string{foreignMarkup},
		Approval: foreignMarkup, Approver: foreignMarkup, Arguments: json.RawMessage(`{"a":"<b>"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	b := d.browse()
	wants(t, b.open("/audit"), `\u{202e}`, `\u{1b}`, "&lt;script&gt;alert(1)")
	b.open("/audit?text=%3Cscript%3Ealert(1)%3C/script%3E&tool=%22%3E%3Cimg%20src=x%3E&before=%3Cimg%3E")
}

// A tab gets an event for each new record, and for each new policy. Pages of older records, which do not change, and an
// explanation, which is the answer to a form, are not live.
func TestPolicyAndAuditAreLive(t *testing.T) {
	t.Parallel()
	d := newDesk(t, deskOptions{
		audit: true, policy: "permit(principal, action, resource);",
		servers: map[string]*mcp.Server{"s": newEcho(oneTool()).Server},
	})
	b := d.browse()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.web.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	await := func(topic string) {
		t.Helper()
		for lines.Scan() {
			data, isData := strings.CutPrefix(lines.Text(), "data: ")
			if isData && slices.Contains(strings.Fields(data), topic) {
				return
			}
		}
		t.Fatal("no event", topic, lines.Err())
	}
	lines.Scan() // the stream is open
	d.call("", "s__read", nil)
	await("audit")
	d.onPolicy.Notify()
	await("policy")
	wants(t, b.open("/audit"), `data-live="audit"`)
	wants(t, b.open("/policy"), `id="policy-rules" data-live="policy"`)
	for _, text := range []string{
		b.open("/audit?before=2"), b.submit("/policy/explain", "item", "s/read", "action", "call", "as", "local"),
	} {
		if _, content, _ := strings.Cut(text, "<main"); content == "" || strings.Contains(content, "data-live") {
			t.Error(text)
		}
	}
}
