package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/spf13/cobra"
)

// replication holds the flags of a process that is one of several replicas.
type replication struct {
	replica    string
	peers      []string
	peerKeys   string
	peerTLS    string
	readyDelay time.Duration
	cluster    string // URLs
	// The fields below are set by check.
	own    replica.Peer
	others []replica.Peer

	shared  *command.Cluster // set by runServe; nil: there is none
	members atomic.Pointer[cluster.Members]
	holder  atomic.Pointer[string] // the replica that has taken the name of this one; nil or "": none
	silent  sync.Map               // by the name of a peer that does not answer, a sentence
	singles *singles               // set by runServe
}

// defaultReadyDelay is the default of --ready-delay with --replica. Load balancers need a few seconds to see /readyz.
const defaultReadyDelay = 5 * time.Second

func (p *replication) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.replica, "replica", "", `NAME=HOST:PORT  this process is the replica NAME of several that
		serve the same clients behind a load balancer. The others reach it at HOST:PORT, a listener for replicas
		alone. All have the same --key-file`)
	cmd.Flags().Var(command.Repeated(&p.peers), "peer", `NAME=HOST:PORT  another replica; may be repeated, and this replica
		may be among them. dns+srv:NAME stands for the targets of NAME in DNS, which are looked up every 10 s: the
		first label of a target is its name`)
	cmd.Flags().StringVar(&p.peerKeys, "peer-key-file", "", `FILE  the keys by which replicas authenticate each other, one
		per line ("openssl rand -hex 32" creates one): the first is used, all are accepted. Changes are followed`)
	cmd.Flags().StringVar(&p.peerTLS, "peer-tls", "", `DIR  ordinary mutual TLS instead of --peer-key-file: tls.crt,
		tls.key and ca.crt, as Kubernetes mounts them. The authority must sign nothing but replicas`)
	cmd.Flags().DurationVar(&p.readyDelay, "ready-delay", 0, `TIME  how long requests are still served after SIGTERM while
		/readyz answers 503, so that load balancers choose another replica; then --drain begins. A second signal ends it
		(default: 5s with --replica, else 0)`)
	cmd.Flags().StringVar(&p.cluster, "cluster", "", `URL[,URL]  the NATS servers that keep the state which replicas share,
		such as nats://10.0.0.9:4222; no --peer is needed then (default: "cluster" of the configuration; without any,
		nothing is shared)`)
	_ = cmd.MarkFlagFilename("peer-key-file")
	_ = cmd.MarkFlagDirname("peer-tls")
}

// check refuses invalid values and combinations.
func (p *replication) check(cmd *cobra.Command) error {
	if p.readyDelay < 0 {
		return command.Usagef("--ready-delay %v: it is how long requests are still served after SIGTERM, such as 5s",
			p.readyDelay)
	}
	if p.replica == "" {
		for _, name := range []string{"peer", "peer-key-file", "peer-tls"} {
			if cmd.Flags().Changed(name) {
				return command.Usagef("--%s needs --replica NAME=HOST:PORT, the name and address of this process", name)
			}
		}
		return nil
	}
	if !cmd.Flags().Changed("ready-delay") {
		p.readyDelay = defaultReadyDelay
	}
	if stdio, _ := cmd.Flags().GetBool("stdio"); stdio {
		return command.Usagef("--stdio and --replica exclude each other: the process that starts it is its only client")
	}
	if (p.peerKeys == "") == (p.peerTLS == "") {
		return command.Usagef("--replica needs either --peer-key-file FILE or --peer-tls DIR: " +
			"only replicas may send requests for principals")
	}
	var err error
	p.own, err = replica.ParsePeer(p.replica)
	if err == nil && p.own.Service != "" {
		err = errors.New("write NAME=HOST:PORT, such as a=10.0.0.1:7333")
	}
	if err != nil {
		return command.Usagef("--replica %q: %w", p.replica, err)
	}
	for _, text := range p.peers {
		other, err := replica.ParsePeer(text)
		if err != nil {
			return command.Usagef("--peer %q: %w", text, err)
		}
		p.others = append(p.others, other)
	}
	return nil
}

// checkKeys refuses to start a replica that would make sealing keys of its own.
func (p *replication) checkKeys(path string) error {
	if p.replica == "" {
		return nil
	}
	if path == "" {
		return command.Usagef("--replica needs --key-file FILE, the same for all replicas")
	}
	if _, err := os.Stat(path); err != nil {
		return missingKeys("--key-file", path, err)
	}
	return nil
}

