package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/internal/testkit/picture"
)

var pictures = flag.String("pictures", "", "write pictures of the page to this directory, for docs/page.md")

const pageRules = `
@id("everything") permit(principal, action, resource);
@id("sums") @approve("other") @audit("arguments")
permit(principal, action == Action::"call", resource == Tool::"everything/get-sum");
@id("files") @approve("other")
permit(principal, action == Action::"call", resource) when {
  resource == Tool::"fs/write_file" || resource == Tool::"fs/edit_file" };
@id("commands") @approve("other")
permit(principal, action == Action::"call", resource == Tool::"work/run");`

// brokenRules are mistakes in the style sheet, by the section where the comparison of pictures finds them.
var brokenRules = map[string]string{
	"/":      ".card { padding: 0; margin-right: -60px }",
	"/calls": "tr, td, tbody th { display: block }",
}

// TestThePageInABrowser uses the page with 11 servers and 280 tools, most of them with hostile texts, and with 53 servers under
// INDUS_SOAK. It compares each section with its golden pictures.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	hostile := peers.Hostile(t)
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "hello.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	everything, everythingArgs := peers.Everything(t, "stdio")
	fs, fsArgs := peers.Filesystem(t, files)
	rows := map[string]any{
		"everything": row{everything, everythingArgs, nil}, "fs": row{fs, fsArgs, nil},
		"work":    map[string]any{"command": peers.Node(t), "args": []string{peers.File(t, "work.mjs")}, "changes": "hold"},
		"gone":    row{"/opt/mcp/bin/postgres-mcp", []string{"--dsn", "postgres://db.internal/app"}, nil},
		"tracker": map[string]string{"url": signInNeeded(t)},
	}
	hostiles := fixture.Size(t, 6, 48)
	if *pictures != "" {
		hostiles = 0
	}
	for i := range hostiles {
		rows[fmt.Sprintf("h%d", i)] = map[string]string{"url": fmt.Sprintf("%s/%d", hostile, i)}
	}
	policy := filepath.Join(files, "policy.cedar")
	if err := os.WriteFile(policy, []byte(pageRules), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"servers": rows, "policy": policy, "audit": filepath.Join(files, "audit.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	url, p, _ := serveFile(t, string(text), "everything", "fs", "work")
	seen := t.TempDir()
	if err := os.Mkdir(filepath.Join(seen, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	peers.Page(t, map[string]any{
		"site": strings.TrimSuffix(url, "/mcp"), "link": p.waitFor(&p.err, `for one use: (\S+)\n`), "shots": *pictures,
		"pictures": seen, "dir": os.TempDir(), "broken": brokenRules, "clients": fixture.Size(t, 50, 500),
	})
	if *pictures != "" {
		return
	}
	out := filepath.Join(os.TempDir(), "indus-page-pictures")
	picture.Check(t, seen, filepath.Join("testdata", "page"), out, *update)
	for path := range brokenRules {
		name := cmp.Or(path[1:], "overview") + "-390-light.png"
		broken := picture.Shrink(picture.Open(t, filepath.Join(seen, "broken", name)))
		parts, _ := picture.Compare(broken, picture.Open(t, filepath.Join("testdata", "page", name)))
		if t.Logf("broken %s: %d of 1000 parts differ", name, parts); parts <= picture.MaxParts {
			t.Errorf("the comparison does not find that %s is broken by %s", name, brokenRules[path])
		}
	}
}

// signInNeeded returns the URL of a server that answers no request without a sign-in.
func signInNeeded(t *testing.T) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}
