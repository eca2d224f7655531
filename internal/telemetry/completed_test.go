package telemetry_test

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/telemetry"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TestEndedOperationsAreCompleted without a Flush: a second after their end, and 64 of them at once.
func TestEndedOperationsAreCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
		end := func() {
			_, served := c.Start(t.Context(), call("read_file"))
			served.End(telemetry.Outcome{})
		}
		end()
		ended := time.Now()
		time.Sleep(time.Second)
		synctest.Wait()
		if spans := c.spans.Ended(); len(spans) != 1 || !spans[0].EndTime().Equal(ended) {
			t.Fatalf("after a second: %v", spans)
		}
		for range 64 {
			end()
		}
		synctest.Wait()
		if n := len(c.spans.Ended()); n != 65 || time.Since(ended) != time.Second {
			t.Errorf("%d spans have ended after %v", n, time.Since(ended))
		}
	})
}

// TestAnEndedOperationReleasesItsRequest sends texts of 1 MiB, of which spans have the beginning.
func TestAnEndedOperationReleasesItsRequest(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	long := func() string { return string(bytes.Repeat([]byte("x"), 1<<20)) }
	for range 50 {
		_, served := c.Start(t.Context(), &telemetry.Operation{
			Method: long(), Tool: long(), Prompt: long(), URI: "x:" + long(), RequestID: long(), Protocol: long(),
			Meta: []byte(long()),
		})
		served.End(telemetry.Outcome{ErrorType: "denied", Message: long()})
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if spans := c.ended(); len(spans) != 50 || m.HeapAlloc > 30<<20 {
		t.Errorf("%d spans keep %d MiB", len(spans), m.HeapAlloc>>20)
	}
}
