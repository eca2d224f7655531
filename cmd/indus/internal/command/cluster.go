package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Cluster is the connection to the state that several processes share. A nil Cluster shares nothing.
type Cluster struct {
	*nats.Engine
	Lease time.Duration

	mu        sync.Mutex
	documents map[string]*cluster.Document
}

const (
	defaultLease   = 10 * time.Second
	clusterWait    = 10 * time.Second
	connectAgain   = 500 * time.Millisecond
	approvalsShare = "approvals"
	keysShare      = "keys"
	signInsShare   = "sign-ins"
)

// OpenCluster connects to the cluster of a configuration, and waits for it for at most wait. If c is nil, it returns
// nil.
func OpenCluster(ctx context.Context, c *mcpconfig.Cluster, wait time.Duration, s show.Streams) (*Cluster, error) {
	if c == nil {
		return nil, nil
	}
	if c.Broken {
		return nil, Usagef("nothing can be shared: correct %q in the configuration", "cluster")
	}
	o := &nats.Options{
		Servers: c.NATS, CredsFile: c.CredsFile, CA: c.CA, Name: c.Name, Replicas: c.Replicas, Monitor: c.Monitor,
		Report: func(text string) { s.Reportf("cluster: %s", show.Clean(text)) }, // it has texts of the server
	}
	for end := time.Now().Add(wait); ; {
		engine, err := nats.Connect(ctx, o)
		if err == nil {
			lease := cmp.Or(c.Lease, defaultLease)
			return &Cluster{Engine: engine, Lease: lease, documents: map[string]*cluster.Document{}}, nil
		}
		if !errors.Is(err, cluster.ErrUnavailable) || time.Now().After(end) {
			if errors.Is(err, cluster.ErrUnavailable) {
				err = fmt.Errorf(`%w; does NATS run there, and do "nats" and "credsFile" of the "cluster" name it?`, err)
			}
			return nil, clusterError(err)
		}
		if !watch.Sleep(ctx, connectAgain) {
			return nil, ctx.Err()
		}
	}
}

func clusterError(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Code: ExitUnreachable, Err: fmt.Errorf("cluster: %w", err)}
}

// StateError returns an error about state in a file of the user or in a cluster, with its exit code. It returns nil for
// nil.
func StateError(what string, err error) error {
	if err == nil {
		return nil
	}
	code := ExitFault
	if errors.Is(err, cluster.ErrUnavailable) {
		code = ExitUnreachable
	}
	return &ExitError{Code: code, Err: fmt.Errorf("%s: %w", what, err)}
}

// Close ends the connection.
func (c *Cluster) Close() {
	if c != nil {
		for _, d := range c.documents {
			d.Close()
		}
		c.Engine.Close()
	}
}

// document opens a document once.
func (c *Cluster) document(ctx context.Context, name string) (*cluster.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.documents[name]; d != nil {
		return d, nil
	}
	d, err := cluster.OpenDocument(ctx, c.Engine, name)
	if err != nil {
		return nil, clusterError(err)
	}
	c.documents[name] = d
	return d, nil
}

// Keys returns the API keys: of the cluster, or of the file at path if c is nil.
func (c *Cluster) Keys(ctx context.Context, path string) (*identity.Keys, error) {
	if c == nil {
		return identity.NewKeys(path), nil
	}
	d, err := c.document(ctx, keysShare)
	if err != nil {
		return nil, err
	}
	return identity.NewSharedKeys(d), nil
}

// Approvals opens the calls that wait for approval: in the cluster, or in the file at path if c is nil.
func (c *Cluster) Approvals(ctx context.Context, path string, o approval.Options) (*approval.Book, error) {
	if c != nil {
		var err error
		path = "the approvals of the cluster"
		if o.Document, err = c.document(ctx, approvalsShare); err != nil {
			return nil, err
		}
		o.Now = c.Now
	}
	return approval.Open(path, &o)
}

