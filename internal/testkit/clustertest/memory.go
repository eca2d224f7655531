// Package clustertest has an engine of package cluster in memory, with faults, and the tests that every engine passes.
package clustertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/replica/cluster"
)

// Memory is an engine in memory. The zero value is empty.
type Memory struct {
	mu       sync.Mutex
	sequence uint64
	kvs      map[string]map[string]cluster.Entry
	before   map[string]cluster.Entry // by name and key: the entry before the last change
	expiry   map[string]*time.Timer
	logs     map[string][]cluster.Record
	subs     map[*subscription]bool
	changed  chan struct{} // closed after a change
}

// Fault is what happens to one step.
type Fault int

// The faults.
const (
	None    Fault = iota
	Refused       // the step is not done, and fails
	Lost          // the step is done, and its answer is lost
	Old           // a read returns the state before the last change
)

// Client is the connection of one process to a Memory.
type Client struct {
	memory *Memory

	mu    sync.Mutex
	fault func() Fault
	down  bool
}

var _ cluster.Engine = (*Client)(nil)

// Connect returns a connection.
func (m *Memory) Connect() *Client { return &Client{memory: m} }

// SetFaults makes a function decide about each step. Nil means that there are no faults.
func (c *Client) SetFaults(fault func() Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// SetDown begins or ends a time in which the connection is lost.
func (c *Client) SetDown(down bool) {
	c.mu.Lock()
	c.down = down
	c.mu.Unlock()
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.memory.notify()
}

func (c *Client) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// step does one step of the engine with the faults of the client.
func (c *Client) step(ctx context.Context, do func(m *Memory, old bool) error) error {
	c.mu.Lock()
	fault := None
	if c.fault != nil {
		fault = c.fault()
	}
	if c.down {
		fault = Refused
	}
	c.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault == Refused {
		return fmt.Errorf("%w: refused by the test", cluster.ErrUnavailable)
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	err := do(c.memory, fault == Old)
	if fault == Lost {
		return fmt.Errorf("%w: the answer was lost by the test", cluster.ErrUnavailable)
	}
	return err
}

// notify announces a change. The lock is held.
func (m *Memory) notify() {
	if m.changed != nil {
		close(m.changed)
	}
	m.changed = nil
}

// change returns a channel that is closed after the next change. The lock is held.
func (m *Memory) change() <-chan struct{} {
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// Now implements [cluster.Engine].
func (c *Client) Now() time.Time { return time.Now() }

// Check implements [cluster.Engine].
func (c *Client) Check() error {
	if c.isDown() {
		return fmt.Errorf("%w: the connection is lost by the test", cluster.ErrUnavailable)
	}
	return nil
}

// KV implements [cluster.Engine].
func (c *Client) KV(name string) cluster.KV { return &memoryKV{c, name} }

// memoryKV is a KV of a Memory.
type memoryKV struct {
	*Client
	name string
}

// Get implements [cluster.KV].
func (k *memoryKV) Get(ctx context.Context, key string) (e cluster.Entry, err error) {
	err = k.step(ctx, func(m *Memory, old bool) error {
		e = m.kvs[k.name][key]
		if before, ok := m.before[k.name+"/"+key]; ok && old {
			e = before
		}
		if e.Revision == 0 {
			return cluster.ErrNotFound
		}
		return nil
	})
	return e, err
}

// Set implements [cluster.KV].
func (k *memoryKV) Set(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (stored uint64, err error) {
	if len(value) > cluster.MaxValue || len(key) > cluster.MaxKey {
		return 0, fmt.Errorf("a key of %d and a value of %d bytes are too long", len(key), len(value))
	}
	err = k.step(ctx, func(m *Memory, _ bool) error {
		if m.kvs[k.name][key].Revision != revision {
			return cluster.ErrConflict
		}
		if m.kvs == nil {
			m.kvs, m.expiry = map[string]map[string]cluster.Entry{}, map[string]*time.Timer{}
			m.before = map[string]cluster.Entry{}
		}
		if m.kvs[k.name] == nil {
			m.kvs[k.name] = map[string]cluster.Entry{}
		}
		m.sequence++
		stored = m.sequence
		m.before[k.name+"/"+key] = m.kvs[k.name][key]
		m.kvs[k.name][key] = cluster.Entry{
			Key: key, Value: slices.Clone(value), Revision: stored, Stored: time.Now(),
		}
		m.expire(k.name, key, stored, ttl)
		m.notify()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return stored, nil
}

// expire removes a revision of a key after ttl. The lock is held.
func (m *Memory) expire(name, key string, revision uint64, ttl time.Duration) {
	id := name + "/" + key
	if old := m.expiry[id]; old != nil {
		old.Stop()
		delete(m.expiry, id)
	}
	if ttl > 0 {
		m.expiry[id] = time.AfterFunc(ttl, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.kvs[name][key].Revision == revision {
				m.remove(name, key)
			}
		})
	}
}

// remove removes a key. The lock is held.
func (m *Memory) remove(name, key string) {
	m.before[name+"/"+key] = m.kvs[name][key]
	delete(m.kvs[name], key)
	m.notify()
}

// Delete implements [cluster.KV].
func (k *memoryKV) Delete(ctx context.Context, key string, revision uint64) error {
	return k.step(ctx, func(m *Memory, _ bool) error {
		if revision == 0 || m.kvs[k.name][key].Revision != revision {
			return cluster.ErrConflict
		}
		m.remove(k.name, key)
		m.expire(k.name, key, 0, 0)
		return nil
	})
}

// Watch implements [cluster.KV].
func (k *memoryKV) Watch(ctx context.Context, handle func(cluster.Change)) error {
	known, began := map[string]uint64{}, false
	for ctx.Err() == nil {
		k.memory.mu.Lock()
		next := k.memory.change()
		now := maps.Clone(k.memory.kvs[k.name])
		k.memory.mu.Unlock()
		if !k.isDown() {
			for _, c := range Changes(known, now) {
				handle(c)
			}
			if !began {
				handle(cluster.Change{Current: true})
			}
			began = true
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Changes returns the changes from known revisions to the entries now, in the order of revisions, and updates known.
func Changes(known map[string]uint64, now map[string]cluster.Entry) (all []cluster.Change) {
	for _, e := range slices.SortedFunc(maps.Values(now), func(a, b cluster.Entry) int {
		return int(int64(a.Revision) - int64(b.Revision))
	}) {
		if known[e.Key] != e.Revision {
			known[e.Key] = e.Revision
			all = append(all, cluster.Change{Entry: e})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if _, ok := now[key]; !ok {
			delete(known, key)
			all = append(all, cluster.Change{Entry: cluster.Entry{Key: key}, Gone: true})
		}
	}
	return all
}

// Log implements [cluster.Engine].
func (c *Client) Log(ctx context.Context, name string) (cluster.Log, error) {
	return &memoryLog{c, name}, c.step(ctx, func(*Memory, bool) error { return nil })
}

// memoryLog is a log of a Memory.
type memoryLog struct {
	*Client
	name string
}

// Append implements [cluster.Log].
func (l *memoryLog) Append(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if len(data) > cluster.MaxValue {
		return 0, fmt.Errorf("a record of %d bytes is too long", len(data))
	}
	err := l.step(ctx, func(m *Memory, _ bool) error {
		if uint64(len(m.logs[l.name])) != after {
			return cluster.ErrConflict
		}
		if m.logs == nil {
			m.logs = map[string][]cluster.Record{}
		}
		m.logs[l.name] = append(m.logs[l.name], cluster.Record{Sequence: after + 1, Data: slices.Clone(data)})
		return nil
	})
	if err != nil {
		return 0, err
	}
	return after + 1, nil
}

// Read implements [cluster.Log].
func (l *memoryLog) Read(ctx context.Context, after uint64, limit int) (out []cluster.Record, err error) {
	err = l.step(ctx, func(m *Memory, old bool) error {
		all := m.logs[l.name]
		if old && len(all) > 0 {
			all = all[:len(all)-1]
		}
		if after < uint64(len(all)) {
			out = slices.Clone(all[after:min(after+uint64(limit), uint64(len(all)))])
		}
		return nil
	})
	return out, err
}

// subscription is a listener of a topic.
type subscription struct {
	client *Client
	topic  string
	queue  chan []byte
	stop   chan struct{}
}

// Publish implements [cluster.Bus].
func (c *Client) Publish(ctx context.Context, topic string, data []byte) error {
	return c.step(ctx, func(m *Memory, _ bool) error {
		for s := range m.subs {
			if s.topic == topic && !s.client.isDown() {
				select {
				case s.queue <- slices.Clone(data):
				default: // at most once: a slow listener misses messages
				}
			}
		}
		return nil
	})
}

// Subscribe implements [cluster.Bus].
func (c *Client) Subscribe(topic string, handle func([]byte)) (func(), error) {
	s := &subscription{c, topic, make(chan []byte, 1000), make(chan struct{})}
	c.memory.mu.Lock()
	if c.memory.subs == nil {
		c.memory.subs = map[*subscription]bool{}
	}
	c.memory.subs[s] = true
	c.memory.mu.Unlock()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case data := <-s.queue:
				handle(data)
			case <-s.stop:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		c.memory.mu.Lock()
		delete(c.memory.subs, s)
		c.memory.mu.Unlock()
		close(s.stop)
		running.Wait()
	}), nil
}
