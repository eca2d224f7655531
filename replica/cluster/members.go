package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

// membersName is the KV of the members of a cluster.
const membersName = "members"

// Member is what a process of a cluster publishes about itself.
type Member struct {
	// Address is where the other processes reach it.
	Address string `json:"address"`
	// Facts are other values by their names, such as a version. Processes compare them.
	Facts map[string]string `json:"facts,omitempty"`
}

func (m Member) encode() string {
	text, _ := json.Marshal(m) // a struct of strings
	return string(text)
}

// decodeMember returns the member of the data of a lease. If the data is of no member, it is empty.
func decodeMember(data string) (m Member) {
	_ = json.Unmarshal([]byte(data), &m)
	return m
}

// MembersOptions configure [Join].
type MembersOptions struct {
	// Waits is called if another process has the name, with its address and the longest wait. Nil ignores it.
	Waits func(holder string, most time.Duration)
	// Taken is called when another process has taken the name of this one, which was silent for too long, with the
	// address of that process. It is called with "" when this process has its name again. Nil ignores it.
	Taken func(holder string)
}

// Members are the processes of a cluster.
type Members struct {
	engine  Engine
	name    string
	ttl     time.Duration
	options MembersOptions
	stop    context.CancelFunc
	running sync.WaitGroup
	holders *Holders

	mu    sync.Mutex
	own   Member
	lease *Lease
}

// Join adds this process to the members, and returns once it knows the others. It stays a member until Leave: its lease
// is renewed, and taken again if it is lost. If another process has the name with another address, Join waits until the
// lease of that process could have expired, and then returns a [*HeldError], whose Data is the address. A process with
// the same address is an earlier one, and is replaced at once. If the engine answers so late that each lease is over
// before its confirmation arrives, the error wraps [ErrUnavailable].
func Join(
	ctx context.Context, engine Engine, name string, own Member, ttl time.Duration, o *MembersOptions,
) (*Members, error) {
	m := &Members{engine: engine, name: name, own: own, ttl: max(ttl, MinLease)}
	if o != nil {
		m.options = *o
	}
	if err := m.acquire(ctx); err != nil {
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

// acquire takes the lease of the name for the first time. It waits until a lease of another process could have expired.
func (m *Members) acquire(ctx context.Context) error {
	isEarlier := func(data string) bool { return decodeMember(data).Address == m.own.Address }
	deadline, waits := time.Now().Add(m.longest()), m.options.Waits
	for {
		err := m.take(ctx, isEarlier)
		held, isHeld := errors.AsType[*HeldError](err)
		if !isHeld {
			return err
		}
		holder := decodeMember(held.Data).Address
		switch {
		case !time.Now().After(deadline):
		case holder == "":
			return fmt.Errorf("%w: a lease of the name %s ends before its confirmation arrives", ErrUnavailable, m.name)
		default:
			return &HeldError{held.Key, holder}
		}
		if waits != nil && holder != "" {
			waits(holder, m.longest())
			waits = nil
		}
		if !watch.Sleep(ctx, m.ttl/leaseRetry) {
			return errors.Join(err, ctx.Err())
		}
	}
}

// longest returns the time after which a lease of a process that has ended is over.
func (m *Members) longest() time.Duration { return m.ttl + m.ttl/leaseRenew }

// take takes the lease of the name with the present facts.
func (m *Members) take(ctx context.Context, replaces func(data string) bool) error {
	m.mu.Lock()
	data := m.own.encode()
	m.mu.Unlock()
	lease, err := Acquire(ctx, m.engine.KV(membersName), m.name, data, m.ttl, replaces)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = lease
	lease.publish(m.own.encode())
	return nil
}

// keep takes the lease again whenever it is lost.
func (m *Members) keep(ctx context.Context) {
	for {
		select {
		case <-m.current().Done():
			m.regain(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// regain takes the lost lease again once it is free. It does not replace a process with the same address, which is a
// later one.
func (m *Members) regain(ctx context.Context) {
	own, taken, lost := m.own.Address, "", time.Now() // the address never changes
	for {
		err := m.take(ctx, nil)
		if err == nil {
			break
		}
		holder := ""
		if held, ok := errors.AsType[*HeldError](err); ok {
			holder = decodeMember(held.Data).Address
		}
		isOwn := holder == own && time.Since(lost) <= m.longest() // an earlier lease of this process
		if holder != "" && !isOwn && holder != taken {
			taken = holder
			m.report(taken)
		}
		if !watch.Sleep(ctx, m.ttl/leaseRetry) {
			return
		}
	}
	if taken != "" {
		m.report("")
	}
}

func (m *Members) report(holder string) {
	if m.options.Taken != nil {
		m.options.Taken(holder)
	}
}

func (m *Members) current() *Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// Publish replaces the facts of this process. The others learn them with the next renewal of the lease.
func (m *Members) Publish(facts map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own.Facts = facts
	m.lease.publish(m.own.encode())
}

// Address returns the address of a member, or "" if there is none of that name. While the engine cannot be reached, the
// last known members stay.
func (m *Members) Address(name string) string {
	data, _ := m.holders.Of(name)
	return decodeMember(data).Address
}

// All returns all members by name.
func (m *Members) All() map[string]Member { return membersOf(m.holders) }

// Watch calls changed after a process has joined, left or published other facts, until stop has returned.
func (m *Members) Watch(changed func()) (stop func()) { return m.holders.watches.Watch(changed) }

func membersOf(h *Holders) map[string]Member {
	all := map[string]Member{}
	for name, data := range h.All() {
		all[name] = decodeMember(data)
	}
	return all
}

// ReadMembers returns the members of a cluster by name, for a process that is none.
func ReadMembers(ctx context.Context, engine Engine) (map[string]Member, error) {
	h, err := OpenHolders(ctx, engine.KV(membersName))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return membersOf(h), nil
}

// Leave removes this process from the members.
func (m *Members) Leave(ctx context.Context) error {
	m.stop()
	m.running.Wait()
	if m.holders != nil {
		m.holders.Close()
	}
	return m.current().Release(ctx)
}
