package policy_test

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/internal/uris"
)

// notInJavaScript lists hosts that only JavaScript refuses: it decodes Punycode. Such a host has no server.
var notInJavaScript = []string{"xn--a.example", "xn--.example"}

// A URI that the policy accepts has one reading: the parsers of JavaScript, Go and Python keep it, and find the same
// scheme, host and path in it. testdata/uris.json has spellings, with the reading of Python's urlsplit.
func TestAURIHasOneReadingOrNone(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/uris.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		URI    string
		Python []string
	}
	if err := json.Unmarshal(raw, &table); err != nil || len(table) < 200 {
		t.Fatal(len(table), err)
	}
	cmd := exec.CommandContext(t.Context(), peers.Node(t), "-e", `
		const all = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(JSON.stringify(all.map(({uri}) => { try {
			const u = new URL(uri); return [u.href, u.protocol.slice(0, -1), u.hostname, u.pathname];
		} catch { return null; } })));`)
	cmd.Stdin = strings.NewReader(string(raw))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var node [][]string
	if err := json.Unmarshal(out, &node); err != nil || len(node) != len(table) {
		t.Fatal(err)
	}
	accepted := 0
	for i, row := range table {
		canonical, err := uris.Canonical(row.URI)
		if err != nil || canonical != row.URI || !uris.IsSpecial(row.URI) {
			continue
		}
		accepted++
		u, err := url.Parse(row.URI)
		if err != nil || u.String() != row.URI {
			t.Errorf("%q: Go reads %v, %v", row.URI, u, err)
			continue
		}
		if node[i] == nil {
			if !slices.Contains(notInJavaScript, u.Hostname()) {
				t.Errorf("%q: JavaScript reads no URL", row.URI)
			}
			continue
		}
		if node[i][0] != row.URI {
			t.Errorf("%q: JavaScript reads %q", row.URI, node[i])
			continue
		}
		host := strings.Trim(node[i][2], "[]")
		want := []string{node[i][1], host, node[i][3]}
		if diff := cmp.Diff(want, []string{u.Scheme, u.Hostname(), u.EscapedPath()}); diff != "" {
			t.Errorf("%q: Go and JavaScript differ: %s", row.URI, diff)
		}
		if diff := cmp.Diff(want, row.Python); diff != "" {
			t.Errorf("%q: Python and JavaScript differ: %s", row.URI, diff)
		}
	}
	if accepted < 30 {
		t.Errorf("only %d spellings are accepted", accepted)
	}
}

// Other spellings of a resource do not pass a rule for it.
func TestOtherSpellingsOfASpecialURIAreRefused(t *testing.T) {
	t.Parallel()
	s := parse(t, `permit(principal, action, resource);
		forbid(principal, action, resource == Resource::"a/file:///srv/secret.txt");
		forbid(principal, action, resource is Resource) when { resource has host && resource.host == "intranet.example" };`)
	for _, uri := range []string{
		"file:/srv/secret.txt", "file:srv/secret.txt", "file://localhost/srv/secret.txt", "file://u@/srv/secret.txt",
		"file://any/srv/secret.txt", "file:///srv/secret.txt#f", "file:///srv/secret.txt?", "file:///srv/secret.txt?x",
		"https:intranet.example/secret", "https:/intranet.example/secret", "https:///intranet.example/secret",
		"https://@intranet.example/secret", "https://:@intranet.example/secret", "https:intranet.example:443/secret",
		"https://intranet.example/secret?", "wss:intranet.example/secret", "HTTPS:\\\\intranet.example\\secret",
	} {
		r := call("alice", "", "", "")
		r.Action, r.Item = policy.Read, policy.Item{Kind: policy.Resource, Server: "a", Name: uri}
		if s.Decide(r).Allowed {
			t.Errorf("%s is allowed", uri)
		}
	}
}
