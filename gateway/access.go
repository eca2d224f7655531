package gateway

import (
	"encoding/json"

	"github.com/indusagi/indus/toolbox"
)

// Item is a part of a server, or a server.
type Item struct {
	Kind     Kind
	Server   string
	Name     string // the server's own
	Template bool   // of a resource: Name is a template of URIs
	Changed  bool   // of a tool: it differs from its approved version
	// Tool is the definition of a tool, or nil if it is not known.
	Tool *toolbox.Descriptor
}

// Kind is the kind of an item.
type Kind string

const (
	KindTool     Kind = "Tool"
	KindPrompt   Kind = "Prompt"
	KindResource Kind = "Resource"
	KindServer   Kind = "Server"
)

// Action is what a request does with an item.
type Action string

const (
	ActionList       Action = "list"
	ActionCall       Action = "call"
	ActionRead       Action = "read"
	ActionGet        Action = "get"
	ActionComplete   Action = "complete"
	ActionSubscribe  Action = "subscribe"
	ActionAsk        Action = "ask"        // a question of a server to the client
	ActionAdminister Action = "administer" // also any method that the gateway does not know
)

// Access is the use of one item by a request.
type Access struct {
	Item
	Action    Action
	Arguments json.RawMessage // of a call or a prompt; nil: none
	// Continues reports that the request continues one that was admitted. HasState reports that it has a state of a
	// server, which is checked before the server gets the request.
	Continues, HasState bool
	// Called is the name of a tool as the caller uses it; "" outside of calls. Known reports that the caller's list has
	// the tool. Nested reports that a tool of the program calls it.
	Called        string
	Known, Nested bool
	// Unlisted reports that the item is in no list of its server. Several reports that Hide is about several servers.
	Unlisted, Several bool

	// Origin is set by Admit: the program of the server that the decision is for, see [Gateway.Program]. "" means any.
	Origin string
	// Once is set by Admit: the request must not reach a server twice.
	Once bool
	// Note is for the guard.
	Note any

	find     finder            // returns the tool as it is now; nil: it is no tool
	source   *toolbox.Snapshot // the tools of all servers when the tool was found
	judged   judgedContext     // of the admitted call
	admitted bool
}
