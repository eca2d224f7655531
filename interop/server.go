package interop

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/schema"
)

// Server says how one MCP server is reached: an id, and exactly one transport.
type Server struct {
	// ID names the server; its tools are mounted under it. Not "".
	ID string
	// Transport is [Stdio], [HTTP] or [SSE].
	Transport TransportConfig
	// Era is the only one that the server is spoken to in: [Legacy] or [Modern]. "": it is
	// found out, and remembered.
	Era Era
	// TLS, OAuth and Forward are about a server at a URL; the zero values are good.
	TLS     TLS
	OAuth   OAuth
	Forward Forward
	// Timeouts of each remote step; the zero value is the defaults.
	Timeouts Timeouts
	// Secrets are values that nothing which the server says may show, beside those of its
	// Env and Headers: the variables that are in its arguments or its URL. See [Server.Mask].
	Secrets []Secret
	// Tools chooses and renames its tools; the zero value takes all as they are.
	Tools ToolRules
	// Changes is what becomes at least of its tools that are not as they were approved;
	// "" is [AcceptChanges]. Package ledger knows what was approved: see ledger.Attach. A
	// mount without it has none of the tools of a server that holds or denies changes.
	Changes ChangePolicy
	// Pool is over how many connections it is used, and how many requests at a time; the zero value
	// is one, and no bound.
	Pool Pool
	// Identity is what ledger.Fingerprint takes for the command, the directory and the
	// arguments of a [Stdio], in this order: as the configuration writes those that depend
	// on where a command is run, so that what was approved of the tools holds everywhere.
	// nil: they themselves.
	Identity []Secret
	// Profile is how its tools are shown to models, where MountOptions.Profile is nil;
	// nil is the mount's own.
	Profile *schema.Profile
	// Lazy: a fleet connects the server when somebody first needs it. Until then it lists what is known
	// of it (FleetOptions.Known); one of which nothing is known is connected to be listed. nil: as
	// FleetOptions.Lazy says.
	Lazy *bool
	// Idle is for how long a fleet keeps the server connected without a request, subscription to a
	// resource, task, or connection of a client that it can ask; then a process ends, and a session. What
	// it listed stays, and whatever needs the server connects it again. A connection for a client's session or a principal
	// closes after the same time without a request. 0: as FleetOptions.Idle says; negative: as long as there is a
	// fleet, and a session's connection as long as the session.
	Idle time.Duration
}

// String names the server and how it is reached, without arguments and whatever else may hold a secret.
func (s Server) String() string {
	if s.Transport == nil {
		return s.ID
	}
	return fmt.Sprintf("%s (%s: %v)", s.ID, s.Transport.Kind(), s.Transport)
}

// Format is what every verb of package fmt prints, also of a type that holds a server in an exported field: [Server.String].
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is what slog prints: [Server.String].
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is what encodings write: [Server.String].
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ChangePolicy says what becomes of a tool whose title, description, schemas or annotations
// are not what they were when it was last approved (a "rug pull"). A tool that was never
// seen before is approved as it is; so is one whose server is configured anew.
type ChangePolicy string

// The policies, from the most lenient.
const (
	AcceptChanges ChangePolicy = "accept" // it is live, and logged and shown as changed; so is "", the default
	HoldChanges   ChangePolicy = "hold"   // it is not live until a person accepts it
	DenyChanges   ChangePolicy = "deny"   // it is not live in this run, whatever is accepted meanwhile
)

// Guards reports whether it keeps changed tools back.
func (p ChangePolicy) Guards() bool { return p != AcceptChanges && p != "" }

// Strictest is the stricter of two; one that is not known counts as [DenyChanges].
func (p ChangePolicy) Strictest(o ChangePolicy) ChangePolicy {
	for _, strict := range []ChangePolicy{DenyChanges, HoldChanges} {
		if p == strict || o == strict {
			return strict
		}
	}
	if p.Guards() || o.Guards() {
		return DenyChanges
	}
	return AcceptChanges
}

// ToolRules say which tools of a server are mounted, and as what. In patterns "*"
// stands for any characters and "?" for one, and everything else for itself; names
// are the server's own. A tool that is left out is neither listed nor called; it
// is in [Fleet.Quarantined], and so does a rule that concerns no tool.
type ToolRules struct {
	// Allow are patterns of the tools that are mounted; nil: all, empty: none.
	Allow []string
	// Deny are patterns of those that are not, whatever Allow says.
	Deny []string
	// Rename has, by the server's name of a tool, the one under which it is mounted:
	// [QualifiedName] of the server and it. Of two tools with one name the first that
	// the server lists is mounted.
	Rename map[string]string
	// Describe has, by the server's name of a tool, a description in the place of its
	// own, also in the tool object that a host publishes.
	Describe map[string]string
}

// TransportConfig is a closed union: [Stdio], [HTTP] or [SSE].
type TransportConfig interface{ Kind() TransportKind }

// TransportKind names a transport, as configurations spell it.
type TransportKind string

