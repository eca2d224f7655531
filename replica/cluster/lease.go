package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

// MinLease is the shortest lease: an engine counts whole seconds.
const MinLease = 2 * time.Second

// leaseValue is the value of the key of a lease.
type leaseValue struct {
	Owner string `json:"owner"` // random: a process recognizes its own lease
	Data  string `json:"data"`
}

// Lease is a key that one process holds at a time. It is renewed until Release.
type Lease struct {
	kv    KV
	key   string
	owner string
	ttl   time.Duration
	stop  context.CancelFunc
	done  chan struct{} // closed when the lease is lost or released

	mu       sync.Mutex
	data     string
	revision uint64
	until    time.Time
}

// HeldError means that another process holds a lease.
type HeldError struct{ Key, Data string }

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%q is held by another process (%.100q)", e.Key, e.Data)
}

// Unwrap returns ErrConflict.
func (e *HeldError) Unwrap() error { return ErrConflict }

// Acquire takes the lease of a key for ttl, which is at least [MinLease]. If another process holds it, the error is a
// [*HeldError] with the data of that process. replaces reports whether the lease of a process with this data may be
// taken from it; nil means never.
func Acquire(
	ctx context.Context, kv KV, key, data string, ttl time.Duration, replaces func(data string) bool,
) (*Lease, error) {
	l := &Lease{kv: kv, key: key, owner: rand.Text(), data: data, ttl: max(ttl, MinLease), done: make(chan struct{})}
	held, err := kv.Get(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return nil, err
	default:
		holder := decodeLease(held.Value).Data
		if replaces == nil || !replaces(holder) {
			return nil, &HeldError{key, holder}
		}
	}
	if err := l.take(ctx, held.Revision); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.run(run)
	return l, nil
}

// take stores the key for the first time, in place of an entry with this revision.
func (l *Lease) take(ctx context.Context, revision uint64) error {
	sent := time.Now()
	err := l.set(ctx, revision)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	revision, err = l.stored(ctx)
	switch {
	case err == nil: // the engine sent it twice, and the first answer was lost
		l.extend(revision, sent)
		return nil
	case errors.Is(err, errGone) && l.set(ctx, 0) == nil: // the other entry expired meanwhile
		return nil
	}
	return err
}

// errGone is the error for a key that another process held a moment ago.
var errGone = errors.New("it has just ended")

func decodeLease(raw []byte) (v leaseValue) {
	_ = json.Unmarshal(raw, &v) // otherwise it is a foreign value, which is held by nobody known
	return v
}

// set stores the key for another ttl.
func (l *Lease) set(ctx context.Context, revision uint64) error {
	l.mu.Lock()
	value, err := json.Marshal(leaseValue{l.owner, l.data})
	l.mu.Unlock()
	if err != nil {
		return err
	}
	sent := time.Now()
	revision, err = l.kv.Set(ctx, l.key, value, revision, l.ttl)
	if err != nil {
		return err
	}
	l.extend(revision, sent)
	return nil
}

// extend notes that the key was stored by a step that was sent at a time.
func (l *Lease) extend(revision uint64, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision, l.until = revision, sent.Add(l.ttl-l.ttl/leaseMargin)
}

const (
	leaseMargin = 5  // the holder gives a lease up when a fifth of it is left
	leaseRenew  = 3  // it is renewed after a third
	leaseRetry  = 10 // after a failure, the next attempt follows after a tenth
)

// run renews the lease until it is lost or released.
func (l *Lease) run(ctx context.Context) {
	defer close(l.done)
	defer l.stop()
	pause := l.ttl / leaseRenew
	for watch.Sleep(ctx, min(pause, l.left())) && l.left() > 0 {
		step, cancel := context.WithTimeout(ctx, l.left())
		err := l.renew(step)
		cancel()
		switch {
		case err == nil:
			pause = l.ttl / leaseRenew
		case errors.Is(err, ErrConflict):
			return
		default:
			pause = l.ttl / leaseRetry
		}
	}
}

// publish changes the data of the lease. It is stored with the next renewal.
func (l *Lease) publish(data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = data
}

// renew stores the key again. If an earlier answer was lost, the key is our own with a later revision.
func (l *Lease) renew(ctx context.Context) error {
	err := l.set(ctx, l.Revision())
	if !errors.Is(err, ErrConflict) {
		return err
	}
	revision, err := l.stored(ctx)
	if err != nil {
		return err
	}
	return l.set(ctx, revision)
}

// stored returns the revision of the key if it is our own. If another process holds the lease, the error is a
// [*HeldError].
func (l *Lease) stored(ctx context.Context) (revision uint64, err error) {
	now, err := l.kv.Get(ctx, l.key)
	holder := decodeLease(now.Value)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, fmt.Errorf("%w: %w", errGone, &HeldError{Key: l.key})
	case err != nil:
		return 0, err
	case holder.Owner != l.owner:
		return 0, &HeldError{l.key, holder.Data}
	}
	return now.Revision, nil
}

// left returns the time until the holder must have given the lease up.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	byWall := l.until.Round(0).Sub(now.Round(0)) // the monotonic clock stops while a machine is suspended
	return max(0, min(l.until.Sub(now), byWall))
}

// Revision returns the revision of the key. It is greater than that of every earlier holder, so changes of the holder
// can require it.
func (l *Lease) Revision() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

// Held reports whether this process still holds the lease. It is false before another process can hold it.
func (l *Lease) Held() bool { return l.Left() > 0 }

// Left returns the time until the lease is lost if it is not renewed. It is 0 if the lease is lost or released.
func (l *Lease) Left() time.Duration {
	select {
	case <-l.done:
		return 0
	default:
		return l.left()
	}
}

// Done returns a channel that is closed once the lease is lost or released.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Release ends the lease, so that another process can take it at once. If the engine cannot be reached, the lease
// expires.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	<-l.done
	if l.left() == 0 {
		return nil
	}
	err := l.kv.Delete(ctx, l.key, l.Revision())
	l.mu.Lock()
	l.until = time.Time{}
	l.mu.Unlock()
	if errors.Is(err, ErrConflict) { // another process has it
		return nil
	}
	return err
}
