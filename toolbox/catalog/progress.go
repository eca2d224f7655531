package catalog

import (
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/toolbox"
)

// progress makes the reports of the calls of a batch one report: how many have finished, the
// ones that run by their parts. It only grows, as the protocol wants it.
type progress struct {
	mu     sync.Mutex
	report func(toolbox.Progress) // nil: nobody listens, or the batch is over
	parts  []float64
	counts []int   // how many reports each has made
	sent   float64 // the last one
}

func newProgress(report func(toolbox.Progress), calls int) *progress {
	return &progress{report: report, parts: make([]float64, calls), counts: make([]int, calls)}
}

// of receives the reports of one call; nil: nobody listens.
func (p *progress) of(i int, operation string) func(toolbox.Progress) {
	if p.report == nil {
		return nil
	}
	return func(r toolbox.Progress) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counts[i]++
		part := float64(p.counts[i]) / float64(p.counts[i]+1) // of what says no total
		if r.Total > 0 {
			part = r.Done / r.Total
		}
		message := operation
		if r.Message != "" {
			message += ": " + r.Message
		}
		p.advance(i, min(part, 0.99), message)
	}
}

func (p *progress) finished(i int, operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(i, 1, operation)
}

// advance says that a call has come so far. Call it with mu held: reports go out one at a time.
func (p *progress) advance(i int, part float64, message string) {
	if part > p.parts[i] {
		p.parts[i] = part
	}
	var done float64
	for _, part := range p.parts {
		done += part
	}
	if p.report == nil || !(done > p.sent) {
		return
	}
	p.sent = done
	p.report(toolbox.Progress{Done: done, Total: float64(len(p.parts)), Message: protocol.Printable(message, maxMessage)})
}

// end drops all further reports.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = nil
}
