package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a [Replica].
type Options struct {
	// Name is the name of this replica: 1 to 32 of a-z, 0-9 and "-".
	Name string
	// Credentials authenticate replicas to each other: [KeyFile] or [TLSDir].
	Credentials *Credentials
	// Peers are the other replicas. This replica itself may be among them. Nil means that there are none.
	Peers []Peer
	// Claims returns what the owner needs to know of an authenticated request besides its principal, and Restore returns
	// such a request with these claims. If both are nil, only the principal is forwarded. See identity.Claims and
	// identity.Restore.
	Claims  func(*http.Request) []byte
	Restore func(*http.Request, []byte) (*http.Request, error)
	// Members returns the address of a replica that is not among the peers, or "". Nil means that there are no others.
	Members func(name string) string
	// Services returns the handler for requests of other replicas to a service ([Replica.Do]), or nil if this replica does
	// not run it now. Nil means that it runs none.
	Services func(name string) http.Handler
	// LookupSRV returns the targets of a name. If it is nil, DNS does.
	LookupSRV func(ctx context.Context, name string) ([]*net.SRV, error)
	// Logger receives the refused requests of peers. If it is nil, nothing is logged.
	Logger *slog.Logger
	// Report receives each peer whose credentials do not fit those of this replica, as a sentence with the remedy, until
	// they fit again. Nil ignores them.
	Report func(string)
}

// Replica is one of several processes. A nil Replica has no name and no peers.
type Replica struct {
	opts        Options
	transport   *http.Transport
	peers       peers
	inFlight    inFlight
	credentials atomic.Int64 // the change of the credentials with which unused connections were made
	heard       sync.Map     // by address, the time at which a peer last accepted or answered a request
	untrusted   sync.Map     // the names of peers that were reported
}

// New returns a replica. It reads the credentials, and returns an error if they or the options cannot be used. It opens
// no connection.
func New(opts *Options) (*Replica, error) {
	r := &Replica{opts: *opts, inFlight: inFlight{owners: map[string]*askedOwner{}}}
	r.opts.Logger = cmp.Or(r.opts.Logger, slog.New(slog.DiscardHandler))
	switch {
	case !isName(opts.Name):
		return nil, nameError(opts.Name)
	case opts.Credentials == nil:
		return nil, errors.New("a replica needs credentials")
	}
	if _, err := opts.Credentials.config(); err != nil {
		return nil, err
	}
	if err := r.peers.set(&r.opts); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialWait, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Second, Interval: 3 * time.Second, Count: 3,
	}}
	r.transport = &http.Transport{
		DialContext: dialer.DialContext, DialTLSContext: r.dialTLS(dialer),
		MaxIdleConnsPerHost: 256, IdleConnTimeout: idleTime, DisableCompression: true,
		ExpectContinueTimeout: time.Hour, // Forward itself gives up
	}
	return r, nil
}

const (
	// answerWait is how long a peer may take to accept a request. It begins to read the body in this time, or it sends
	// the header of its answer if there is no body.
	answerWait = 3 * time.Second
	// dialWait ends a connection that no request waits for any more. Until then, answerWait decides.
	dialWait = 2 * answerWait
	// idleTime is how long an unused connection is kept. It is shorter than a server's, so that the server does not
	// close a connection while a request is sent.
	idleTime = 30 * time.Second
)

// Name returns the name of the replica, or "" if r is nil.
func (r *Replica) Name() string {
	if r == nil {
		return ""
	}
	return r.opts.Name
}

// Close closes the connections to other replicas that are not in use.
func (r *Replica) Close() {
	if r != nil {
		r.transport.CloseIdleConnections()
	}
}

const maxName = 32

func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func nameError(name string) error {
	return fmt.Errorf("%.40q is no name of a replica: write 1 to %d of a-z, 0-9 and -", name, maxName)
}
