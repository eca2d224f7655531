package catalog

import (
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/toolbox"
)

// progress merges the reports of all calls of a batch into one report. It counts the finished
// calls, and adds the fraction of each running call. The value only grows, as the protocol
// requires.
type progress struct {
	mu     sync.Mutex
	report func(toolbox.Progress) // nil if there is no listener, or the batch is over
	parts  []float64
	counts []int   // number of reports of each call
	sent   float64 // the last value sent
}

func newProgress(report func(toolbox.Progress), calls int) *progress {
	return &progress{report: report, parts: make([]float64, calls), counts: make([]int, calls)}
}

// reporter returns the function that receives the reports of one call, or nil if there is no listener.
func (p *progress) reporter(i int, operation string) func(toolbox.Progress) {
	if p.report == nil {
		return nil
	}
	return func(r toolbox.Progress) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.counts[i]++
		part := float64(p.counts[i]) / float64(p.counts[i]+1) // for calls that report no total
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

func (p *progress) finish(i int, operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(i, 1, operation)
}

// advance records the progress of a call and sends a report. The caller must hold mu, so that one
// report is sent at a time.
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
