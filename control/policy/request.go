package policy

import (
	"encoding/json"
	"time"
)

// Action is the action of a request.
type Action string

// The actions.
const (
	// List shows an item. A rule that forbids List also forbids every other action on the item. A rule that permits
	// List lists servers and views; tools, prompts and resources are listed if they may be called, fetched or read.
	List Action = "list"
	// Call calls a tool.
	Call Action = "call"
	// Read reads a resource.
	Read Action = "read"
	// Get fetches a prompt.
	Get Action = "get"
	// Complete completes an argument of a prompt (which requires Get) or of a resource (which requires Read).
	Complete Action = "complete"
	// Subscribe follows a resource. It requires Read.
	Subscribe Action = "subscribe"
	// Ask is a question of a server to the client.
	Ask Action = "ask"
	// Approve approves a call of a tool by another caller.
	Approve Action = "approve"
	// Administer changes a server or a view.
	Administer Action = "administer"
)

// Kind is the kind of an item.
type Kind string

// The kinds of items. Each is the type of a Cedar entity.
const (
	Tool     Kind = "Tool"
	Prompt   Kind = "Prompt"
	Resource Kind = "Resource"
	Server   Kind = "Server"
	View     Kind = "View"
)

// Principal is the caller.
type Principal struct {
	// Name is the name of the principal as toolbox.Principal has it. See UserID.
	Name string
	// Groups are the groups of the principal.
	Groups []string
}

// Item is the thing that an action is performed on. The id of the entity of a tool, prompt or resource is the server, a
// slash, and the name. In the server, a slash is written %2F, and a percent sign %25.
type Item struct {
	Kind Kind
	// Server is the name of the item's server. It is empty for a view, and for the program's own tools.
	Server string
	// Name is the server's own name of a tool or prompt, the URI of a resource, or the name of a view. It is ignored
	// for a server.
	Name string
	// Template marks a resource template: Name is a URI template, and the URI is not yet known.
	Template bool
	// Claims are the annotations of a tool as its server wrote them.
	Claims Claims
	// Changed reports that the tool differs from its approved definition.
	Changed bool
}

// Claims are the annotations of a tool. Nil means that the server did not state the annotation.
type Claims struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Request is a request of a caller. Decide does not change it and keeps no part of it.
type Request struct {
	Principal Principal
	Action    Action
	Item      Item
	// View is the name of the view: "" for all servers, "@NAME" for a selection, the server's name for one server.
	View string
	// Client is the name that the client gave.
	Client string
	// Era is "legacy" or "modern".
	Era string
	// Address is the IP address of the client, with or without a port. If it is empty or no IP address, the context
	// has no address.
	Address string
	// Time is the time of the request. If it is zero, Decide uses the current time.
	Time time.Time
	// Arguments are the arguments of a call or of a prompt, as JSON. Nil means an empty object.
	Arguments json.RawMessage
	// AnyArguments asks whether some arguments could be permitted. Arguments is then ignored.
	AnyArguments bool
}

// Approval says who has to approve a call before it runs.
type Approval string

// The approvals, the strictest last. An approver has to satisfy all permits that apply: of "either" and "caller" that
// is the caller, of "caller" and "other" another person.
const (
	NoApproval     Approval = ""
	EitherApproves Approval = "either"
	CallerApproves Approval = "caller"
	OtherApproves  Approval = "other"
)

// Rate is a limit of the calls of one caller.
type Rate struct {
	// Policy is the id of the rule. Each caller has its own count for each rule.
	Policy string        `json:"policy"`
	Calls  int           `json:"calls"`
	Per    time.Duration `json:"per"`
}

// Audit says which data the audit record of a request contains, apart from the usual.
type Audit struct {
	Arguments bool `json:"arguments"`
	Result    bool `json:"result"`
}

// Rule names a rule of a policy file.
type Rule struct {
	// ID is the value of the rule's @id, or FILE:LINE.
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Effect string `json:"effect"` // "permit" or "forbid"
}

// Verdict is the decision about a request.
type Verdict struct {
	// Allowed reports that the request may go on, after the approval and within the rates.
	Allowed bool `json:"allowed"`
	// Approve is the strictest approval of the permits that apply.
	Approve Approval `json:"approve,omitempty"`
	// Rates are the limits of all permits that apply.
	Rates []Rate `json:"rates,omitempty"`
	// Audit is the union of the rules that decided.
	Audit Audit `json:"audit"`
	// Rules are the rules that decided: the permits that apply, or the forbids. It is empty if no permit applies.
	Rules []Rule `json:"rules,omitempty"`
	// RuleIDs are the ids of Rules.
	RuleIDs []string `json:"-"`
	// Problems are the reasons why rules could not be evaluated. A permit with a problem does not apply. A forbid with
	// a problem applies.
	Problems []string `json:"problems,omitempty"`
}
