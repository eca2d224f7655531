package cluster

import (
	"context"
	"sync"

	"github.com/indusagi/indus/internal/watch"
)

// Holders are the holders of all leases of a KV, as their data ([Acquire]).
type Holders struct {
	stop    context.CancelFunc
	watches watch.List
	running sync.WaitGroup

	mu  sync.Mutex
	all map[string]*keyHolder
}

// keyHolder is the holder of one key.
type keyHolder struct {
	lease   leaseValue    // zero: there is none
	changed chan struct{} // closed when there is another one, or none any more
}

// OpenHolders returns the holders of a KV once it knows them, and follows them until Close.
func OpenHolders(ctx context.Context, kv KV) (*Holders, error) {
	h := &Holders{all: map[string]*keyHolder{}}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	current := make(chan struct{})
	h.running.Go(func() {
		_ = kv.Watch(run, func(c Change) {
			if c.Current {
				close(current)
				return
			}
			h.note(c)
		})
	})
	select {
	case <-current:
		return h, nil
	case <-ctx.Done():
		h.Close()
		return nil, ctx.Err()
	}
}

func (h *Holders) note(c Change) {
	var now leaseValue
	if !c.Gone {
		now = decodeLease(c.Value)
	}
	h.mu.Lock()
	one := h.of(c.Key)
	isOther := one.lease != now // otherwise the lease was renewed
	if isOther {
		close(one.changed)
		h.all[c.Key] = &keyHolder{now, make(chan struct{})}
	}
	h.mu.Unlock()
	if isOther {
		h.watches.Notify()
	}
}

// of returns the holder of a key. Call it with mu held.
func (h *Holders) of(key string) *keyHolder {
	if h.all[key] == nil {
		h.all[key] = &keyHolder{changed: make(chan struct{})}
	}
	return h.all[key]
}

// Of returns the data of the holder of a key, or "" if there is none. changed is closed when that is over. While the
// engine cannot be reached, the last known holders stay.
func (h *Holders) Of(key string) (data string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(key)
	return one.lease.Data, one.changed
}

// All returns the data of all holders by key.
func (h *Holders) All() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for key, one := range h.all {
		if one.lease != (leaseValue{}) {
			all[key] = one.lease.Data
		}
	}
	return all
}

// Close ends the watch. What is known stays.
func (h *Holders) Close() {
	h.stop()
	h.running.Wait()
}
