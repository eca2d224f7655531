package ledger

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// maxQueued is the number of entries that wait for a log that cannot be written. With more, recording stops for
	// good: a log with gaps is worse than a log that ends.
	maxQueued = 1 << 16
	// lastWrite bounds the wait for the log at the end.
	lastWrite = 5 * time.Second
	// firstRetry is the pause after the first failed write. The pause doubles up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

var errQueue = errors.New("ledger: the log cannot be written, and too much waits: nothing is recorded any more")

// recorder writes the log in its own goroutine, all waiting entries as one batch. Thus its callers never wait for the
// disk.
type recorder struct {
	log    Log
	logger *slog.Logger
	stop   context.CancelFunc
	ctx    context.Context
	ended  chan struct{}
	retry  chan struct{}        // gets a value when a waiting batch should be written at once
	wrote  func([]Entry, error) // is called after each write

	mu      sync.Mutex
	queue   []Entry       // with the batch that is being written
	err     error         // of the last write
	full    bool          // recording has stopped
	changed chan struct{} // closed and replaced at each change
}

func newRecorder(log Log, logger *slog.Logger, wrote func([]Entry, error)) *recorder {
	r := &recorder{
		log: log, logger: logger, wrote: wrote, ended: make(chan struct{}), changed: make(chan struct{}),
		retry: make(chan struct{}, 1),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if log == nil {
		close(r.ended)
	} else {
		go r.run()
	}
	return r
}

// enqueue queues entries and returns at once.
func (r *recorder) enqueue(entries ...Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil || r.full {
		return
	}
	if len(r.queue)+len(entries) > maxQueued {
		r.full, r.err = true, errQueue
		r.logger.Error("nothing is recorded any more", "err", errQueue)
		r.notify()
		return
	}
	r.queue = append(r.queue, entries...)
	r.notify()
}

// notify wakes all waiting goroutines. The caller holds mu.
func (r *recorder) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) run() {
	defer close(r.ended)
	pause := firstRetry
	for r.ctx.Err() == nil {
		batch, changed := r.nextBatch()
		var again <-chan time.Time
		if len(batch) > 0 {
			if r.write(r.ctx, batch) == nil {
				pause = firstRetry
				continue
			}
			again, changed = time.After(pause), nil
			pause = min(2*pause, lastRetry)
		}
		select {
		case <-changed:
		case <-again:
		case <-r.retry:
		case <-r.ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
	defer cancel()
	if batch, _ := r.nextBatch(); len(batch) > 0 {
		if err := r.write(ctx, batch); err != nil {
			r.logger.Error("the ledger cannot be written", "entries", len(batch), "err", err)
		}
	}
}

func (r *recorder) nextBatch() ([]Entry, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.queue), r.changed
}

// write appends a batch to the log. If that fails, the batch stays in the queue.
func (r *recorder) write(ctx context.Context, batch []Entry) error {
	_, err := r.log.Append(ctx, batch...)
	if l, ok := r.log.(fileLog); ok {
		l.mark(batch[0].Run, err == nil)
	}
	defer r.wrote(batch, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.queue = slices.Clone(r.queue[len(batch):])
	} else if r.err == nil {
		r.logger.Warn("the ledger cannot be written", "err", err)
	}
	if !r.full {
		r.err = err
	}
	r.notify()
	return err
}

// isFailing reports whether the last write failed.
func (r *recorder) isFailing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// flush waits until the queue is empty.
func (r *recorder) flush(ctx context.Context) error {
	for {
		r.mu.Lock()
		empty, err, changed := len(r.queue) == 0, r.err, r.changed
		r.mu.Unlock()
		if empty || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close writes the waiting entries, and ends. It may be called twice.
func (r *recorder) close() {
	r.stop()
	<-r.ended
}
