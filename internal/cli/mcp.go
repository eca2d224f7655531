package cli

import "github.com/spf13/cobra"

func newMCP(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Look at the configured MCP servers, and call their tools",
		Long:  mcpHelp,
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLs(s), newTools(s), newCall(s), newLint(s))
	return cmd
}

const mcpHelp = `Look at the configured MCP servers, and call their tools.

Usage:
  indus mcp ls                       which servers are configured, and do they work?
  indus mcp tools [SERVER]           what tools do they have?
  indus mcp tools --schema [TOOL]    what does a model see of them?
  indus mcp lint [SERVER]...         does every model provider take them?
  indus mcp call TOOL [ARGUMENT]...  call one
  indus mcp COMMAND -h               all about a command

Flags of all four:
  --json       print JSON` + configFlagsHelp + `

` + configurationHelp + `

A session:
  $ cat .indusvx/mcp.json
  {
    "servers": {
      "fs": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
      "docs": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    },
  }
  $ indus mcp tools fs --trust
  $ indus mcp call fs__read_text_file path=README.md --trust

` + exitHelp
