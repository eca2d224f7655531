// Command indus brings the tools of MCP servers in, and puts them out again.
package main

import (
	"os"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/doctor"
	"github.com/indusagi/indus/cmd/indus/internal/history"
	"github.com/indusagi/indus/cmd/indus/internal/op"
	"github.com/indusagi/indus/cmd/indus/internal/serve"
	"github.com/indusagi/indus/cmd/indus/internal/servers"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
	"github.com/spf13/cobra"
)

func main() { os.Exit(command.Main(tree)) }

func tree(s show.Streams) (mcp, own []*cobra.Command) {
	mcp = slices.Concat(servers.Commands(s), tools.Commands(s), history.Commands(s), []*cobra.Command{doctor.New(s)})
	return mcp, []*cobra.Command{serve.New(s), op.New(s)}
}
