package ledger_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// The description of a server is kept after the run, in an archive, and beside an earlier text. Under another
// configuration it is unknown.
func TestADescriptionIsKept(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	servers := []config.Server{{ID: "fs"}}
	attach := func(servers []config.Server) *ledger.Attachment {
		a := ledger.Attach(t.Context(), ledger.Ledger{}, servers, &ledger.Options{
			Log:   ledger.Unsynced(open(t, path)),
			Mount: &interop.MountOptions{Wait: -1, FleetOptions: interop.FleetOptions{Restart: interop.Restart{Off: true}}},
		})
		t.Cleanup(a.Close)
		return a
	}
	description := func(a *ledger.Attachment) string {
		text, _ := a.Described("fs")
		return string(text)
	}
	a := attach(servers)
	if text, ok := a.Described("fs"); text != nil || !ok {
		t.Errorf("%s, %t", text, ok)
	}
	if _, ok := a.Described("other"); ok || a.Describe("other", []byte(`{}`)) {
		t.Error("there is no such server")
	}
	if a.Describe("fs", []byte(`"`+strings.Repeat("x", ledger.MaxDescription)+`"`)) {
		t.Error("it is too long")
	}
	for _, text := range []string{`{"n":1}`, `{"n":2}`} {
		if !a.Describe("fs", []byte(text)) || a.Describe("fs", []byte(text)) {
			t.Error(text, "is news once")
		}
	}
	a.Close()
	if a.Describe("fs", []byte(`{"n":3}`)) {
		t.Error("it is closed")
	}
	f := ledger.Archived(open(t, path), 1)
	appendTo(t, f, ledger.Entry{Op: ledger.Health})
	wantWhole(t, f, len(history(t, f)))
	if got := description(attach(servers)); got != `{"n":2}` {
		t.Error(got)
	}
	if got := description(attach([]config.Server{{ID: "fs", Transport: config.Stdio{Command: "other"}}})); got != "" {
		t.Error(got)
	}
}
