// Command indus connects to MCP servers and publishes their tools.
package main

import (
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/approvals"
	"github.com/indusagi/indus/cmd/indus/internal/audit"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/connect"
	"github.com/indusagi/indus/cmd/indus/internal/doctor"
	"github.com/indusagi/indus/cmd/indus/internal/history"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/cmd/indus/internal/op"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/cmd/indus/internal/policies"
	"github.com/indusagi/indus/cmd/indus/internal/serve"
	"github.com/indusagi/indus/cmd/indus/internal/servers"
	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
)

func main() { command.Main(tree) }

func tree(s show.Streams) command.Commands {
	mcp := append(slices.Concat(servers.Commands(s), tools.Commands(s), history.Commands(s)), doctor.New(s))
	own := command.List{
		serve.New(s), connect.New(s, page.Running), keys.New(s), policies.New(s), approvals.New(s), audit.New(s),
		page.NewCommand(s),
		op.New(s),
	}
	return command.Commands{Session: session.Add, MCP: mcp, Own: own}
}