func missingKeys(flag, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return command.Usagef("%s %s is not there, and all replicas need the same: "+
			"(umask 077; openssl rand -hex 32 > %s) creates one, to copy to each of them", flag, path, path)
	}
	return command.Usagef("%s %w", flag, err)
}

// openReplica returns the replica of the flags and its listener, or nil if there is none.
func (p *replication) openReplica(keys *sealed.Keys, s show.Streams) (*replica.Replica, net.Listener, error) {
	if p.replica == "" {
		return nil, nil, nil
	}
	credentials := replica.TLSDir(p.peerTLS)
	if p.peerKeys != "" {
		credentials = replica.KeyFile(p.peerKeys)
	}
	remote := &identity.Remote{}
	r, err := replica.New(&replica.Options{
		Name: p.own.Name, Credentials: credentials, Peers: p.others, Logger: s.Logger(),
		Claims: remote.Claims, Restore: remote.Restore, Members: p.memberAddress,
		Services: func(name string) http.Handler {
			if name == keysService {
				return opensSealed(keys)
			}
			return p.singles.handler(name)
		},
		Report: func(text string) { s.Reportf("%s", show.Clean(text)) },
	})
	switch {
	case err != nil && p.peerKeys != "":
		return nil, nil, missingKeys("--peer-key-file", p.peerKeys, err)
	case err != nil:
		return nil, nil, command.Usagef("--peer-tls %s: %w", p.peerTLS, err)
	}
	l, err := net.Listen("tcp", p.own.Address)
	if err != nil {
		return nil, nil, fmt.Errorf("--replica %s: %w; write a HOST:PORT of this machine that is free", p.replica, err)
	}
	s.Reportf("replica %s: the others reach it at %s", p.own.Name, l.Addr())
	return r, l, nil
}

// checkPeers reports the peers that run now and whose credentials or sealing keys do not fit. A peer that starts later
// checks this replica. DNS names of peers are not looked up.
func (p *replication) checkPeers(ctx context.Context, r *replica.Replica, keys *sealed.Keys, s show.Streams) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, name := range p.peerNames() {
		running.Go(func() {
			for n := 0; ; n++ {
				err := r.Check(ctx, name)
				if err == nil && !knowsKeys(ctx, r, name, keys) {
					s.Reportf("the replica %s cannot read what clients got from this one: give all replicas the same keys "+
						"in --key-file", name)
				}
				if err == nil || errors.Is(err, replica.ErrUntrusted) || !slices.Contains(p.peerNames(), name) {
					p.silent.Delete(name)
					return
				}
				if n >= peerChecks {
					p.silent.Store(name, fmt.Sprintf("The replica %s does not answer, and requests for its sessions get 404 here: "+
						"check its address and whether it runs (%v).", name, err))
				}
				if !watch.Sleep(ctx, peerCheckPause) {
					return
				}
			}
		})
	}
}

// keysService is the service of a replica that opens a token of another one. No server has this name.
const keysService = "sealing keys"

// knowsKeys reports whether a replica opens tokens of this one. It returns true if that is not known.
func knowsKeys(ctx context.Context, r *replica.Replica, name string, keys *sealed.Keys) bool {
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+name, nil)
	if err != nil {
		return true
	}
	token := keys.Seal(sealed.Token{Kind: sealed.Cursor})
	answer, err := r.Do(in, replica.Request{To: name, Service: keysService, Body: []byte(token)})
	if err != nil { // also of an earlier version, which has no such service
		return true
	}
	answer.Body.Close()
	return answer.StatusCode != http.StatusConflict
}

// opensSealed returns the handler of keysService.
func opensSealed(keys *sealed.Keys) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
		if err == nil {
			_, err = keys.Open(string(token), sealed.Want{Kind: sealed.Cursor})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	}
}

// A peer that starts at the same time may take some time until it answers.
const (
	peerChecks     = 10
	peerCheckPause = 3 * time.Second
)

// peerNames returns the names of the other replicas.
func (p *replication) peerNames() []string {
	names := map[string]bool{}
	for _, other := range p.others {
		names[other.Name] = true
	}
	if m := p.members.Load(); m != nil {
		for name := range m.All() {
			names[name] = true
		}
	}
	delete(names, p.own.Name)
	delete(names, "") // a name in DNS
	return slices.Collect(maps.Keys(names))
}

