// Command indus brings the tools of MCP servers in, and puts them out again.
package main

import (
	"os"

	"github.com/indusagi/indus/internal/cli"
)

func main() { os.Exit(cli.Main()) }
