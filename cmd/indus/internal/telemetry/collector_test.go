package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/otlp"
)

// TestTheCollectorReadsSpans sends spans to the receiver of the OpenTelemetry Collector.
func TestTheCollectorReadsSpans(t *testing.T) {
	collector := otlp.Start(t)
	for _, compression := range []string{"none", "gzip"} {
		_, err := trace(t, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION": compression,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		spans := collector.Next(ctx, t, 2)
		served, sent := spans["tools/call read_file"], spans["tools/list"]
		if served.ParentID != "00f067aa0ba902b7" || served.Kind != 2 || sent.ParentID != served.SpanID || sent.Kind != 3 ||
			sent.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || served.Attribute("gen_ai.operation.name") != "execute_tool" ||
			sent.Attribute("error.type") != "-32603" {
			t.Errorf("%s: %+v", compression, spans)
		}
	}
}