// missing returns a sentence about each replica of the flags that is no member of the cluster. Without a cluster it is
// not known which replicas run.
func (p *replication) missing() (all []string) {
	m := p.members.Load()
	if m == nil {
		return nil
	}
	members := m.All()
	for _, other := range p.others {
		if _, runs := members[other.Name]; other.Name != "" && other.Name != p.own.Name && !runs {
			all = append(all, fmt.Sprintf("The replica %s (%s) is missing: it is no member of the cluster now.", other.Name,
				other.Address))
		}
	}
	return all
}

// signalPause is the time in which a second signal counts as the first: a wrapper may forward the signal of a terminal.
const signalPause = 200 * time.Millisecond

// delay returns a context that ends once the ready delay after the end of ctx is over, or a second signal has arrived.
// Meanwhile /readyz answers 503.
func (p *replication) delay(ctx context.Context, g *gateway.Gateway, s show.Streams) (
	later context.Context, stop func(),
) {
	if p.readyDelay == 0 {
		return ctx, func() {}
	}
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unused := context.AfterFunc(ctx, func() {
		defer cancel()
		g.Leave()
		second := make(chan os.Signal, 1)
		signal.Notify(second, os.Interrupt, syscall.SIGTERM) // before the signal ends the process again
		defer signal.Stop(second)
		began, over := time.Now(), time.After(p.readyDelay)
		s.Reportf("serving for %v more, until load balancers have seen it; a second signal ends this", p.readyDelay)
		for {
			select {
			case <-second:
				if time.Since(began) < signalPause {
					continue
				}
			case <-over:
			case <-later.Done():
			}
			return
		}
	})
	return later, func() { unused(); cancel() }
}

// openCluster connects to the cluster of the flag or the configuration, or returns nil if there is none. Without its
// state, the process does not start.
func (f *serveFlags) openCluster(ctx context.Context, c *mcpconfig.Config, s show.Streams) (*command.Cluster, error) {
	settings := c.Cluster
	if f.cluster != "" {
		own := mcpconfig.Cluster{}
		if settings != nil && !settings.Broken {
			own = *settings
		}
		own.NATS, settings = f.cluster, &own
	}
	shared, err := command.OpenCluster(ctx, settings, 0, s)
	if shared != nil {
		s.Reportf("cluster: %s", show.Clean(shared.Describe()))
		for _, w := range shared.Warnings() {
			s.Reportf("cluster: %s", show.Clean(w))
		}
	}
	return shared, err
}

// repeatShared returns the flags that select the cluster, or "", for a command that a message suggests. Only serve has
// --cluster: other commands need a file with the setting.
func (f *serveFlags) repeatShared() string {
	switch {
	case f.shared == nil:
		return ""
	case f.cluster != "":
		return " --mcp FILE"
	}
	return f.RepeatPaths()
}

// join makes this process a member of the cluster, so that other replicas find it without --peer.
func (p *replication) join(
	ctx context.Context, l net.Listener, c *mcpconfig.Config, k *controls, s show.Streams,
) error {
	if p.shared == nil || l == nil {
		return nil
	}
	host, port, err := net.SplitHostPort(p.own.Address)
	if err != nil {
		return err
	}
	if port == "0" {
		_, port, _ = net.SplitHostPort(l.Addr().String())
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return command.Usagef("--replica %s: with a cluster, HOST is where the other replicas reach this one, not %q",
			p.replica, host)
	}
	waits := func(holder string, most time.Duration) {
		s.Reportf("cluster: the name %s belongs to a replica at %s: waiting for its end, for at most %v", p.own.Name,
			show.Clean(holder), most.Round(time.Second))
	}
	own := cluster.Member{Address: net.JoinHostPort(host, port), Facts: factsOf(c, k)}
	members, err := cluster.Join(ctx, p.shared, p.own.Name, own, p.shared.Lease, &cluster.MembersOptions{
		Waits: waits, Taken: func(holder string) { p.taken(holder, s) },
	})
	if held, taken := errors.AsType[*cluster.HeldError](err); taken {
		return command.Usagef("--replica %s: a running replica at %s has this name: choose another name", p.replica,
			show.Clean(held.Data))
	}
	p.members.Store(members)
	return err
}

// leave ends the membership.
func (p *replication) leave(ctx context.Context, s show.Streams) {
	if m := p.members.Load(); m != nil {
		if err := m.Leave(ctx); err != nil {
			s.Reportf("the cluster counts this replica as present for a while: %v", err)
		}
	}
}

// memberAddress returns the address of a member of the cluster, or "".
func (p *replication) memberAddress(name string) string {
	if m := p.members.Load(); m != nil {
		return m.Address(name)
	}
	return ""
}
