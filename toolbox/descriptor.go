package toolbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/schema"
)

// Principal identifies a caller. It is opaque: this module only compares it and never interprets it. "" is the local
// user.
type Principal string

// Wire holds bytes that toolbox carries and never reads. Format names their grammar. For MCP it begins with "mcp/"
// ([FormatMCP]). The zero Wire means absent.
type Wire struct {
	Format string
	JSON   json.RawMessage
}

// IsZero reports whether w carries nothing.
func (w Wire) IsZero() bool { return w.Format == "" && w.JSON == nil }

// Descriptor describes one tool: its name, its input and its owner.
//
// Its slices are shared: treat them as read-only.
type Descriptor struct {
	// Name is the name that callers use. It is unique within a [Snapshot].
	Name string
	// Description is the owner's text, or "" if the owner gave none. In the result of [Box.Descriptors] it is the text
	// for models.
	Description string
	// Server is the owner's id, and Tool is the owner's own name for the tool. For a local tool Server is "" and Tool
	// is Name.
	Server, Tool string
	// Schema is the owner's input schema, byte for byte.
	Schema json.RawMessage
	// Parameters is the schema that a model sees. The [Box] fills it according to its profile. It is nil in the
	// snapshots of other sources.
	Parameters json.RawMessage
	// Changes lists the changes that the [Box] made to the schema and the description so that a model's provider
	// accepts them. It is nil if there are none, and in the snapshots of other sources.
	Changes []schema.Change
	// Title, Output and Annotations are set for a local tool. For other tools, Wire holds them.
	Title       string
	Output      json.RawMessage
	Annotations *Annotations
	// Wire is the owner's tool object, byte for byte. It is zero for local tools.
	Wire Wire
	// Profile is the profile that the source chose for this tool. It applies if BoxOptions.Profile is nil. If it is nil
	// too, the [Box] uses its default.
	Profile *schema.Profile
	// Excluded is the reason why the tool is not shown to models, or "" if it is shown. An excluded tool is still
	// published and can be called.
	Excluded string
}

// Equal reports whether two descriptors have the same content. It does not compare Changes, because they follow from
// the other fields.
func (d Descriptor) Equal(o Descriptor) bool {
	return d.Name == o.Name && d.Description == o.Description && d.Server == o.Server && d.Tool == o.Tool &&
		d.Profile == o.Profile && d.Excluded == o.Excluded && d.Title == o.Title && d.Annotations == o.Annotations &&
		bytes.Equal(d.Schema, o.Schema) && bytes.Equal(d.Parameters, o.Parameters) && bytes.Equal(d.Output, o.Output) &&
		d.Wire.Format == o.Wire.Format && bytes.Equal(d.Wire.JSON, o.Wire.JSON)
}

// Snapshot holds the tools of a [Source] at one moment. It is immutable and shared: treat it and everything in it as
// read-only.
type Snapshot struct {
	// Version grows with each new snapshot that one source returns for one principal.
	Version uint64
	// Tools are in configuration order, then in their owner's order.
	Tools []Descriptor
	// Pending names the servers that have not answered yet, in order.
	Pending []string
	// Held names tools that exist but are not listed, because policy holds them back. A call of such a tool still goes
	// to its source, which refuses it with the reason.
	Held []string
	// Down lists, in order, configured servers that cannot be reached. Their tools are not in Tools. A call of such a
	// tool goes to its source, which reports the fault.
	Down []Down
	// Owners holds the information that servers give about all their tools, in order. A server that gives none may be
	// missing.
	Owners []Owner
	// Kinds lists the snapshots for kinds of callers that see different tools. Kind is the kind of callers of such a
	// snapshot. A [Box] and [Join] show the same tools to all callers. If Kinds is nil, there are no other snapshots.
	Kinds []*Snapshot
	Kind  any
}

// For returns the snapshot for a kind of callers. It returns s if that kind has no snapshot of its own.
func (s *Snapshot) For(kind any) *Snapshot {
	for _, snapshot := range s.Kinds {
		if snapshot.Kind == kind {
			return snapshot
		}
	}
	return s
}

// Equal reports whether two snapshots have the same content. It does not compare their versions and the functions of
// Down.
func (s *Snapshot) Equal(o *Snapshot) bool {
	return s.Kind == o.Kind && slices.Equal(s.Pending, o.Pending) && slices.Equal(s.Owners, o.Owners) &&
		slices.Equal(s.Held, o.Held) && slices.EqualFunc(s.Tools, o.Tools, Descriptor.Equal) &&
		slices.EqualFunc(s.Down, o.Down, func(x, y Down) bool { return x.Server == y.Server }) &&
		slices.EqualFunc(s.Kinds, o.Kinds, (*Snapshot).Equal)
}

// Owner is a server as the owner of tools. Its texts come from outside and are not trusted.
type Owner struct {
	// Server is its id, and Prefix begins the names of its tools.
	Server, Prefix string
	// Instructions explain to a model how to use its tools. It may be "".
	Instructions string
	// TTL is how long its list may be cached. 0 means not at all.
	TTL time.Duration
	// Private means that its list may be shown only to the caller for which it was requested.
	Private bool
}

// Down is a server that cannot be reached. Its functions may be called from any goroutine.
type Down struct {
	// Server is its id.
	Server string
	// Owns reports whether the server may have a tool with that name. It is never nil.
	Owns func(name string) bool
}

// DownOwner returns the server of Down that may own a tool with that name, or "" if there is none.
func (s *Snapshot) DownOwner(name string) string {
	for _, d := range s.Down {
		if d.Owns(name) {
			return d.Server
		}
	}
	return ""
}
