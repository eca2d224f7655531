package mcpconfig_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/mcpconfig"
)

// What somebody has in one client, for another.
func Example_import() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config.toml")
	text := "[mcp_servers.github]\nurl = \"https://example.com/mcp\"\nbearer_token_env_var = \"GITHUB_TOKEN\"\ntool_timeout_sec = 90\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	imported, err := mcpconfig.Import(path, "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range imported.Definitions {
		fmt.Println(imported.Client, d.ID, string(d.JSON))
	}
	out, notes, err := mcpconfig.Export("vscode", imported.Definitions, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(out))
	for _, n := range notes {
		fmt.Println(n)
	}
	// Output:
	// codex github {"url":"https://example.com/mcp","headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"},"timeout":{"call":"1m30s"}}
	// {
	//   "servers": {
	//     "github": {
	//       "type": "http",
	//       "url": "https://example.com/mcp",
	//       "headers": {"Authorization": "Bearer ${env:GITHUB_TOKEN}"}
	//     }
	//   }
	// }
	// server "github": timeout is left out for call: Visual Studio Code has no such bound
}
