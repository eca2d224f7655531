package cluster

import (
	"context"
	"maps"
	"sync"
)

// Holders are the holders of all leases of a KV, as their data ([Acquire]).
type Holders struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	all     map[string]string
	changed chan struct{} // closed at the next change
}

// OpenHolders returns the holders of a KV once it knows them, and follows them until Close.
func OpenHolders(ctx context.Context, kv KV) (*Holders, error) {
	h := &Holders{all: map[string]string{}, changed: make(chan struct{})}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	current := make(chan struct{})
	var once sync.Once
	h.running.Go(func() {
		_ = kv.Watch(run, func(c Change) {
			if c.Current {
				once.Do(func() { close(current) })
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Gone {
		delete(h.all, c.Key)
	} else {
		h.all[c.Key] = decodeLease(c.Value).Data
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// Of returns the data of the holder of a key, or "" if there is none. changed is closed at the next change or renewal
// of any key. While the engine cannot be reached, the last known holders stay.
func (h *Holders) Of(key string) (data string, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[key], h.changed
}

// All returns the data of all holders by key.
func (h *Holders) All() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.all)
}

// Close ends the watch. What is known stays.
func (h *Holders) Close() {
	h.stop()
	h.running.Wait()
}