// The transports.
const (
	KindStdio TransportKind = "stdio"
	KindSSE   TransportKind = "sse"
	KindHTTP  TransportKind = "streamable-http"
)

// Stdio is a server that is a child process.
type Stdio struct {
	// Command is looked up in the PATH that the child gets.
	Command string
	Args    []string
	// Env is added to the minimal environment (PATH, HOME, locale, TMPDIR); of
	// two entries with one name the later wins.
	Env []Pair
	// Dir is the working directory; "" is this process's own.
	Dir string
	// Fresh starts each process in a new, empty directory below Dir, for this user alone
	// (mode 0700); Dir, which is then not "", is made where it is missing. At the end of the
	// process it is removed, unless the server has left something in it. false: in Dir itself.
	Fresh bool
	// Path is the PATH of the child, below Env. "": this process's own.
	Path string
	// InheritEnv gives the child this process's whole environment below Env.
	InheritEnv bool
	// Without are variables of this process that InheritEnv does not pass on, such as its own keys. nil: all are.
	Without []string
}

// Environ is the environment that the child gets of this process as it is now, each "NAME=value".
func (s Stdio) Environ() []string {
	var named []string
	if s.Path != "" {
		named = append(named, "PATH="+s.Path)
	}
	for _, p := range s.Env {
		named = append(named, p.Name+"="+p.Value.Reveal())
	}
	return proc.Environ(proc.Without(os.Environ(), s.Without...), named, s.InheritEnv)
}

// HTTP is a server at a URL that speaks streamable HTTP: of 2026-07-28, else of
// the revisions before, else HTTP+SSE.
type HTTP struct {
	URL     string
	Headers []Pair
}

// SSE is a server that speaks HTTP+SSE, the transport of 2024-11-05, and nothing else.
type SSE struct {
	URL     string
	Headers []Pair
}

// Kind is [KindStdio].
func (Stdio) Kind() TransportKind { return KindStdio }

// Kind is [KindHTTP].
func (HTTP) Kind() TransportKind { return KindHTTP }

// Kind is [KindSSE].
func (SSE) Kind() TransportKind { return KindSSE }

// String names the command, without its arguments, which may hold secrets.
func (s Stdio) String() string { return s.Command }

// Format is what every verb of package fmt prints: [Stdio.String].
func (s Stdio) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText is what encodings write: [Stdio.String].
func (s Stdio) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText is what encodings write: [HTTP.String].
func (h HTTP) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// MarshalText is what encodings write: [SSE.String].
func (s SSE) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the URL without user, query and fragment, which may hold secrets.
func (h HTTP) String() string { return bareURL(h.URL) }

// Format is what every verb of package fmt prints: [HTTP.String].
func (h HTTP) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, h.String()) }

// String is the URL without user, query and fragment, which may hold secrets.
func (s SSE) String() string { return bareURL(s.URL) }

// Format is what every verb of package fmt prints: [SSE.String].
func (s SSE) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

func bareURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "<unreadable URL>"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Pair is one environment variable or header. Lists of pairs keep their order.
type Pair struct {
	Name  string
	Value Secret
}

// Secret is text that prints as "<secret>" in every format, log and encoding. Its Reveal
// method returns the text.
type Secret = secret.Value

// NewSecret keeps text.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Timeouts bound each remote step. Zero is the default, negative is none.
type Timeouts struct {
	Connect time.Duration // from start to ready; 30 s
	List    time.Duration // a whole listing; 30 s
	Call    time.Duration // since the call's last progress; 60 s
	Total   time.Duration // a call in all, whatever its progress; 10 min
	Queue   time.Duration // for a request's turn, where there are too many; FleetOptions.CallWait
}

// Equal reports whether two servers are reached in the same way, and the same is
// made of them.
func (s Server) Equal(o Server) bool {
	return s.sameReach(o) && toolConfigOf(s).same(toolConfigOf(o))
}

func sameFlag(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// sameReach reports whether a connection to the one is as good for the other.
func (s Server) sameReach(o Server) bool {
	if s.ID != o.ID || s.Timeouts != o.Timeouts || s.Era != o.Era || s.TLS != o.TLS || !s.OAuth.Equal(o.OAuth) || !s.Forward.equal(o.Forward) || s.Pool.Per != o.Pool.Per {
		return false
	}
	switch a := s.Transport.(type) {
	case Stdio:
		b, ok := o.Transport.(Stdio)
		return ok && a.Command == b.Command && slices.Equal(a.Args, b.Args) &&
			slices.Equal(a.Env, b.Env) && a.Dir == b.Dir && a.Fresh == b.Fresh && a.InheritEnv == b.InheritEnv && slices.Equal(a.Without, b.Without)
	case HTTP:
		b, ok := o.Transport.(HTTP)
		return ok && a.URL == b.URL && slices.Equal(a.Headers, b.Headers)
	case SSE:
		b, ok := o.Transport.(SSE)
		return ok && a.URL == b.URL && slices.Equal(a.Headers, b.Headers)
	}
	return s.Transport == nil && o.Transport == nil
}
