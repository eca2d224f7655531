package command

import (
	"github.com/spf13/cobra"
)

func newMCP(commands []*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Look at the configured MCP servers, and call their tools",
		Long:  mcpHelp,
		Args:  NoSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

const mcpHelp = `Look at the configured MCP servers, and call their tools.

Usage:
  indus mcp ls                       which servers are configured, and do they work?
  indus mcp add NAME ...             configure one; remove, enable, disable, get NAME
  indus mcp import [CLIENT]          take over those of another MCP client
  indus mcp export --to CLIENT       give indus to another MCP client
  indus mcp approve [SERVER]...      let those of a project's file start
  indus mcp login SERVER             sign in to one that wants it; logout SERVER
  indus mcp tools [SERVER]           what tools do they have?
  indus mcp tools --schema [TOOL]    what does a model see of them?
  indus mcp lint [SERVER]...         does every model provider take them?
  indus mcp doctor [SERVER]...       why does a server not work?
  indus mcp call TOOL [ARGUMENT]...  call one
  indus mcp prompts [SERVER]...      what prompts do they have?
  indus mcp prompt PROMPT [K=V]...   fill one in
  indus mcp resources [SERVER]...    what resources do they have?
  indus mcp read URI                 read one
  indus mcp complete REF NAME=PREFIX what values may an argument have?
  indus mcp log                      what happened to which tools, and when?
  indus mcp accept [TOOL]...         which tools changed? approve what they are now
  indus mcp verify                   is the ledger as it was written?
  indus mcp watch                    the live state of all that indus serves
  indus mcp COMMAND -h               all about a command

Flags of most:
  --json       print JSON` + ConfigFlagsHelp + `

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

` + ExitHelp
