// Package otlp starts the receiver of the OpenTelemetry Collector for tests, and reads the spans that it got.
package otlp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Collector is a receiver that runs. It ends with the test.
type Collector struct {
	URL   string // for OTEL_EXPORTER_OTLP_ENDPOINT
	spans chan Span
}

// Span is one span as the collector read it.
type Span struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	ParentID   string `json:"parentSpanId"`
	Name       string `json:"name"`
	Kind       int    `json:"kind"` // 1 internal, 2 server, 3 client
	Attributes []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	} `json:"attributes"`
}

// Attribute returns the text of an attribute, or "".
func (s *Span) Attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue
		}
	}
	return ""
}

// Set returns all attributes.
func (s *Span) Set() map[string]string {
	set := map[string]string{}
	for _, a := range s.Attributes {
		set[a.Key] = a.Value.StringValue + a.Value.IntValue
	}
	return set
}

// Start compiles and starts the collector.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(tb.TempDir(), "collector")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join(filepath.Dir(file), "..", "collector")
	out, err := build.CombinedOutput()
	if err != nil {
		tb.Fatalf("the collector does not compile: %v\n%s", err, out)
	}
	address := fixture.FreeAddress(tb)
	cmd := exec.Command(program, address)
	cmd.Stderr = tb.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	err = cmd.Start()
	if err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil || line != "ready\n" {
		_ = cmd.Process.Kill()
		tb.Fatalf("the collector did not start: %q, %v", line, err)
	}
	c := &Collector{URL: "http://" + address, spans: make(chan Span, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(tb, lines)
	}()
	tb.Cleanup(func() {
		_ = stdin.Close()
		<-read
		err := cmd.Wait()
		if err != nil {
			tb.Errorf("collector: %v", err)
		}
	})
	return c
}

// Next waits for n spans, and returns them by name.
func (c *Collector) Next(ctx context.Context, tb testing.TB, n int) map[string]Span {
	tb.Helper()
	out := map[string]Span{}
	for range n {
		select {
		case s := <-c.spans:
			out[s.Name] = s
		case <-ctx.Done():
			tb.Fatalf("%d spans did not arrive, only %v", n, out)
		}
	}
	return out
}

func (c *Collector) read(tb testing.TB, lines *bufio.Reader) {
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var data struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []Span }
			}
		}
		if err == nil {
			err = json.Unmarshal(line, &data)
		}
		if err != nil {
			tb.Errorf("the collector wrote %s: %v", line, err)
			return
		}
		for _, r := range data.ResourceSpans {
			for _, s := range r.ScopeSpans {
				for _, span := range s.Spans {
					c.spans <- span
				}
			}
		}
	}
}