// Tokens opens the sign-ins: of the cluster, or of this user if c is nil or there is no key that all replicas have.
func (c *Cluster) Tokens(ctx context.Context, s show.Streams) (*signin.Tokens, error) {
	if c == nil {
		return signin.Open(s), nil
	}
	if os.Getenv(signin.KeyVariable) == "" {
		s.Reportf("cluster: sign-ins are not shared: set %s to one key for all replicas", signin.KeyVariable)
		return signin.Open(s), nil
	}
	d, err := c.document(ctx, signInsShare)
	if err != nil {
		return nil, err
	}
	tokens, err := signin.OpenShared(ctx, s, c.Engine, d, c.Lease)
	switch {
	case errors.Is(err, cluster.ErrUnavailable):
		return nil, clusterError(err)
	case err != nil:
		return nil, AsUsage(err)
	}
	return tokens, nil
}

// Ledger opens the ledger of the cluster.
func (c *Cluster) Ledger(ctx context.Context, logger *slog.Logger) (*ledger.Shared, error) {
	return ledger.OpenShared(ctx, c.Engine, c.Lease, &ledger.FileOptions{Logger: logger})
}

// SinglesKV is the KV of the leases of servers that run once. Its keys are their ids.
const SinglesKV = "singles"

// SingleHolder returns the replica that runs a server once, or "", and the fingerprint of the server there. The data of
// the lease has both.
func SingleHolder(data string) (name, row string) {
	name, row, _ = strings.Cut(data, " ")
	return name, row
}

// SingleReplicas returns the replicas that run the servers which run once in the cluster, by server.
func SingleReplicas(ctx context.Context, c *mcpconfig.Cluster, s show.Streams) (map[string]string, error) {
	shared, err := OpenCluster(ctx, c, 0, s)
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	holders, err := cluster.OpenHolders(ctx, shared.KV(SinglesKV))
	if err != nil {
		return nil, clusterError(err)
	}
	defer holders.Close()
	replicas := holders.All()
	for server, data := range replicas {
		replicas[server], _ = SingleHolder(data)
	}
	return replicas, nil
}

// ClusterFlags holds the flags of a command that changes state which processes may share.
type ClusterFlags struct {
	ConfigFlags
	wait   time.Duration
	opened bool // Open connected to a cluster
	reads  bool // only Open reads the configuration, so it reports the notes on "cluster"
}

// AddClusterFlags adds the flags to a group of commands.
func AddClusterFlags(cmd *cobra.Command, f *ClusterFlags) {
	cmd.PersistentFlags().Var(Listed(&f.Paths), "mcp", `PATH  the configuration of "indus serve", with its
		"cluster" and views (default: the working directory, then the user's own files)`)
	f.AddWait(cmd.PersistentFlags())
	f.reads = true
}

// AddWait adds the flag --wait.
func (f *ClusterFlags) AddWait(flags *pflag.FlagSet) {
	flags.DurationVar(&f.wait, "wait", clusterWait,
		"TIME  how long to wait for a cluster that cannot be reached (default: 10s)")
}

// Open connects to the cluster of the configuration, or returns nil if there is none.
func (f *ClusterFlags) Open(ctx context.Context, s show.Streams) (*Cluster, error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Notes {
		if f.reads && strings.HasPrefix(n.Reason, `"cluster" `) {
			s.Reportf("%s", n)
		}
	}
	shared, err := OpenCluster(ctx, c.Cluster, f.wait, s)
	f.opened = shared != nil
	return shared, err
}

// Place names the place of the state after Open: the cluster or this machine.
func (f *ClusterFlags) Place() string {
	if f.opened {
		return "in the cluster"
	}
	return "on this machine"
}

// AbsentPlace is the end of a message that something is absent after Open. The state may be in another place.
func (f *ClusterFlags) AbsentPlace() string {
	switch {
	case f.opened:
		return " in the cluster"
	case len(f.Paths) > 0:
		return ` on this machine; the configuration has no "cluster"`
	}
	return " on this machine; --mcp FILE names the configuration of a cluster"
}
