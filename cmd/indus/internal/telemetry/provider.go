package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/telemetry"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

const (
	// flushTime bounds how long the last spans and the last answers may take at the end. A collector that is down must
	// not keep the gateway from ending.
	flushTime = 5 * time.Second
	// complaintInterval is the time between two reports of lost spans, because each batch may fail.
	complaintInterval = time.Minute
)

// Options select what is collected, beside the variables of the environment.
type Options struct {
	// Metrics is the address of the listener for Prometheus, see [CheckAddress]. "" means that there are no metrics.
	Metrics string
	Version string       // of indus
	Logger  *slog.Logger // nil: nothing is logged
}

// Provider has the parts of the SDK that run.
type Provider struct {
	// Telemetry traces and measures requests.
	Telemetry *telemetry.Telemetry
	// Address is the URL of the metrics, or "".
	Address string
	// Endpoint is the URL to which spans are sent, or "".
	Endpoint string

	spans    *sdktrace.TracerProvider // nil: off
	metrics  *sdkmetric.MeterProvider // nil: off
	listener *listener                // nil: off
}

// Open starts what o and the environment select. If that is nothing, it returns nil, which is a valid Provider that is
// off. An error names the variable or the flag to correct.
func Open(ctx context.Context, o *Options) (_ *Provider, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	off, err := boolVariable("OTEL_SDK_DISABLED")
	if err != nil {
		return nil, command.AsUsage(err)
	}
	if off {
		if o.Metrics != "" {
			o.Logger.Warn("there are no metrics, because OTEL_SDK_DISABLED is true")
		}
		return nil, nil
	}
	target, err := readTarget()
	if err != nil || target == nil && o.Metrics == "" {
		return nil, command.AsUsage(err)
	}
	otel.SetErrorHandler(&complaints{logger: o.Logger, due: rate.Sometimes{Interval: complaintInterval}})
	described, err := newResource(ctx, o.Version)
	if err != nil {
		return nil, command.AsUsage(err)
	}
	p := &Provider{}
	if target != nil {
		p.Endpoint = target.endpoint.Redacted()
		p.spans = sdktrace.NewTracerProvider(sdktrace.WithBatcher(newExporter(target)), sdktrace.WithResource(described))
	}
	if o.Metrics != "" {
		err = p.measure(o, described)
	}
	if err == nil {
		p.Telemetry, err = telemetry.New(p.options(o.Version))
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// options returns the providers. A nil provider must not become an interface that is not nil.
func (p *Provider) options(version string) *telemetry.Options {
	o := &telemetry.Options{Version: version}
	if p.spans != nil {
		o.Tracers = p.spans
	}
	if p.metrics != nil {
		o.Meters = p.metrics
	}
	return o
}

// measure starts the metrics and their listener.
func (p *Provider) measure(o *Options, described *resource.Resource) error {
	reader := sdkmetric.NewManualReader()
	p.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(described),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter), // the text format has none
		// The name of the convention becomes go_goroutine_count, which promtool refuses because of its end.
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "go.goroutine.count"},
			sdkmetric.Stream{Name: "go.goroutines"})))
	err := runtime.Start(runtime.WithMeterProvider(p.metrics))
	if err != nil {
		return err
	}
	p.listener, err = listen(o.Metrics, reader, o.Logger)
	if err != nil {
		return err
	}
	p.Address = p.listener.url
	return nil
}

// Instruments returns the Telemetry, or nil if p is nil.
func (p *Provider) Instruments() *telemetry.Telemetry {
	if p == nil {
		return nil
	}
	return p.Telemetry
}

// Report writes where metrics and spans go.
func (p *Provider) Report(s show.Streams) {
	if p == nil {
		return
	}
	if p.Address != "" {
		s.Reportf("metrics at %s", p.Address)
	}
	if p.Endpoint != "" {
		s.Reportf("traces to %s", p.Endpoint)
	}
}

// Close sends the last spans and closes the listener. It takes at most a few seconds, and may be called twice.
func (p *Provider) Close() error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	var failed []error
	p.Telemetry.Flush()
	if p.spans != nil {
		failed = append(failed, p.spans.Shutdown(ctx))
	}
	if p.listener != nil {
		failed = append(failed, p.listener.close(ctx))
	}
	return errors.Join(failed...)
}

// newResource describes this process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have precedence.
func newResource(ctx context.Context, version string) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "indus"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; write name=value,name=value", err)
	}
	return r, nil
}

// complaints logs the errors of the SDK, at most one in complaintInterval.
type complaints struct {
	logger  *slog.Logger
	skipped atomic.Int64 // since the last one
	due     rate.Sometimes
}

var _ otel.ErrorHandler = (*complaints)(nil)

// Handle implements [otel.ErrorHandler].
func (c *complaints) Handle(err error) {
	c.skipped.Add(1)
	c.due.Do(func() {
		attributes := []any{"error", err}
		if skipped := c.skipped.Swap(0) - 1; skipped > 0 {
			attributes = append(attributes, "skipped", skipped)
		}
		c.logger.Warn("telemetry", attributes...)
	})
}
