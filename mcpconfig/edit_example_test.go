package mcpconfig_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/mcpconfig"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	before := `{
  // Mine.
  "servers": {
    "fs": {"command": "fs-server"}, // notes only
  },
}
`
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		log.Fatal(err)
	}

	e, err := mcpconfig.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := e.Set(mcpconfig.Definition{ID: "docs", JSON: []byte(`{"url": "https://example.com/mcp"}`)}); err != nil {
		log.Fatal(err)
	}
	if err := e.Enable("fs", false); err != nil {
		log.Fatal(err)
	}
	if err := e.Save(); err != nil { // errors.Is(err, mcpconfig.ErrChanged): another process was faster
		log.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	fmt.Printf("%s", text)
	// Output:
	// {
	//   // Mine.
	//   "servers": {
	//     "fs": {"command": "fs-server", "enabled": false}, // notes only
	//     "docs": {"url": "https://example.com/mcp"},
	//   },
	// }
}
