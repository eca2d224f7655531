package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

// membersName is the KV of the members of a cluster.
const membersName = "members"

// Members are the processes of a cluster with their addresses.
type Members struct {
	engine    Engine
	name, own string
	ttl       time.Duration
	stop      context.CancelFunc
	running   sync.WaitGroup
	holders   *Holders

	mu    sync.Mutex
	lease *Lease
}

// Join adds this process to the members, and returns once it knows the others. It stays a member until Leave: its lease
// is renewed, and taken again if it is lost. If another process has the name with another address, Join waits until the
// lease of that process could have expired, and then returns a [*HeldError]. It calls waits first, with the address and
// the longest wait. If waits is nil, it calls nothing. A process with the same address is an earlier one, and is
// replaced at once.
func Join(
	ctx context.Context, engine Engine, name, address string, ttl time.Duration,
	waits func(holder string, most time.Duration),
) (*Members, error) {
	m := &Members{engine: engine, name: name, own: address, ttl: max(ttl, MinLease)}
	isEarlier := func(other string) bool { return other == address }
	if err := m.acquire(ctx, isEarlier, waits); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.running.Go(func() { m.keep(run) })
	var err error
	if m.holders, err = OpenHolders(ctx, engine.KV(membersName)); err != nil {
		return nil, errors.Join(err, m.Leave(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// acquire takes the lease of the name. It waits until a lease of another process could have expired.
func (m *Members) acquire(
	ctx context.Context, replaces func(address string) bool, waits func(holder string, most time.Duration),
) error {
	most := m.ttl + m.ttl/leaseRenew
	deadline := time.Now().Add(most)
	for {
		lease, err := Acquire(ctx, m.engine.KV(membersName), m.name, m.own, m.ttl, replaces)
		if err == nil {
			m.mu.Lock()
			m.lease = lease
			m.mu.Unlock()
			return nil
		}
		held, ok := errors.AsType[*HeldError](err)
		switch {
		case !ok || time.Now().After(deadline):
			return err
		case waits != nil:
			waits(held.Data, most)
			waits = nil
		}
		if !watch.Sleep(ctx, m.ttl/leaseRetry) {
			return errors.Join(err, ctx.Err())
		}
	}
}

// keep takes the lease again whenever it is lost. It does not replace a process with the same address, which is a later
// one.
func (m *Members) keep(ctx context.Context) {
	for {
		select {
		case <-m.current().Done():
		case <-ctx.Done():
			return
		}
		for m.acquire(ctx, nil, nil) != nil {
			if !watch.Sleep(ctx, m.ttl/leaseRetry) {
				return
			}
		}
	}
}

func (m *Members) current() *Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// Address returns the address of a member, or "" if there is none of that name. While the engine cannot be reached, the
// last known members stay.
func (m *Members) Address(name string) string {
	address, _ := m.holders.Of(name)
	return address
}

// All returns the addresses of all members by name.
func (m *Members) All() map[string]string { return m.holders.All() }

// Leave removes this process from the members.
func (m *Members) Leave(ctx context.Context) error {
	m.stop()
	m.running.Wait()
	if m.holders != nil {
		m.holders.Close()
	}
	return m.current().Release(ctx)
}
