// Package config describes MCP servers: how each is reached, which of its tools are used and under which names, and how
// its connections are shared and bounded. It connects to nothing: package interop does, and package mcpconfig reads
// these values from files.
//
// All values are plain data. A value that is not changed any more may be read from any goroutine. Those that may hold a
// secret print without it.
package config

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/schema"
)

// Server configures how to reach one MCP server: an id, and exactly one transport.
type Server struct {
	// ID names the server, and its tools are mounted under it. It must not be empty.
	ID string
	// Transport is [Stdio], [HTTP] or [SSE].
	Transport TransportConfig
	// Era is the only era that is used with the server: interop.Legacy or interop.Modern. If it is empty, the era is
	// detected and remembered.
	Era protocol.Era
	// TLS, OAuth and Forward apply to a server at a URL. The zero values are valid.
	TLS     TLS
	OAuth   OAuth
	Forward Forward
	// Timeouts bounds each remote step. The zero value means the defaults.
	Timeouts Timeouts
	// Secrets are additional values that no message of the server may reveal, beside the values of Env and Headers.
	// They are the variables in its arguments or its URL. See [Server.Mask].
	Secrets []Secret
	// Tools selects and renames its tools. The zero value mounts all of them unchanged.
	Tools ToolRules
	// Changes is the policy for tools that differ from their approved form. If it is empty, it is [AcceptChanges].
	// ledger.Attach has the approved forms, and may apply a stricter policy. A mount without it has no tools of a
	// server that holds or denies changes.
	Changes ChangePolicy
	// Pool bounds its connections and its concurrent requests. The zero value means one connection and no bound.
	Pool Pool
	// Identity replaces the command, the directory and the arguments of a [Stdio], in this order, for
	// ledger.Fingerprint. Values that depend on the current directory appear as the configuration writes them. So an
	// approval of tools holds everywhere. If it is nil, the real values are used.
	Identity []Secret
	// Profile is the form in which models see its tools if MountOptions.Profile is nil. If it is nil too, the mount's
	// default applies.
	Profile *schema.Profile
	// Lazy makes a fleet connect the server at the first request that needs it. Until then the fleet lists its known
	// tools (interop.FleetOptions.Known). A server without known tools is connected once to be listed. If it is nil,
	// interop.FleetOptions.Lazy applies.
	Lazy *bool
	// Idle is how long a fleet keeps an unused server connected. After that time its process or session ends. A
	// request, a resource subscription, a task, or a connection of a client that the server can ask counts as use. The
	// server's list stays, and the next request that needs the server connects it again. A connection for a client's
	// session or a principal closes after the same time without a request. Zero means interop.FleetOptions.Idle. If it is
	// negative, the server stays connected as long as the fleet, and a session's connection as long as the session.
	Idle time.Duration
	// Single makes a [Stdio] server run once among several programs, with one process in each of them that holds a lease.
	// A program connects to it by Lease or Elsewhere of interop.EndpointOptions. Without both it does not start the
	// server. If Single is false, each program has its own process.
	Single bool
}

// String returns the server's id and address, without arguments and other parts that may hold a secret.
func (s Server) String() string {
	if s.Transport == nil {
		return s.ID
	}
	return fmt.Sprintf("%s (%s: %v)", s.ID, s.Transport.Kind(), s.Transport)
}

// Format prints [Server.String] for every verb of package fmt, even inside a type that has a server in an exported
// field.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns [Server.String] for slog.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns [Server.String] for encodings.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ChangePolicy decides on a tool that changed after its last approval (a "rug pull"): its title, description, schemas
// or annotations. A tool that is new is approved as it is. So is a tool of a server with a new configuration.
type ChangePolicy string

// The policies, from the most lenient.
const (
	AcceptChanges ChangePolicy = "accept" // it is live, and logged and shown as changed; "" means the same
	HoldChanges   ChangePolicy = "hold"   // it is not live until a person accepts it
	DenyChanges   ChangePolicy = "deny"   // it is not live in this run, even if it is accepted meanwhile
)

// Guards reports whether the policy keeps changed tools back.
func (p ChangePolicy) Guards() bool { return p != AcceptChanges && p != "" }

// Strictest returns the stricter of two policies. An unknown policy counts as [DenyChanges].
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

