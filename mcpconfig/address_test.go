package mcpconfig_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
)

// No part of a URL that decides its host, its data or a command can be made to look
// like a secret.
func TestTargetOfAURL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct{ url, want string }{
		{"https://h/mcp", "https://h/mcp"},
		{"https://h/@scope/mcp", "https://h/@scope/mcp"},
		{" https://u:p@h?k=v#f", `" https://…@h?…"`},
		{"https://h/mcp?", "https://h/mcp?…"},
		{"//u:p@h/", "//…@h/"},
		{"u:p@h/mcp", "…@h/mcp"},
		{"https://u:p@w@h/", "https://…@h/"},
		{"https://u:p/w@h/", "https://…"},
		{"1u:p@h/", "…"},
		{"https://u:${PASS}@h/", "https://u:${PASS}@h/"},
		{"${BASE:-https://u:p@h}/mcp", "${BASE:-https://…@h}/mcp"},
		{"https://h/${NEXT:-https://u:p@h/}", "https://h/${NEXT:-https://…@h/}"},
		{"${BASE}/mcp?k=v", "${BASE}/mcp?…"},
		{"https://h/?k=${TOKEN:-t}&v=a", "https://h/?…${TOKEN:-…}…"},
		{"https://h/#${A:-${B:-c}}", "https://h/#…${A:-${B:-…}}"},
		{"https://h/$${A}?k", "https://h/$${A}?…"},

		// These URLs lead to the host evil if the variables have the values that the
		// author of the file expects.
		{"https://${USER:-good/?}.evil/", "https://${USER:-good/?…}.evil/"},
		{"https://evil${X:-/}@good/", "https://evil${X:-/}@good/"},
		{"https://evil${HOME}@good/", "https://evil${HOME}@good/"},
		{"https://evil:${PORT:-443}/@", "https://evil:${PORT:-443}/@"},
		{"https://evil${X:-#}@good/", "https://evil${X:-#…}@good/"},
		// These URLs run evil.
		{"https://${cmd:echo h #; evil}/", `"https://${cmd:echo h #; evil}/"`},
		{"https://u:${cmd:evil}@h/", "https://u:${cmd:evil}@h/"},
		{"https://h/?${cmd:echo {}; evil}", `"https://h/?…${cmd:echo {}; evil}"`},
		{"https://h/#${A:-?${cmd:evil}}", "https://h/#…${A:-…${cmd:evil}}"},
		{"https://h/${file:?}", "https://h/${file:?}"},
	} {
		quoted, err := json.Marshal(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		c := readDry(t, dir, fmt.Sprintf(`{"servers": {"a": {"url": %s}}}`, quoted))
		if got := c.Rows[0].Target; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.url, got, tt.want)
		}
	}
}

// FuzzTarget shows any URL. The shown text leads to the same host as the URL for
// every value of the variables, and names every command that runs for it.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"https://u:p@h:1/a?b#c", "https://evil${A:-/}@good/", "https://${A:-good/?}.evil/", "${A:-https://u@h}${BB}", "//u@h", "https://[::1]/",
		"https://${cmd:a {} #}/${file:b}", "https://evil:${A:-443}/@", "https://h/$${A}?${BB:-${cmd:c}}", "https:${A:-//}u@h", "a@${A}@b/",
	} {
		for _, value := range []string{"", "/", "x@", "h#", "a/b"} {
			f.Add(s, value)
		}
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		env := func(name string) (string, bool) { return value, len(name)%2 == 1 }
		full, wants, wrong := mcpconfig.Expand(text, env, func(mcpconfig.Fetch) string { return value })
		if wrong != "" || strings.Contains(text, "…") {
			return
		}
		shown := secret.Target(text)
		for _, w := range wants {
			if w.Kind == "cmd" && !strings.Contains(shown, "${cmd:"+w.What+"}") {
				t.Fatalf("%q runs %q, and shows %q", text, w.What, shown)
			}
		}
		want, err := url.Parse(strings.TrimSpace(full))
		if err != nil || want.Scheme != "http" && want.Scheme != "https" || want.Host == "" {
			return // the URL is never called
		}
		again, _, wrong := mcpconfig.Expand(strings.ReplaceAll(shown, "…", "x"), env, func(mcpconfig.Fetch) string { return value })
		got, err := url.Parse(strings.TrimSpace(again))
		if wrong != "" || err != nil || got.Host != want.Host {
			t.Fatalf("%q leads to %s, and shows %q (%s, %v)", text, want.Host, shown, wrong, err)
		}
	})
}
