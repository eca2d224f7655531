package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation in traces and metrics.
const scope = "github.com/indusagi/indus"

// Options has the providers.
type Options struct {
	Tracers trace.TracerProvider // nil: there are no spans
	Meters  metric.MeterProvider // nil: there are no metrics
	// MaxSeries bounds the sets of labels of operations. Zero means 1,000.
	MaxSeries int
	// Version is the version of indus.
	Version string
}

// Telemetry traces and measures operations. A nil Telemetry is off.
type Telemetry struct {
	tracer      trace.Tracer // nil: off
	instruments *instruments // nil: off
	state       atomic.Pointer[func() State]
	active      atomic.Int64
	ended       group

	max    int
	mu     sync.RWMutex
	series map[labels]*series
	names  map[[2]string]string // of spans, by method and target
}

// New returns a Telemetry with the providers of o. It returns nil if o has none.
func New(o *Options) (*Telemetry, error) {
	if o == nil || o.Tracers == nil && o.Meters == nil {
		return nil, nil
	}
	t := &Telemetry{max: o.MaxSeries, series: map[labels]*series{}, names: map[[2]string]string{}}
	t.ended.due = time.AfterFunc(groupDelay, t.Flush)
	if t.max <= 0 {
		t.max = 1000
	}
	if o.Tracers != nil {
		t.tracer = o.Tracers.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	}
	if o.Meters != nil {
		var err error
		t.instruments, err = newInstruments(o.Meters.Meter(scope, metric.WithInstrumentationVersion(o.Version)), t.observe)
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// activeKey is the key of the operation in a context.
type activeKey struct{}

func activeIn(ctx context.Context) *Active {
	a, _ := ctx.Value(activeKey{}).(*Active)
	return a
}
