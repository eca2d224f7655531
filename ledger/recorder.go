package ledger

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxQueued is how many entries wait for a log that cannot be written. With more,
	// nothing is recorded any more: half a story is worse than its beginning.
	maxQueued = 1 << 16
	// lastWrite bounds the wait for the log at the end.
	lastWrite = 5 * time.Second
	// firstRetry and lastRetry are the pauses after a write that failed.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

var errQueue = errors.New("ledger: the log cannot be written, and too much waits: nothing is recorded any more")

// recorder writes a log from one goroutine, all that waits in one batch, so that who
// records never waits for the disk.
type recorder struct {
	log    Log
	logger *slog.Logger
	stop   context.CancelFunc
	ctx    context.Context
	ended  chan struct{}

	mu      sync.Mutex
	queue   []Entry
	writing bool
	err     error         // why the last write failed
	full    bool          // it gave up
	changed chan struct{} // closed and replaced at each change
}

func newRecorder(log Log, logger *slog.Logger) *recorder {
	r := &recorder{log: log, logger: logger, ended: make(chan struct{}), changed: make(chan struct{})}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if log == nil {
		close(r.ended)
	} else {
		go r.run()
	}
	return r
}

// put queues entries and returns at once.
func (r *recorder) put(entries ...Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil || r.full {
		return
	}
	if len(r.queue)+len(entries) > maxQueued {
		r.full, r.err = true, errQueue
		r.logger.Error("nothing is recorded any more", "err", errQueue)
		r.tell()
		return
	}
	r.queue = append(r.queue, entries...)
	r.tell()
}

// tell wakes all who wait. Call it with mu held.
func (r *recorder) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) run() {
	defer close(r.ended)
	pause := firstRetry
	for {
		batch, changed := r.take()
		if len(batch) == 0 {
			select {
			case <-changed:
				continue
			case <-r.ctx.Done():
				r.last()
				return
			}
		}
		if _, err := r.log.Append(r.ctx, batch...); err != nil {
			r.back(batch, err)
			select {
			case <-time.After(pause):
			case <-r.ctx.Done():
				r.last()
				return
			}
			pause = min(2*pause, lastRetry)
			continue
		}
		pause = firstRetry
		r.back(nil, nil)
	}
}

// last writes what waits at the end.
func (r *recorder) last() {
	batch, _ := r.take()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
	defer cancel()
	_, err := r.log.Append(ctx, batch...)
	if err != nil {
		r.logger.Error("the ledger cannot be written", "entries", len(batch), "err", err)
	}
	r.back(nil, err)
}

func (r *recorder) take() ([]Entry, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.queue
	r.queue, r.writing = nil, len(batch) > 0
	return batch, r.changed
}

// back notes the end of a write, and queues again what was not written.
func (r *recorder) back(batch []Entry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(batch, r.queue...)
	r.writing = false
	if err != nil && r.err == nil {
		r.logger.Warn("the ledger cannot be written", "err", err)
	}
	if !r.full {
		r.err = err
	}
	r.tell()
}

// flush waits until nothing waits.
func (r *recorder) flush(ctx context.Context) error {
	for {
		r.mu.Lock()
		calm, err, changed := len(r.queue) == 0 && !r.writing, r.err, r.changed
		r.mu.Unlock()
		if calm || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close writes what waits, and ends. It may be called twice.
func (r *recorder) close() {
	r.stop()
	<-r.ended
}
