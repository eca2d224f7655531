package oauth

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChallengeOf(t *testing.T) {
	for header, want := range map[string]challenge{
		"":       {},
		"Bearer": {},
		`Bearer resource_metadata="https://x/y", scope="a  b a", error="insufficient_scope"`: {"https://x/y", []string{"a", "b"}, "insufficient_scope", false},
		`Basic realm="r", bearer SCOPE="a"`:                                                  {"", []string{"a"}, "", false},
		`Basic realm="r", DPoP algs="ES256"`:                                                 {noBearer: true},
		`DPoP algs="ES256", Bearer resource_metadata=https://x/y`:                            {"https://x/y", nil, "", false},
		`Bearer scope="a \"quoted\" b", error="x"`:                                           {"", []string{"a", "b"}, "x", false},
		`Bearer scope="unclosed`:                                                             {},
		`Bearer scope="a"` + strings.Repeat(`, x="y"`, maxChallenge/7):                       {}, // more than is read
		`Bearer scope="` + strings.Repeat("s", maxScope+1) + ` é b"`:                         {"", []string{"b"}, "", false},
		`Bearer scope="` + strings.Join(make([]string, maxScopes), "a ") + `last"`:           {"", []string{"a", "last"}, "", false},
	} {
		if diff := cmp.Diff(want, parseChallenge(http.Header{"Www-Authenticate": {header}}), cmp.AllowUnexported(challenge{})); diff != "" {
			t.Errorf("%.80s: %s", header, diff)
		}
	}
}

func FuzzChallengeOf(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://x/y", scope="a b"`)
	f.Fuzz(func(t *testing.T, header string) {
		for _, s := range parseChallenge(http.Header{"Www-Authenticate": {header}}).scopes {
			if !isScope(s) {
				t.Errorf("%q is no scope", s)
			}
		}
	})
}
