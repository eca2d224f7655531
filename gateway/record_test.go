package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorded returns a log in a new file, and a function that reads it.
func recorded(t testing.TB) (*audit.Log, func() []audit.Record) {
	t.Helper()
	file := t.TempDir() + "/audit.jsonl"
	log, err := audit.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log, func() (all []audit.Record) {
		t.Helper()
		_, err := audit.Read(t.Context(), file, &audit.Filter{}, func(r *audit.Record) error {
			if strings.HasPrefix(r.Type, "mcp.") {
				all = append(all, *r)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		report, err := audit.Verify(t.Context(), file)
		if err != nil || len(report.Damage) > 0 {
			t.Errorf("%v %v", report, err)
		}
		return all
	}
}

// Each request has one record before it is answered, and each call within a batch has one.
func TestEveryRequestHasItsRecord(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			log, read := recorded(t)
			book := approvals(t, t.TempDir()+"/approvals.json", time.Minute)
			g, _ := controlled(t, control.Options{Audit: log, Approvals: book}, opened+`
				@id("write") @audit("arguments,result") @approve("other")
				permit(principal, action == Action::"call", resource == Tool::"b/open");`)
			c := dial(t, g, "/mcp", era)
			last := func(want string) {
				t.Helper()
				all := read()
				r := all[len(all)-1]
				got := fmt.Sprint(r.Type, " ", r.Server, " ", r.Tool, r.Target, " ", r.Outcome, " ", r.ErrorKind)
				if strings.TrimSpace(got) != want {
					t.Errorf("recorded %q, want %q", strings.TrimSpace(got), want)
				}
				if r.Era != string(era) || r.Client != "test" || r.Duration <= 0 || r.Hash == "" {
					t.Errorf("%+v", r)
				}
			}
			_, _ = c.ListTools(t.Context(), nil)
			last("mcp.tools.list   allowed")
			_, _ = c.CallTool(t.Context(), call("a__open"))
			last("mcp.tools.call a open allowed")
			_, _ = c.CallTool(t.Context(), call("a__secret"))
			last("mcp.tools.call a secret denied")
			_, _ = c.CallTool(t.Context(), call("b__open"))
			last("mcp.tools.call b open deferred")
			all := read()
			if r := all[len(all)-1]; string(r.Arguments) != `{"path":"p"}` || !slices.Equal(r.Policies, []string{"write"}) ||
				r.Approval == "" || !strings.HasPrefix(r.ArgumentDigest, "sha256:") {
				t.Errorf("%+v", r)
			}
			_, _ = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a__open"})
			last("mcp.prompts.get a open allowed")
			_, _ = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://open/x"})
			last("mcp.resources.read a a://open/x allowed")
			_, _ = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "a://secret/x"})
			if all := read(); all[len(all)-1].Method != "resources/read" || all[len(all)-1].Outcome == audit.Allowed {
				t.Errorf("%+v", all[len(all)-1])
			}
			before := len(read())
			catalogued := dial(t, g, "/mcp/@catalog", era)
			_, _ = catalogued.CallTool(t.Context(), &mcp.CallToolParams{Name: "batch", Arguments: map[string]any{"calls": []any{
				map[string]any{"operation": "a__open", "input": map[string]any{"path": "1"}},
				map[string]any{"operation": "a__open", "input": map[string]any{"path": "2"}},
				map[string]any{"operation": "a__secret", "input": map[string]any{"path": "3"}},
			}}})
			if n := len(read()) - before; n != 3 {
				t.Errorf("a batch of three calls has %d records", n)
			}
		})
	}
}

// Answered calls are recorded under load, once each.
func TestCallsAreRecordedUnderLoad(t *testing.T) {
	t.Parallel()
	const each = 20
	clients := fixture.Size(t, 10, 50)
	log, read := recorded(t)
	g, offices := controlled(t, control.Options{Audit: log}, "")
	var running sync.WaitGroup
	for i := range clients {
		c := dial(t, g, "/mcp", bothEras[i%2])
		running.Go(func() {
			for range each {
				if _, err := c.CallTool(t.Context(), call("a__open")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	n := 0
	for _, r := range read() {
		if r.Tool == "open" && r.Outcome == audit.Allowed {
			n++
		}
	}
	if calls := offices["a"].calls.Load(); calls != int64(clients*each) || n != clients*each {
		t.Errorf("%d calls and %d records, want %d", calls, n, clients*each)
	}
}

// If nothing can be recorded, nothing is served.
func TestNothingIsServedWithoutARecord(t *testing.T) {
	t.Parallel()
	log, _ := recorded(t)
	g, offices := controlled(t, control.Options{Audit: log}, "")
	c := dial(t, g, "/mcp", interop.Modern)
	if _, err := c.CallTool(t.Context(), call("a__open")); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	for range 3 {
		if _, err := c.CallTool(t.Context(), call("a__open")); err == nil || !strings.Contains(err.Error(), "cannot be recorded") {
			t.Error(err)
		}
	}
	if n := offices["a"].calls.Load(); n > 2 {
		t.Errorf("%d calls ran without a record", n-1)
	}
}
