package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
)

// TestThePolicyOnThePageIsCurrent checks what the page knows of the policy: the first one, broken ones, and the end of
// each problem. A policy that was broken when the configuration named it is read once its file is corrected.
func TestThePolicyOnThePageIsCurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		at = at.Add(time.Second)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	const rule = "permit(principal, action, resource);"
	write("servers.json", `{"servers": {}}`)
	var told strings.Builder
	f, g, err := serve.Follow(t.Context(), filepath.Join(dir, "servers.json"), &told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	notified := 0
	f.WatchPolicy(func() { notified++ })
	for i, step := range []struct {
		file, text string
		rules      int
		problem    string
	}{
		{"policy.cedar", "permit(", -1, ""}, // no file names it
		{"servers.json", `{"servers": {}, "policy": "policy.cedar"}`, -1, "policy.cedar:1"},
		{"policy.cedar", rule, 1, ""},
		{"policy.cedar", "permit(", 1, "policy.cedar:1"},
		{"policy.cedar", rule, 1, ""}, // as before
		{"servers.json", `{"servers": {}, "policy": "other.cedar"}`, 1, "other.cedar"},
		{"servers.json", `{"servers": {}, "policy": "policy.cedar"}`, 1, ""},
		{"servers.json", `{"servers": {}}`, -1, ""},
	} {
		write(step.file, step.text)
		before := notified
		for range 3 {
			f.Look(t.Context())
		}
		rules, problem := f.Policy()
		text := ""
		if problem != nil {
			text = problem.Error()
		}
		if rules != step.rules || !strings.Contains(text, step.problem) || (text == "") != (step.problem == "") {
			t.Errorf("%+v: %d rules, %q, after:\n%s", step, rules, text, told.String())
		}
		if notified == before && i > 0 {
			t.Errorf("%+v: the page is not notified", step)
		}
	}
}
