package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
)

// Shared keeps the text of a [FileStore] in a cluster instead of its file, encrypted in the same way.
type Shared struct {
	Engine   cluster.Engine
	Document *cluster.Document
	Lease    time.Duration // of a lock, whose holder may have ended
}

const (
	locksName, marksName = "sign-in-locks", "sign-in-marks"
	lockPause            = 50 * time.Millisecond
	saveAgain            = 250 * time.Millisecond
	unlockWait           = 3 * time.Second
)

// Check returns nil if the keys of this process open the shared text. If there is no text, it stores an empty one, so
// that a process with another key is noticed.
func (s *FileStore) Check(ctx context.Context) error {
	return s.file.Update(ctx, func(c *fileContent) (*fileContent, error) {
		if c.keys != nil {
			return c, statefile.ErrUnchanged
		}
		return c, nil
	})
}

// Close ends attempts to store a value while the cluster cannot be reached.
func (s *FileStore) Close() { s.stop() }

// lockShared implements Lock with a lease. The mark of a holder stays if the holder cannot reach the engine or has
// ended. The next holder then waits as long as another lease, because the earlier one may have new tokens to store.
func (s *FileStore) lockShared(ctx context.Context, k Key, name string) (unlock func(), err error) {
	o := s.opts.Shared
	lease, err := s.acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	marks := o.Engine.KV(marksName)
	revision, err := s.mark(ctx, marks, name)
	unlock = sync.OnceFunc(func() {
		s.mu.Lock()
		if s.leases[k] == lease {
			delete(s.leases, k)
		}
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
		defer cancel()
		var all sync.WaitGroup
		if revision > 0 {
			all.Go(func() { _ = marks.Delete(ctx, name, revision) }) // otherwise the next holder waits
		}
		all.Go(func() { _ = lease.Release(ctx) }) // otherwise it expires
		all.Wait()
	})
	if err == nil {
		// The known text may be older than the lease, and so may a read. It is current if it can be stored again.
		err = s.change(ctx, func(map[Key][]byte) (bool, error) { return true, nil })
	}
	if err != nil {
		unlock()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[k] = lease
	return unlock, nil
}

// acquire waits for the lease of a lock.
func (s *FileStore) acquire(ctx context.Context, name string) (*cluster.Lease, error) {
	for {
		lease, err := cluster.Acquire(ctx, s.opts.Shared.Engine.KV(locksName), name, "", s.opts.Shared.Lease, nil)
		if err == nil || !errors.Is(err, cluster.ErrConflict) {
			return lease, err
		}
		if !watch.Sleep(ctx, lockPause) {
			return nil, ctx.Err()
		}
	}
}

// mark stores the mark of this holder, and returns its revision. If an earlier holder left one, it waits first.
func (s *FileStore) mark(ctx context.Context, marks cluster.KV, name string) (uint64, error) {
	for end := time.Now().Add(s.opts.Shared.Lease); ; {
		earlier, err := marks.Get(ctx, name)
		if err != nil && !errors.Is(err, cluster.ErrNotFound) {
			return 0, err
		}
		if earlier.Revision == 0 || time.Now().After(end) {
			revision, err := marks.Set(ctx, name, []byte(rand.Text()), earlier.Revision, 0)
			if !errors.Is(err, cluster.ErrConflict) { // else the read was old
				return revision, err
			}
		}
		if !watch.Sleep(ctx, lockPause) {
			return 0, ctx.Err()
		}
	}
}

// held returns an error if the lock of a key was lost. A refresh token may then be used by another process.
func (s *FileStore) held(k Key) error {
	s.mu.Lock()
	lease := s.leases[k]
	s.mu.Unlock()
	if s.opts.Shared == nil || lease != nil && lease.Held() {
		return nil
	}
	return fmt.Errorf("%s: the lock of this sign-in was lost: %w", s.path, cluster.ErrUnavailable)
}

// putShared stores a value, and tries again while the cluster cannot be reached or is too busy, because the refresh
// token may be spent already. It does not replace a value that another process stored meanwhile.
func (s *FileStore) putShared(ctx context.Context, k Key, value []byte) error {
	before, err := s.Get(ctx, k)
	if err != nil {
		return err
	}
	open, cancel := context.WithCancel(ctx) // Close ends further attempts, but no attempt
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for tried := false; ; tried = true {
		err := s.change(ctx, func(entries map[Key][]byte) (bool, error) {
			if tried && bytes.Equal(entries[k], value) {
				return false, nil
			}
			if tried && !bytes.Equal(entries[k], before) {
				return false, errors.New("another process has changed this sign-in meanwhile: ask again")
			}
			return true, put(entries, k, value)
		})
		again := errors.Is(err, cluster.ErrUnavailable) || errors.Is(err, cluster.ErrConflict)
		if !again || !watch.Sleep(open, saveAgain) {
			return err
		}
	}
}
