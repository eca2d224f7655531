package telemetry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// maxAnswer bounds what is read of the answer of a receiver.
	maxAnswer = 64 << 10
	// firstWait and longestWait are the bounds of the time before a request is repeated.
	firstWait   = time.Second
	longestWait = 20 * time.Second
)

// exporter sends spans as OTLP/JSON over HTTP (opentelemetry-proto, "OTLP/HTTP"). A request that the receiver could not
// take is repeated until the batch processor gives up (OTEL_BSP_EXPORT_TIMEOUT).
type exporter struct {
	target *otlpTarget
	client *http.Client
}

var _ sdktrace.SpanExporter = (*exporter)(nil)

func newExporter(t *otlpTarget) *exporter {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if t.tls != nil {
		transport.TLSClientConfig = t.tls
	}
	return &exporter{target: t, client: &http.Client{
		Transport: transport,
		// The headers may have credentials, which are for this endpoint only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body := encode(spans)
	if e.target.gzip {
		body = compressed(body)
	}
	var last error // the end of ctx is not the reason why spans are lost
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		again, after, err := e.post(ctx, body)
		if err != nil && ctx.Err() != nil {
			return e.named(cmp.Or(last, err))
		}
		if err == nil || !again {
			return e.named(err)
		}
		last = err
		if after == 0 {
			after = wait/2 + rand.N(wait)
		}
		select {
		case <-ctx.Done():
			return e.named(err)
		case <-time.After(after):
		}
	}
}

// Shutdown implements [sdktrace.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("spans to %s: %w", e.target.endpoint.Redacted(), err)
}

// post sends one request. It reports whether the request may be repeated, and the time to wait, if the receiver set it.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.target.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	r.Header = e.target.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	if e.target.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	response, err := e.client.Do(r)
	if err != nil {
		_, unknown := errors.AsType[*tls.CertificateVerificationError](err)
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the method and the URL
		}
		return !unknown, 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 == 2 {
		return false, 0, rejection(answer)
	}
	if err != nil {
		return true, 0, err
	}
	return slices.Contains(retryable, response.StatusCode), retryAfter(response.Header),
		fmt.Errorf("HTTP %s", response.Status)
}

// rejection returns an error if the receiver took only a part of the spans.
func rejection(answer []byte) error {
	var a struct {
		PartialSuccess struct {
			RejectedSpans json.Number
			ErrorMessage  string
		}
	}
	err := json.Unmarshal(answer, &a)
	if err != nil || a.PartialSuccess.RejectedSpans == "" || a.PartialSuccess.RejectedSpans == "0" {
		return nil // the status was a success, and the receiver may answer nothing
	}
	return fmt.Errorf("%s spans were rejected: %.200q", a.PartialSuccess.RejectedSpans, a.PartialSuccess.ErrorMessage)
}

// retryable lists the statuses after which the specification allows the request to be repeated.
var retryable = []int{
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// retryAfter returns the seconds of Retry-After, or 0.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Minute)
}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}
