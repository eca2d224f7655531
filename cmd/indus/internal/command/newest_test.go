package command_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
)

// TestNewestVersion checks that only a redirect to the page of a release names a version, and that hostile answers are
// neither read beyond a bound nor shown as they are.
func TestNewestVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status         int
		location, body string
		want, fails    string
	}{
		"release":       {status: 302, location: "HERE/tag/v1.20.3", want: "v1.20.3"},
		"prerelease":    {status: 302, location: "HERE/tag/v2.0.0-rc.1", want: "v2.0.0-rc.1"},
		"no release":    {status: 302, location: "HERE", fails: "names no release"},
		"missing":       {status: 404, fails: "answers 404"},
		"no redirect":   {status: 200, location: "HERE/tag/v1.0.0", fails: "answers 200"},
		"another host":  {status: 302, location: "https://example.com/tag/v1.0.0", fails: "names no release"},
		"longer path":   {status: 302, location: "HERE/tag/v1.0.0/../../x", fails: "names no release"},
		"control":       {status: 302, location: "HERE/tag/v1.0.0\t\u202e\u009b31m", fails: "names no release"},
		"long":          {status: 302, location: "HERE/tag/v1.0.0-" + strings.Repeat("a", 2000), fails: "names no release"},
		"huge header":   {status: 302, location: "HERE/tag/v1.0.0-" + strings.Repeat("a", 1<<20), fails: "not known"},
		"huge body":     {status: 302, location: "HERE/tag/v1.0.0", body: strings.Repeat("a", 1<<24), want: "v1.0.0"},
		"a long number": {status: 302, location: "HERE/tag/v1.0.9999999999", fails: "names no release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var here *httptest.Server
			here = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/latest" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.Header().Set("Location", strings.Replace(c.location, "HERE", here.URL, 1))
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer here.Close()
			got, err := command.NewestVersion(t.Context(), here.URL)
			if got != c.want || (err == nil) != (c.fails == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err == nil {
				return
			}
			if text := err.Error(); !strings.Contains(text, c.fails) || len(text) > 600 ||
				strings.ContainsAny(text, "\t\n\u202e\u009b") || command.ExitCode(err) != command.ExitUnreachable {
				t.Errorf("exit code %d: %q", command.ExitCode(err), text)
			}
		})
	}
}
