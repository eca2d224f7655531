package mcpconfig

import (
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/schema"
)

// View is a selection of servers and of their tools, as a file has it in "views". A client of a gateway sees the
// selection at /mcp/@NAME.
type View struct {
	// Name has letters, digits, ".", "_" and "-", and at most 64 characters.
	Name string
	// Servers are patterns of ids, with * and ?. If it is nil, all servers are selected.
	Servers []string
	// Tools, Prompts and Resources are patterns: server__tool, server__prompt and server__URI. They select parts of
	// these servers. If all are nil, the servers are selected as a whole. If only Prompts is nil, Tools selects prompts
	// too.
	Tools, Prompts, Resources []string
	// Mode is how the tools are listed: "all" lists each tool, and "gateway" lists four tools instead. If it is "", the
	// default of the gateway is used.
	Mode string
	// Profile shapes the schemas of the tools. If it is nil, they are as their servers wrote them.
	Profile *schema.Profile
	// Publish is set if indus serve publishes the view in its registry and with a server card. A project's file that was
	// only discovered cannot set it.
	Publish bool
	// File and Line are the position at which the view begins.
	File string
	Line int
}

const maxViews = 100 // of one file: each has clients and lists of its own

// viewName matches names that need no escaping in a path. They also have at most 64 characters.
var viewName = text.Pattern(`^[A-Za-z0-9._-]+$`)
