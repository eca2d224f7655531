package gateway_test

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/gateway"
)

// The record of a tool that is hidden from the caller has its server, its own name and the rule, at each view.
func TestTheRecordOfAHiddenTool(t *testing.T) {
	t.Parallel()
	for _, view := range []string{"/mcp", "/mcp/a", "/mcp/@all"} {
		log, read := recorded(t)
		g, _ := controlled(t, gateway.Control{Audit: log}, `permit(principal, action, resource);
			@id("no") forbid(principal, action, resource == Tool::"a/secret");`)
		prefix := map[bool]string{true: "", false: "a__"}[view == "/mcp/a"]
		c := dial(t, g, view, bothEras[0])
		_, _ = c.ListTools(t.Context(), nil)
		last := func(want string) {
			t.Helper()
			all := read()
			r := all[len(all)-1]
			if got := fmt.Sprint(r.Server, "/", r.Tool, r.Target, " ", r.Outcome, " ", r.Policies); got != want {
				t.Errorf("%s: recorded %q, want %q", view, got, want)
			}
		}
		_, _ = c.CallTool(t.Context(), call(prefix+"secret"))
		last("a/secret denied [no]")
	}
}
