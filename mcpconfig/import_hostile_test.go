package mcpconfig_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/mcpconfig"
)

// TestImportHuge reads files of the largest allowed size that are made to take long. The good
// row is read in all of them.
func TestImportHuge(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	const size = 32 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var keys, rows strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&keys, `, "k%d": 1`, i)
		fmt.Fprintf(&rows, `, "r%d": {}`, i)
	}
	for name, bad := range map[string]string{
		"opened":    `{"command": "x", "args": ["` + fill("${") + `"]}`,
		"closed":    `{"command": "x", "args": ["` + fill("${") + `}"]}`,
		"defaults":  `{"command": "x", "args": ["` + fill("${A:-") + `}"]}`,
		"commands":  `{"command": "x", "args": ["` + fill("$(") + `)"]}`,
		"variables": `{"command": "x", "args": ["` + fill("${A}") + `"]}`,
		"dollars":   `{"command": "x", "args": ["` + fill("$") + `"]}`,
		"percents":  `{"command": "x", "args": ["` + fill("%A") + `"]}`,
		"keys":      `{"command": "x"` + keys.String() + `}`,
		"rows":      `{}` + rows.String(),
	} {
		for client, top := range map[string]string{"gemini-cli": "mcpServers", "vscode": "servers", "crush": "mcp", "cursor": "mcpServers", "indus": "servers"} {
			path := filepath.Join(dir, "huge.json")
			write(t, path, `{"`+top+`": {"good": {"command": "good", "type": "stdio"}, "bad": `+bad+`}}`)
			got, err := mcpconfig.Import(path, client, o)
			if err != nil {
				t.Fatal(name, client, err)
			}
			if len(got.Definitions) == 0 || got.Definitions[0].ID != "good" {
				t.Errorf("%s: %s: the good row is lost: %v", name, client, got.Notes)
			}
			if len(got.Notes) > 2500 {
				t.Errorf("%s: %s: %d notes", name, client, len(got.Notes))
			}
		}
	}
	var variables, inputs, clash strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&variables, `"V%d", `, i)
		inputs.WriteString(`{"id": "a"},`)
		fmt.Fprintf(&clash, `{"id": "%c"},`, 0x4e00+i%20_000)
	}
	for name, text := range map[string]string{
		"many.toml": "[mcp_servers.good]\ncommand = \"good\"\nenv_vars = [" + variables.String() + "]\n",
		"same.json": `{"inputs": [` + inputs.String() + `], "servers": {"good": {"command": "good"}}}`,
		"near.json": `{"inputs": [` + clash.String() + `], "servers": {"good": {"command": "good"}}}`,
		"list.json": `{"mcpServers": {"good": {"command": "good", "trust": true}}, ` + strings.Repeat(`"mcpServers": 1, `, 30_000) + strings.Repeat(`"": 1, `, 60_000) + `}`,
	} {
		path := filepath.Join(dir, name)
		write(t, path, text)
		got, err := mcpconfig.Import(path, "", o)
		if err != nil || name != "list.json" && len(got.Definitions) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImportLarge reads files of up to 16 MiB, in which a client keeps years of other data
// beside its servers. That data must not fill the memory.
func TestImportLarge(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: lookup(nil)}
	beside := func(what string) string {
		return `{"history": [` + what + `], "mcpServers": {"good": {"command": "good"}}}`
	}
	for name, c := range map[string]struct{ text, want string }{
		"years.json":  {beside(`"` + strings.Repeat("you: a, b, {c}; ", 10<<16) + `"`), ""},
		"years.toml":  {"history = '" + strings.Repeat("-", 1<<20) + "'\n", "larger than 1 MiB"},
		"dense.json":  {beside(strings.Repeat("1,", 1<<20) + "1"), "has more than 500000 values"},
		"larger.json": {beside(`"` + strings.Repeat("-", 16<<20) + `"`), "larger than 16 MiB"},
	} {
		path := filepath.Join(dir, name)
		write(t, path, c.text)
		got, err := mcpconfig.Import(path, "", o)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		case c.want == "" && (err != nil || len(got.Definitions) != 1):
			t.Errorf("%s: %v", name, err)
		case c.want == "":
			out, _, err := mcpconfig.Export("claude-code", mcpconfig.Entry{ID: "more", Command: "x"}, []byte(c.text))
			if err != nil || len(out) <= len(c.text) {
				t.Errorf("%s: export: %v", name, err)
			}
		}
	}
}

// TestImportShowsNoSecret imports files full of secrets, and exports into them. No secret is
// in an error, a note or printed output.
func TestImportShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	dir := tempDir(t)
	o := &mcpconfig.Options{Dir: dir, Home: filepath.Join(dir, "home"), Env: func(string) (string, bool) { return secret, true }}
	rows := `{
		"a": {"command": "` + secret + `", "args": ["${X:-` + secret + `}", "$(` + secret + `)", "${file:` + secret + `}"], "env": {"A": "` + secret + `", "B": 5}, "colour": "` + secret + `", "type": "stdio", "envFile": "` + secret + `"},
		"b": {"url": "https://user:` + secret + `@example.com/?k=` + secret + `", "headers": {"Authorization": "` + secret + ` ${X}", "N": null}, "oauth": {"clientSecret": "` + secret + `"}, "timeout": "` + secret + `", "type": "http"},
		"c": {"command": ["` + secret + `"], "args": "` + secret + `"},
		"d": "` + secret + `"
	}`
	var all strings.Builder
	for _, c := range mcpconfig.Clients() {
		top := map[string]string{"vscode": "servers", "zed": "context_servers", "opencode": "mcp", "crush": "mcp", "goose": "extensions", "codex": "mcp_servers", "kilo": "mcp", "amp": "amp.mcpServers"}[c.Name]
		if top == "" {
			top = "mcpServers"
		}
		path := filepath.Join(dir, "in.json")
		write(t, path, `{"`+top+`": `+rows+`}`)
		got, err := mcpconfig.Import(path, c.Name, o)
		fmt.Fprintf(&all, "%v %+v %#v\n", err, got, got)
		_, notes, err := mcpconfig.Export(c.Name, mcpconfig.Entry{ID: "a", Command: "x"}, []byte(`{"`+top+`": `+rows+`}`))
		fmt.Fprintf(&all, "%v %v\n", err, notes)
	}
	for line := range strings.Lines(all.String()) {
		if strings.Contains(line, secret) {
			t.Fatalf("a secret is shown: %s", line)
		}
	}
}
