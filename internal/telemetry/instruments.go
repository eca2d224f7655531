package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics.
type instruments struct {
	served, sent, overhead     metric.Float64Histogram
	servedSession, sentSession metric.Float64Histogram
	bytes, tokens              metric.Int64Counter
	active, parked, approvals  metric.Int64ObservableGauge
	sessions, streams, ledger  metric.Int64ObservableGauge
	queue, calls, tools, phase metric.Int64ObservableGauge
	replicas, problems         metric.Int64ObservableGauge
	restarts                   metric.Int64ObservableCounter
}

// maker makes instruments and keeps their errors.
type maker struct {
	meter metric.Meter
	err   error
}

func newInstruments(meter metric.Meter, observe func(*instruments, metric.Observer)) (*instruments, error) {
	m := &maker{meter: meter}
	i := &instruments{
		served: m.histogram(metricServed, operationBounds, "How long requests of clients took."),
		sent:   m.histogram(metricSent, operationBounds, "How long requests to servers took."),
		overhead: m.histogram("indus.gateway.overhead", overheadBounds,
			"How long the gateway itself worked on a request."),
		servedSession: m.histogram(metricServedSession, operationBounds, "How long sessions of clients lasted."),
		sentSession:   m.histogram(metricSentSession, operationBounds, "How long connections to servers lasted."),
		bytes:         m.counter("indus.operation.io", "By", "The bytes of requests and of their answers."),
		tokens:        m.counter("indus.tool.tokens", "{token}", "The estimated tokens of the results of tools."),
		active:        m.gauge("indus.operations.active", "{operation}", "The requests of clients in flight."),
		parked:        m.gauge("indus.calls.parked", "{call}", "The calls that wait for an answer of their client."),
		approvals:     m.gauge("indus.approvals.waiting", "{approval}", "The approvals that wait for a person."),
		sessions:      m.gauge("indus.sessions", "{session}", "The open sessions of clients."),
		streams:       m.gauge("indus.streams", "{stream}", "The open streams to clients."),
		ledger:        m.gauge("indus.ledger.entries", "{entry}", "The entries about tools that this run holds."),
		queue:         m.gauge("indus.server.queue", "{call}", "The calls that wait for a place at a server."),
		calls:         m.gauge("indus.server.calls", "{call}", "The calls in flight at a server."),
		tools:         m.gauge("indus.server.tools", "{tool}", "The tools that clients see of a server."),
		replicas:      m.gauge("indus.replicas", "{replica}", "The replicas that this one knows, with itself."),
		problems: m.gauge("indus.replica.problems", "{problem}",
			"The replicas that are missing, do not answer or differ in version, configuration or policy."),
		phase: m.gauge("indus.server.phase", "", "1 for the phase in which a server is."),
	}
	var err error
	i.restarts, err = meter.Int64ObservableCounter("indus.server.restarts", metric.WithUnit("{restart}"),
		metric.WithDescription("How often a server was connected again."))
	m.note(err)
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		observe(i, o)
		return nil
	}, i.active, i.parked, i.approvals, i.sessions, i.streams, i.ledger, i.queue, i.calls, i.tools, i.phase, i.restarts,
		i.replicas, i.problems)
	m.note(err)
	return i, m.err
}

func (m *maker) note(err error) { m.err = errors.Join(m.err, err) }

func (m *maker) histogram(name string, bounds []float64, about string) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.note(err)
	return h
}

func (m *maker) counter(name, unit, about string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
	m.note(err)
	return c
}

func (m *maker) gauge(name, unit, about string) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(about))
	m.note(err)
	return g
}

// observe reports the state of the gateway. The SDK calls it before it reads the other instruments.
func (t *Telemetry) observe(i *instruments, o metric.Observer) {
	t.Flush()
	o.ObserveInt64(i.active, t.active.Load())
	state := t.state.Load()
	if state == nil {
		return
	}
	now := (*state)()
	o.ObserveInt64(i.parked, int64(now.Parked))
	if now.Approvals >= 0 {
		o.ObserveInt64(i.approvals, int64(now.Approvals))
	}
	o.ObserveInt64(i.sessions, int64(now.Sessions))
	o.ObserveInt64(i.streams, int64(now.Streams))
	o.ObserveInt64(i.ledger, int64(now.Ledger))
	if now.Replicas > 0 {
		o.ObserveInt64(i.replicas, int64(now.Replicas))
		o.ObserveInt64(i.problems, int64(now.ReplicaProblems))
	}
	for _, s := range now.Servers {
		server := metric.WithAttributeSet(attribute.NewSet(keyServer.String(s.Name)))
		o.ObserveInt64(i.queue, int64(s.Queue), server)
		o.ObserveInt64(i.calls, int64(s.Calls), server)
		o.ObserveInt64(i.tools, int64(s.Tools), server)
		o.ObserveInt64(i.restarts, int64(s.Restarts), server)
		o.ObserveInt64(i.phase, 1, server, metric.WithAttributes(keyPhase.String(s.Phase)))
	}
}

// State is the state of the gateway at one moment.
type State struct {
	Parked    int // calls that wait for an answer of a modern client
	Approvals int // approvals that wait for a person; below 0: unknown, and not reported
	Sessions  int // legacy sessions over HTTP, and connections on stdio
	Streams   int // open streams to clients over HTTP
	Ledger    int // entries about tools that this run holds in memory
	Servers   []ServerState

	Replicas, ReplicaProblems int // 0 Replicas: this is no replica, and neither is reported
}

// ServerState is the state of one server.
type ServerState struct {
	Name, Phase string
	Queue       int // calls that wait for a place
	Calls       int // calls in flight
	Tools       int // tools that clients see
	Restarts    int // new connections since the server was configured: after a loss, an idle time, or on request
}

// Observe sets the function that returns the state. It is called each time the metrics are read, by one goroutine at a
// time, and should not block.
func (t *Telemetry) Observe(state func() State) {
	if t != nil {
		t.state.Store(&state)
	}
}
