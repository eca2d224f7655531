package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
)

var pictures = flag.String("pictures", "", "write pictures of the page to this directory, for docs/page.md")

const pageRules = `
@id("everything") permit(principal, action, resource);
@id("sums") @approve("other") @audit("arguments")
permit(principal, action == Action::"call", resource == Tool::"everything/get-sum");`

// TestThePageInABrowser uses the page with 50 servers and 2,000 tools, most of them with hostile texts.
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
	}
	hostiles := 48
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
	url, p, _ := serveFile(t, string(text), "everything", "fs")
	link := p.waitFor(&p.err, `for one use: (\S+)\n`)
	peers.Page(t, strings.TrimSuffix(url, "/mcp"), link, *pictures)
}
