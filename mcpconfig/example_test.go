package mcpconfig_test

import (
	"context"
	"fmt"

	"github.com/indusagi/indus/mcpconfig"
)

func ExampleLoad() {
	servers, notes := mcpconfig.Load(context.Background(), "testdata/example/.indusvx/mcp.json")
	for _, s := range servers {
		fmt.Println(s.ID, s.Transport.Kind())
	}
	for _, n := range notes {
		fmt.Println(n)
	}
	// Output:
	// everything stdio
	// docs streamable-http
	// testdata/example/.indusvx/mcp.json:12:3: server "old": disabled
}

// A directory is searched. A project's own file starts no server before it is approved.
func ExampleRead() {
	config, err := mcpconfig.Read(context.Background(), []string{"testdata/example"}, &mcpconfig.Options{
		Home: "testdata/example/home",
		Env:  func(string) (string, bool) { return "", false }, // no variables of this machine
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range config.Rows {
		fmt.Printf("%-11s %-8s %-8s %s\n", r.Server.ID, r.State, r.Scope, r.Target)
	}
	// Output:
	// everything  held     project  npx -y @modelcontextprotocol/server-everything
	// docs        held     project  https://docs.example.com/mcp
	// old         disabled project  https://old.example.com/sse
	// notes       active   user     notes-server --quiet
}

func ExampleConfig_Servers() {
	config, err := mcpconfig.Read(context.Background(), nil, &mcpconfig.Options{
		Dir:   "testdata/example",
		Home:  "testdata/example/home",
		Env:   func(string) (string, bool) { return "", false },
		Trust: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range config.Servers() {
		fmt.Println(s.ID)
	}
	// Output:
	// everything
	// docs
	// notes
}

func ExampleConfig_Held() {
	config, err := mcpconfig.Read(context.Background(), []string{"testdata/example"}, &mcpconfig.Options{
		Env: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range config.Held() {
		fmt.Printf("%s: %s\n", r.Server.ID, r.Hint)
	}
	// Output:
	// everything: approve it with "indus mcp approve SERVER", or start it with --trust
	// docs: approve it with "indus mcp approve SERVER", or start it with --trust
}

func ExampleNote_String() {
	fmt.Println(mcpconfig.Note{
		File: "mcp.json", Line: 12, Column: 5, Server: "github",
		Reason: `env "GITHUB_TOKEN": the variable GITHUB_TOKEN is not set`, Hint: "set it",
	})
	// Output:
	// mcp.json:12:5: server "github": env "GITHUB_TOKEN": the variable GITHUB_TOKEN is not set; set it
}