// ToolRules selects the tools of a server that are mounted, and their names. In patterns "*" matches any characters and
// "?" matches one. All other characters match themselves. Patterns and keys use the server's own names. A tool that is
// left out is neither listed nor called. interop.Fleet.Quarantined returns such tools, and rules that match no tool.
type ToolRules struct {
	// Allow has patterns of the tools that are mounted. If it is nil, all tools are mounted. If it is empty, none are.
	Allow []string
	// Deny has patterns of the tools that are not mounted, even if Allow matches them.
	Deny []string
	// Rename maps the server's name of a tool to the name under which it is mounted. The full name is [QualifiedName]
	// of the server and that name. If two tools have one name, the tool that the server lists first is mounted.
	Rename map[string]string
	// Describe maps the server's name of a tool to a description that replaces its own, also in the tool object that a
	// host publishes.
	Describe map[string]string
}

// TransportConfig is a closed union: [Stdio], [HTTP] or [SSE].
type TransportConfig interface{ Kind() TransportKind }

// TransportKind names a transport as it is spelled in configurations.
type TransportKind string

// The transports.
const (
	KindStdio TransportKind = "stdio"
	KindSSE   TransportKind = "sse"
	KindHTTP  TransportKind = "streamable-http"
)

// Stdio is a server that runs as a child process.
type Stdio struct {
	// Command is looked up in the PATH of the child.
	Command string
	Args    []string
	// Env is added to the minimal environment (PATH, HOME, locale, TMPDIR). If two entries have one name, the later
	// wins.
	Env []Pair
	// Dir is the working directory. If it is empty, the working directory of this process is used.
	Dir string
	// Fresh starts each process in a new, empty directory below Dir, for this user alone (mode 0700). Dir must then not
	// be empty, and is created if it is missing. The new directory is removed at the end of the process, unless the
	// server has left files in it. If Fresh is false, the process starts in Dir itself.
	Fresh bool
	// Path is the PATH of the child, unless Env sets it. If it is empty, the PATH of this process is used.
	Path string
	// InheritEnv passes the whole environment of this process to the child. Entries of Env override it.
	InheritEnv bool
	// Without are variables of this process that InheritEnv does not pass on, such as its own keys. If it is nil, all
	// are passed on.
	Without []string
	// Sandbox limits what the server may reach. If it is nil, the server may reach what this user may.
	Sandbox *Sandbox
	// Locked is the version of its package that is started. If it is nil, the command decides alone.
	Locked *Locked
}

// Environ returns the current environment for the child, each entry as "NAME=value".
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

// HTTP is a server at a URL. It speaks streamable HTTP of 2026-07-28, or else of earlier revisions, or else HTTP+SSE.
type HTTP struct {
	URL     string
	Headers []Pair
}

// SSE is a server that speaks only HTTP+SSE, the transport of 2024-11-05.
type SSE struct {
	URL     string
	Headers []Pair
}

// Kind returns [KindStdio].
func (Stdio) Kind() TransportKind { return KindStdio }

// Kind returns [KindHTTP].
func (HTTP) Kind() TransportKind { return KindHTTP }

// Kind returns [KindSSE].
func (SSE) Kind() TransportKind { return KindSSE }

// String returns the command without its arguments, which may hold secrets.
func (s Stdio) String() string { return s.Command }

// Format prints [Stdio.String] for every verb of package fmt.
func (s Stdio) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns [Stdio.String] for encodings.
func (s Stdio) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns [HTTP.String] for encodings.
func (h HTTP) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// MarshalText returns [SSE.String] for encodings.
func (s SSE) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the URL without user, query and fragment, which may hold secrets.
func (h HTTP) String() string { return bareURL(h.URL) }

// Format prints [HTTP.String] for every verb of package fmt.
func (h HTTP) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, h.String()) }

// String returns the URL without user, query and fragment, which may hold secrets.
func (s SSE) String() string { return bareURL(s.URL) }

// Format prints [SSE.String] for every verb of package fmt.
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

// Secret is text that prints as "<secret>" in every format, log and encoding. Its Reveal method returns the text.
type Secret = secret.Value

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret { return secret.NewValue(text) }

