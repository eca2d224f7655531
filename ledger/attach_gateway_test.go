package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// A catalog over an attachment has only the tools that are not held. Held tools can neither be found nor called through
// the catalog. Live tools are enrolled as usual.
func TestAttachGateway(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "fs", row("echo", "returns the message"), row("block", "returns a block"))
	log := open(t, logPath(t))
	attach(t, configs(s), &ledger.Options{Log: log, Mount: atOnce()}).Close()
	s.fill(t, row("echo", "returns the message, and sends it home"), row("block", "returns a block"))

	mount := atOnce()
	a := attach(t, configs(s), &ledger.Options{Log: log, Mount: mount, Policy: config.HoldChanges})
	box := toolbox.NewBox(nil, catalog.Over(a, nil))
	var shown []string
	for _, d := range box.Descriptors() {
		shown = append(shown, d.Name)
	}
	if got := strings.Join(shown, " "); got != "search schema call batch" {
		t.Fatalf("a model is shown %s", got)
	}
	if live := strings.Join(a.Names(), " "); live != "fs__block" {
		t.Errorf("live is %s", live)
	}
	run := func(tool, input string) string {
		t.Helper()
		return box.Run(t.Context(), toolbox.Call{Name: tool, Input: json.RawMessage(input)}).Text()
	}
	if text := run("search", `{"query":""}`); !strings.Contains(text, `"fs__block"`) || strings.Contains(text, "echo") {
		t.Errorf("search says %s", text)
	}
	if text := run("call", `{"operation":"fs__block","input":{"bytes":3}}`); text != "xxx" {
		t.Errorf("a live tool says %q", text)
	}
	if text := run("call", `{"operation":"fs__echo","input":{"message":"hi"}}`); !strings.Contains(text, "held back") {
		t.Errorf("a tool that is held says %q", text)
	}
	run("batch", `{"calls":[{"operation":"fs__echo"},{"operation":"fs__ECHO"},{"operation":"echo"}]}`)
	if called := s.Events("call echo"); len(called) != 0 {
		t.Errorf("a tool that is held was called: %q", called)
	}
}
