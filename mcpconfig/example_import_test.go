package mcpconfig_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/mcpconfig"
)

// Import reads the servers of another client.
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
	// Output:
	// codex github {"url":"https://example.com/mcp","headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"},"timeout":{"call":"1m30s"}}
}

// With this entry, another client gets every server through indus.
func ExampleExport() {
	entry := mcpconfig.Entry{ID: "indus", URL: "http://127.0.0.1:7332/mcp", Token: "INDUS_TOKEN"}
	out, notes, err := mcpconfig.Export("vscode", entry, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(out), notes)
	// Output:
	// {
	//   "servers": {
	//     "indus": {
	//       "type": "http",
	//       "url": "http://127.0.0.1:7332/mcp",
	//       "headers": {"Authorization": "Bearer ${env:INDUS_TOKEN}"}
	//     }
	//   }
	// }
	// []
}
