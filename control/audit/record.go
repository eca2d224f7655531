package audit

import (
	"encoding/json"
	"time"
)

// Outcome is the decision about a request and its result.
type Outcome string

// These are the outcomes. The list is closed: readers may rely on it.
const (
	Allowed  Outcome = "allowed"  // the request was allowed, and its server answered it
	Denied   Outcome = "denied"   // a rule, a limit or a person refused the request
	Deferred Outcome = "deferred" // the request waits for an approval; nothing was done
	Error    Outcome = "error"    // the request was allowed and failed: Record.ErrorKind has the kind
)

// Record describes one request of a caller. Only Type and Outcome are required. A text that is too long or not UTF-8
// is shortened, see [MaxText].
type Record struct {
	// ID is a ULID. If it is "", Append makes one.
	ID string
	// At is the time of the request, to the millisecond. If it is zero, Append uses the present time.
	At time.Time
	// Principal is the caller. "" is the local user, and is written as "local".
	Principal string
	// Type is "mcp." and the method with dots, such as "mcp.tools.call". The records that this package writes itself
	// have the types below.
	Type string
	// Tool is the server's own name of the tool, without the server. It is "" for other requests.
	Tool    string
	Outcome Outcome

	// Target is the name of a prompt or the URI of a resource.
	Target string
	// Server is the id of the server. It is "" if the request reached no server.
	Server string
	// View is "" for everything, "@NAME" for a selection, or the id of a server.
	View string
	// Client and ClientVersion are the client's own claims about itself.
	Client, ClientVersion string
	// Era is "legacy" or "modern", and Method the method of the protocol, such as "tools/call".
	Era, Method string
	// Session is the id of a legacy session. Address is the network address of the client.
	Session, Address string
	// ArgumentDigest is a digest of the exact arguments, such as "sha256:…".
	ArgumentDigest string
	// Policies lists the rules that decided.
	Policies []string
	// Approval is the id of the approval that the request waits for or has spent. Approver is the principal that gave it.
	Approval, Approver string
	// Duration is the time from the request to its answer. It is written in microseconds.
	Duration time.Duration
	// BytesIn is the size of the request, and BytesOut of its answer.
	BytesIn, BytesOut int64
	// Trace is the id of the trace.
	Trace string
	// ErrorKind classifies a failure, such as "tool", "timeout" or a JSON-RPC code. Reason is a text for a person.
	ErrorKind, Reason string
	// Arguments and Result are JSON that the caller has masked. Nil: not recorded. They are written as a string that
	// contains the JSON text, so that no number and no order changes. More than [MaxContent] bytes are cut off.
	Arguments, Result json.RawMessage

	// Lost is the number of records that a Gap or Pruned record counts.
	Lost uint64

	// Seq, Previous and Hash are set by Append. Seq numbers the records of all files of a log 1, 2, 3, …
	Seq            uint64
	Previous, Hash string

	line []byte // of a record that was read
}

// Line returns the line of a record that was read, without its end. It is valid until the function that got the record
// returns.
func (r *Record) Line() []byte { return r.line }

// These are the types of the records that a Log writes about itself.
const (
	TypeOpen   = "indus.audit.open"   // a process began to write
	TypeGap    = "indus.audit.gap"    // Lost records before this one could not be written
	TypeTorn   = "indus.audit.torn"   // a last line without an end was cut off: no request was answered after it
	TypePruned = "indus.audit.pruned" // the first Lost records are removed, because of Options.Keep
)

const (
	// MaxText is the size of the longest text of a record, in bytes. Of a longer text, the first half of that and a hash
	// are written.
	MaxText = 1 << 10
	// MaxPolicies is the number of rules that a record names.
	MaxPolicies = 32
	// MaxContent is the size of the longest arguments or result, in bytes.
	MaxContent = 64 << 10
)
