package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
)

// An owner is asked every askInterval whether it answers, while it has requests of this replica that take longer than
// answerWait. It hangs if it has not answered for maxSilence.
var askInterval, maxSilence = 5 * time.Second, 15 * time.Second

// inFlight has the requests of this replica that take long, by the address of their owner. A process that hangs keeps
// its connections, so nothing else ends them.
type inFlight struct {
	mu     sync.Mutex
	owners map[string]*askedOwner
}

// askedOwner is an owner with requests in flight.
type askedOwner struct {
	to, address string
	requests    map[*delivery]context.CancelCauseFunc
	ctx         context.Context // ends with the last request
	end         context.CancelFunc
}

// endIfSilent ends a request with cancel when its owner hangs, until it is removed.
func (r *Replica) endIfSilent(to, address string, sent *delivery, cancel context.CancelCauseFunc) {
	t := &r.inFlight
	t.mu.Lock()
	defer t.mu.Unlock()
	if sent.isOver {
		return
	}
	o := t.owners[address]
	if o == nil {
		o = &askedOwner{to: to, address: address, requests: map[*delivery]context.CancelCauseFunc{}}
		o.ctx, o.end = context.WithCancel(context.Background())
		t.owners[address] = o
		go r.ask(o)
	}
	o.requests[sent] = cancel
}

func (t *inFlight) remove(address string, sent *delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent.isOver = true
	o := t.owners[address]
	if o == nil {
		return
	}
	delete(o.requests, sent)
	if len(o.requests) == 0 {
		delete(t.owners, address)
		o.end()
	}
}

// ask asks an owner until it has no requests in flight, and ends them if it hangs.
func (r *Replica) ask(o *askedOwner) {
	heard := time.Now()
	for watch.Sleep(o.ctx, askInterval) {
		if !r.isSilent(o) {
			heard = time.Now()
		} else if silent := time.Since(heard); silent > maxSilence {
			r.inFlight.mu.Lock()
			for _, cancel := range o.requests {
				cancel(fmt.Errorf("it has not answered for %v", silent.Round(time.Second)))
			}
			r.inFlight.mu.Unlock()
		}
	}
}

// isSilent reports whether an owner does not answer in time. One that refuses the connection is not: its requests end
// by themselves, or it accepts no others.
func (r *Replica) isSilent(o *askedOwner) bool {
	late, ok := errors.AsType[net.Error](r.check(o.ctx, o.to, o.address))
	return ok && late.Timeout()
}

// answerBody is the body of an answer. Its errors have the reason for which the request was ended.
type answerBody struct {
	io.ReadCloser
	ctx context.Context
	end func()
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if cause := context.Cause(b.ctx); err != nil && err != io.EOF && cause != nil {
		err = cause
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