// Timeouts bounds each remote step. Zero means the default below, and a negative value means no bound.
type Timeouts struct {
	Connect time.Duration // from start to ready; see [Server.ConnectTime]
	List    time.Duration // a whole listing; 30 s
	Call    time.Duration // since the call's last progress; 60 s
	Total   time.Duration // a call in total, whatever its progress; 10 min
	Queue   time.Duration // for a request's turn if there are too many; interop.FleetOptions.CallWait
}

// ConnectTime returns the bound of the time from start to ready, or 0 if there is none. The default is 30 s, and two
// minutes for a command line with a program that may download a package or an image first, such as npx or docker.
func (s Server) ConnectTime() time.Duration {
	byDefault := protocol.DefaultConnect
	if t, ok := s.Transport.(Stdio); ok && (downloads(t.Command) || slices.ContainsFunc(t.Args, downloads)) {
		byDefault = protocol.DownloadConnect
	}
	return protocol.Duration(s.Timeouts.Connect, byDefault)
}

// downloads reports whether a word of a command line is a program that may download what it starts, or a command line
// that begins with one.
func downloads(word string) bool {
	word, _, _ = strings.Cut(word, " ")
	switch proc.ProgramName(word) {
	case "npx", "pnpx", "bunx", "uvx", "pipx", "dnx", "pnpm", "yarn", "bun", "uv", "deno", "docker", "podman", "nerdctl":
		return true
	}
	return false
}

// Equal reports whether two servers are reached in the same way and have the same configuration.
func (s Server) Equal(o Server) bool { return reflect.DeepEqual(s.bare(), o.bare()) }

// SameReach reports whether a connection to one server can also serve the other: only tools, timers and bounds differ.
func (s Server) SameReach(o Server) bool {
	return reflect.DeepEqual(s.bare().WithSettings(Server{}), o.bare().WithSettings(Server{}))
}

// bare returns the server without the fields that neither a connection nor its use depends on.
func (s Server) bare() Server {
	s.Secrets, s.Identity = nil, nil
	if t, ok := s.Transport.(Stdio); ok {
		t.Path = ""
		s.Transport = t
	}
	return s
}

// WithSettings returns the server with the settings of another one that do not affect how a server is reached: which
// tools it has and how they are shown, when it is connected, and the bounds of its pool.
func (s Server) WithSettings(o Server) Server {
	s.Tools, s.Profile, s.Changes, s.Lazy, s.Idle = o.Tools, o.Profile, o.Changes, o.Lazy, o.Idle
	o.Pool.Per = s.Pool.Per
	s.Pool = o.Pool
	return s
}

// Clone returns a copy that shares no data with s that a caller could change.
func (s Server) Clone() Server {
	switch t := s.Transport.(type) {
	case Stdio:
		t.Args, t.Env, t.Sandbox = slices.Clone(t.Args), slices.Clone(t.Env), t.Sandbox.clone()
		s.Transport = t
	case HTTP:
		t.Headers = slices.Clone(t.Headers)
		s.Transport = t
	case SSE:
		t.Headers = slices.Clone(t.Headers)
		s.Transport = t
	}
	s.Secrets, s.Tools = slices.Clone(s.Secrets), s.Tools.clone()
	s.OAuth.Scopes, s.Forward.Headers = slices.Clone(s.OAuth.Scopes), slices.Clone(s.Forward.Headers)
	return s
}

// DeniedReason returns the reason why the rules leave a tool out, or "" if they do not.
func (r *ToolRules) DeniedReason(tool string) string {
	for _, p := range r.Deny {
		if protocol.Matches(p, tool) {
			return fmt.Sprintf("denied by the configuration: %q", p)
		}
	}
	if r.Allow == nil || slices.ContainsFunc(r.Allow, func(p string) bool { return protocol.Matches(p, tool) }) {
		return ""
	}
	return "not among the tools that the configuration allows"
}

// canMountAs reports whether some tool may be mounted under a plain name.
func (r *ToolRules) canMountAs(name string) bool {
	if r.Rename[name] == "" && r.DeniedReason(name) == "" {
		return true
	}
	for tool, as := range r.Rename {
		if as == name && r.DeniedReason(tool) == "" {
			return true
		}
	}
	return false
}

func (r ToolRules) clone() ToolRules {
	return ToolRules{
		Allow: slices.Clone(r.Allow), Deny: slices.Clone(r.Deny),
		Rename: maps.Clone(r.Rename), Describe: maps.Clone(r.Describe),
	}
}
