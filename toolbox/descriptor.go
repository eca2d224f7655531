package toolbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/indusagi/indus/schema"
)

// Principal is who calls. It is opaque: nothing in this module reads it, it is
// only compared. "" is the local user.
type Principal string

// Wire is bytes that toolbox carries and never reads. Format names their grammar, which for
// MCP's begins with "mcp/" ([FormatMCP]); the zero Wire is absent.
type Wire struct {
	Format string
	JSON   json.RawMessage
}

// IsZero reports whether w carries nothing.
func (w Wire) IsZero() bool { return w.Format == "" && w.JSON == nil }

// Descriptor says what one tool is called and takes.
//
// The slices it holds are shared: treat them as read-only.
type Descriptor struct {
	// Name is what callers use: unique within a [Snapshot].
	Name string
	// Description is the owner's text, "" where it gave none. In what
	// [Box.Descriptors] gives it is the text for models.
	Description string
	// Server and Tool are the owner's id and its own name for the tool. For a
	// local tool Server is "" and Tool is Name.
	Server, Tool string
	// Schema is the owner's input schema, byte for byte.
	Schema json.RawMessage
	// Parameters is the schema a model sees: the [Box] fills it by its profile.
	// nil in the snapshots of other sources.
	Parameters json.RawMessage
	// Changes are what the [Box] did to the schema and the description so that a
	// model's provider takes them; nil where it did nothing, and in the snapshots of
	// other sources.
	Changes []schema.Change
	// Title, Output and Annotations are a local tool's; those of others are in Wire.
	Title       string
	Output      json.RawMessage
	Annotations *Annotations
	// Wire is the owner's tool object, byte for byte; zero for local tools.
	Wire Wire
	// Profile is how its source wants the tool shown to models, where
	// BoxOptions.Profile says nothing; nil: as the [Box] shows all.
	Profile *schema.Profile
	// Excluded is the reason why models are not shown this tool, "" where they are.
	// Such a tool is published and callable all the same.
	Excluded string
}

// Equal reports whether two descriptors say the same. Changes follow from the rest.
func (d Descriptor) Equal(o Descriptor) bool {
	return d.Name == o.Name && d.Description == o.Description && d.Server == o.Server && d.Tool == o.Tool &&
		d.Profile == o.Profile && d.Excluded == o.Excluded && d.Title == o.Title && d.Annotations == o.Annotations &&
		bytes.Equal(d.Schema, o.Schema) && bytes.Equal(d.Parameters, o.Parameters) && bytes.Equal(d.Output, o.Output) &&
		d.Wire.Format == o.Wire.Format && bytes.Equal(d.Wire.JSON, o.Wire.JSON)
}

// Snapshot is the tools of a [Source] at one moment. It is immutable and
// shared: treat it and all it holds as read-only.
type Snapshot struct {
	// Version grows with each new snapshot that one source gives one principal.
	Version uint64
	// Tools are in configuration order, then in their owner's order.
	Tools []Descriptor
	// Pending names the servers that have not answered yet, in order.
	Pending []string
	// Held names tools that exist and are not listed, because policy holds them back: a call
	// of one goes to its source all the same, which refuses it with the reason.
	Held []string
	// Down are servers that are configured and cannot be reached, and whose tools are
	// therefore not in Tools, in order. A call of one goes to its source, which says so.
	Down []Down
	// Owners are what servers say of all their tools, in order; of who says nothing there
	// may be none.
	Owners []Owner
	// Kinds are the snapshots of the callers to whom the source shows something else, and Kind is the kind of callers that
	// one of these is for. A [Box] and [Join] show all callers the same. nil: there are no others.
	Kinds []*Snapshot
	Kind  any
}

// For is the snapshot of a kind of callers: s, where it is the same as for all.
func (s *Snapshot) For(kind any) *Snapshot {
	for _, some := range s.Kinds {
		if some.Kind == kind {
			return some
		}
	}
	return s
}

// Equal reports whether two snapshots say the same. Their versions, and the functions of Down, are not compared.
func (s *Snapshot) Equal(o *Snapshot) bool {
	return s.Kind == o.Kind && slices.Equal(s.Pending, o.Pending) && slices.Equal(s.Owners, o.Owners) &&
		slices.Equal(s.Held, o.Held) && slices.EqualFunc(s.Tools, o.Tools, Descriptor.Equal) &&
		slices.EqualFunc(s.Down, o.Down, func(x, y Down) bool { return x.Server == y.Server }) &&
		slices.EqualFunc(s.Kinds, o.Kinds, (*Snapshot).Equal)
}

// Owner is a server as the owner of tools. What it says is a stranger's text.
type Owner struct {
	// Server is its id, and Prefix is what the names of its tools begin with.
	Server, Prefix string
	// Instructions tell a model how to use its tools; "" where it says nothing.
	Instructions string
	// TTL is how long its list may be kept; 0: not at all.
	TTL time.Duration
	// Private: its list is not to be shown to anybody else than it was asked for.
	Private bool
}

// Down is a server that cannot be reached. It may be asked from any goroutine.
type Down struct {
	// Server is its id.
	Server string
	// Owns reports whether a tool of the server may have that name; never nil.
	Owns func(name string) bool
}

// DownOwner is the server of Down that may own a tool of that name; "" where none may.
func (s *Snapshot) DownOwner(name string) string {
	for _, d := range s.Down {
		if d.Owns(name) {
			return d.Server
		}
	}
	return ""
}
