package approval

import (
	"context"
	"hash/fnv"
	"io"
	"sync"

	"github.com/indusagi/indus/internal/watch"
)

// Watch calls changed after each change of the items, by any process, and after an item expired, until stop has
// returned. changed may also be called without a change. While there are watchers, the file is checked every
// Options.Poll.
func (b *Book) Watch(changed func()) (stop func()) {
	unwatch := b.watches.Watch(changed)
	b.poller.acquire()
	return sync.OnceFunc(func() {
		unwatch()
		b.poller.release()
	})
}

// poller looks for changes while it has users.
type poller struct {
	book *Book

	mu    sync.Mutex
	users int
	stop  func() // ends the goroutine, and waits for it
}

func (p *poller) acquire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	if p.users > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	seen := p.book.state(ctx)
	go func() {
		defer close(done)
		for watch.Sleep(ctx, p.book.opts.Poll) {
			if now := p.book.state(ctx); now != seen {
				seen = now
				p.book.watches.Notify()
			}
		}
	}()
	p.stop = func() { cancel(); <-done }
}

func (p *poller) release() {
	p.mu.Lock()
	p.users--
	stop := func() {}
	if p.users == 0 {
		stop = p.stop
	}
	p.mu.Unlock()
	stop()
}

// state returns a hash of the ids and states of all items as they are now, or 0 if they cannot be read.
func (b *Book) state(ctx context.Context) uint64 {
	all, err := b.List(ctx, &Filter{All: true})
	if err != nil {
		return 0
	}
	sum := fnv.New64a()
	for _, i := range all {
		_, _ = io.WriteString(sum, i.ID+string(i.State)+"\n")
	}
	return sum.Sum64()
}
