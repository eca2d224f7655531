package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

// Digest is a SHA-256. Its text is hexadecimal.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(d) {
		return fmt.Errorf("%.80q is no SHA-256 in hexadecimal", text)
	}
	copy(d[:], b)
	return nil
}

// Subject is the call that an approval is bound to. A text of more than 512 bytes is stored as its beginning and its
// digest.
type Subject struct {
	// Principal is the caller, as its identity names it. "" is the local user.
	Principal string `json:"principal"`
	// Client is the name of the caller's client program. It is what the client claims.
	Client string `json:"client"`
	// View is the view in which the tool was called. "" is the view of everything.
	View string `json:"view"`
	// Server is the server that owns the tool, and Tool its own name of the tool.
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Origin identifies the server's program: its command and arguments, or its URL. "" is unknown.
	Origin string `json:"origin,omitempty"`
	// Arguments is the digest of the exact bytes of the arguments.
	Arguments Digest `json:"argumentsSha256"`
	// Definition is the digest of the tool's definition, in a form without spaces and with ordered members.
	Definition Digest `json:"definitionSha256"`
}

// digest returns the digest of all fields and the way. Each text is preceded by its length, so that no two subjects
// have the same bytes.
func (s *Subject) digest(way Way) (d Digest) {
	sum := sha256.New()
	for _, text := range []string{s.Principal, s.Client, s.View, s.Server, s.Tool, s.Origin, string(way)} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		sum.Write(length[:])
		sum.Write([]byte(text))
	}
	sum.Write(s.Arguments[:])
	sum.Write(s.Definition[:])
	sum.Sum(d[:0])
	return d
}

// bounded returns the subject with texts that fit into the file.
func (s Subject) bounded() Subject {
	for _, name := range []*string{&s.Principal, &s.Client, &s.View, &s.Server, &s.Tool, &s.Origin} {
		*name = bounded(*name)
	}
	return s
}

// maxName bounds each text of a subject, in bytes.
const maxName = 512

// bounded returns a text of at most maxName bytes of valid UTF-8. Other texts are cut, and end with their digest, so
// that different texts stay different.
func bounded(s string) string {
	if len(s) <= maxName && utf8.ValidString(s) {
		return s
	}
	const head = maxName - len("…") - 2*sha256.Size
	return text.Cut(strings.ToValidUTF8(s, "\uFFFD"), head) + "…" + Digest(sha256.Sum256([]byte(s))).String()
}

// Way selects the people who may decide.
type Way string

// The ways.
const (
	Caller Way = "caller" // only the caller
	Other  Way = "other"  // only another person, and never through the caller's client
	Either Way = "either" // the caller or another person: the first answer counts
)

// State is the state of an item.
type State string

// The states.
const (
	Waiting State = "waiting" // for a decision
	Allowed State = "allowed" // and not used yet
	Refused State = "denied"
	Spent   State = "spent"   // allowed and used
	Expired State = "expired" // not decided in time, or allowed and not used in time
)

// Channel is the way on which a decision comes.
type Channel string

// The channels.
const (
	// ByCaller is the protocol: the answer of the caller's client.
	ByCaller Channel = "caller"
	// ByOperator is the operating system's user who runs indus: the command line, or a page that this user opened with a
	// one-time link. It may decide every item, because this user can write the file anyway.
	ByOperator Channel = "command"
	// ByPage is a page, used by an authenticated principal.
	ByPage Channel = "page"
	// ByWebhook is a request of another program with an authenticated principal.
	ByWebhook Channel = "webhook"
)

// Item is a call that waits for an approval, or waited for it.
type Item struct {
	// ID has four letters and digits, such as 7K2F. It is no secret.
	ID string `json:"id"`
	Subject
	// Shown holds the arguments for the approver. Require expects them as they are, masks likely secrets and stores at
	// most 8 KiB of JSON. Partial reports that parts are cut, and Bytes is the length of all.
	Shown   json.RawMessage `json:"arguments,omitempty"`
	Partial bool            `json:"partial,omitempty"`
	Bytes   int             `json:"argumentsBytes"`
	// Program is what the server runs, for a person: its command and arguments, or its URL. At most 1 KiB is stored.
	Program string `json:"program,omitempty"`
	// Title and Description are those of the tool. At most 1 KiB of each is stored.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Era is the era of the call's protocol, and Claims holds the annotations of the tool that was called, as JSON of the
	// policy. The policy judges the approver by them.
	Era    string          `json:"era,omitempty"`
	Claims json.RawMessage `json:"claims,omitempty"`
	// Rule is the place of the rule that requires the approval: file:line.
	Rule string `json:"rule,omitempty"`
	Way  Way    `json:"way"`
	// Changed is the difference of the tool's definition, if it changed since it was accepted. At most 4 KiB are stored.
	Changed string `json:"changed,omitempty"`

	Asked time.Time `json:"asked"`
	// Expires is the end of the wait, or of the decision.
	Expires time.Time `json:"expires"`
	State   State     `json:"state"`
	// By is the approver, "" for the local user. Channel, Decided and Reason belong to the same decision.
	By      string    `json:"by,omitempty"`
	Channel Channel   `json:"channel,omitempty"`
	Decided time.Time `json:"decided,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	// Used is the time at which the grant was spent.
	Used time.Time `json:"used,omitzero"`
}

// at returns the item as it is at a time.
func (i Item) at(now time.Time) Item {
	if (i.State == Waiting || i.State == Allowed) && !now.Before(i.Expires) {
		i.State = Expired
	}
	return i
}

// isOpen reports whether the item waits for a decision, or for its use.
func (i *Item) isOpen() bool { return i.State == Waiting || i.State == Allowed }

// Outcome is the answer of [Book.Require].
type Outcome int

// The outcomes.
const (
	Pending Outcome = iota // a person has to decide
	Granted                // the call may run once: the grant is spent
	Denied                 // a person denied this call
)

// Decision is the decision of a person about an item.
type Decision struct {
	Allow bool
	// By is the approver: an authenticated principal, or "" for the local user.
	By      string
	Reason  string
	Channel Channel
}

// Filter selects items. The zero value selects the items that wait for a decision.
type Filter struct {
	// All also selects past items and unspent grants.
	All bool
	// Principal selects the items of one caller. Nil selects those of all callers.
	Principal *string
}
