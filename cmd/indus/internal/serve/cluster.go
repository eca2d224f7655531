package serve

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/indusagi/indus/cluster"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
)

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
func (p *replication) join(ctx context.Context, l net.Listener) error {
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
	members, err := cluster.Join(ctx, p.shared, p.own.Name, net.JoinHostPort(host, port), p.shared.Lease)
	if _, taken := errors.AsType[*cluster.HeldError](err); taken {
		return command.AsUsage(fmt.Errorf("--replica %s: %w", p.replica, err))
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
