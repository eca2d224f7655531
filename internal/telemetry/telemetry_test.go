package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/internal/wire"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// The ids are the example of W3C Trace Context.
const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + traceID + "-" + clientSpan + "-01"
)

// collected has the SDK behind a Telemetry.
type collected struct {
	*telemetry.Telemetry
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
}

func collect(tb testing.TB, o telemetry.Options, sampler sdktrace.Sampler) *collected {
	tb.Helper()
	c := &collected{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	o.Tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c.spans), sdktrace.WithSampler(sampler))
	o.Meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(c.reader))
	t, err := telemetry.New(&o)
	if err != nil {
		tb.Fatal(err)
	}
	c.Telemetry = t
	return c
}

// ended returns the spans that have ended.
func (c *collected) ended() []sdktrace.ReadOnlySpan {
	c.Flush()
	return c.spans.Ended()
}

func call(tool string) *telemetry.Operation {
	return &telemetry.Operation{
		Method: "tools/call", Tool: tool, Known: true, Server: "fs", View: "@review", Era: "legacy", Protocol: "2025-11-25",
		Transport: "http", Session: "sealed", RequestID: "7", Address: "10.1.2.3:4711",
	}
}

// metrics returns the value of each data point as text, under the name and the labels.
func (c *collected) metrics(tb testing.TB) map[string]string {
	tb.Helper()
	var all metricdata.ResourceMetrics
	err := c.reader.Collect(tb.Context(), &all)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, d := range data.DataPoints {
					out[m.Name+" "+d.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(d.Count)
				}
			case metricdata.Sum[int64]:
				for _, d := range data.DataPoints {
					out[m.Name+" "+d.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(d.Value)
				}
			case metricdata.Gauge[int64]:
				for _, d := range data.DataPoints {
					out[m.Name+" "+d.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(d.Value)
				}
			}
		}
	}
	return out
}

func textOf(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

func TestASpanStandsBetweenClientAndServer(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	o := call("read_file")
	o.Meta = []byte(`{"progressToken":1,"traceparent":"` + traceparent + `","tracestate":"rojo=1"}`)
	ctx, served := c.Start(t.Context(), o)
	_, sent := c.Upstream(ctx, call("read_file"))
	meta, err := wire.Rewrite(o.Meta, sent.MetaEdits()...)
	if err != nil {
		t.Fatal(err)
	}
	sent.End(telemetry.Outcome{})
	served.End(telemetry.Outcome{})
	spans := c.ended()
	client, server := spans[0], spans[1]
	if server.Parent().SpanID().String() != clientSpan || !server.Parent().IsRemote() ||
		server.SpanKind() != trace.SpanKindServer {
		t.Errorf("the served span has the parent %v, and the kind %v", server.Parent(), server.SpanKind())
	}
	if client.Parent().SpanID() != server.SpanContext().SpanID() || client.SpanKind() != trace.SpanKindClient {
		t.Errorf("the sent span has the parent %v, and the kind %v", client.Parent(), client.SpanKind())
	}
	want := fmt.Sprintf(`{"progressToken":1,"traceparent":"00-%s-%s-01","tracestate":"rojo=1"}`, traceID,
		client.SpanContext().SpanID())
	if string(meta) != want {
		t.Errorf("_meta is\n%s, want\n%s", meta, want)
	}
	if served.TraceID() != traceID {
		t.Errorf("the trace is %s", served.TraceID())
	}
}

func TestTheStateOfAnotherTraceIsRemoved(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	o := call("read_file")
	o.Meta = []byte(`{"traceparent":"nonsense","tracestate":"rojo=1","baggage":"a=b"}`)
	ctx, served := c.Start(t.Context(), o)
	_, sent := c.Upstream(ctx, call("read_file"))
	meta, err := wire.Rewrite(o.Meta, sent.MetaEdits()...)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(meta), "rojo") || !strings.HasSuffix(string(meta), `,"baggage":"a=b"}`) ||
		!strings.Contains(string(meta), served.TraceID()) {
		t.Errorf("_meta is %s", meta)
	}
}

func TestTheContextOfHTTPIsALinkOrTheParent(t *testing.T) {
	header := strings.Replace(traceparent, clientSpan, "00f067aa0ba902b8", 1)
	for name, test := range map[string]struct {
		meta, header, parent, link string
	}{
		"both":        {traceparent, header, clientSpan, "00f067aa0ba902b8"},
		"equal":       {traceparent, traceparent, clientSpan, ""},
		"header only": {"", header, "00f067aa0ba902b8", ""},
		"neither":     {"", "", "0000000000000000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
			_, served := c.Start(t.Context(), &telemetry.Operation{
				Method: "tools/list", Meta: []byte(`{"traceparent":"` + test.meta + `"}`), Traceparent: test.header,
			})
			served.End(telemetry.Outcome{})
			span := c.ended()[0]
			link := ""
			if len(span.Links()) > 0 {
				link = span.Links()[0].SpanContext.SpanID().String()
			}
			if span.Parent().SpanID().String() != test.parent || link != test.link {
				t.Errorf("parent %v, link %q", span.Parent().SpanID(), link)
			}
		})
	}
}

// FuzzParent compares the parent of a span with the one that the SDK reads.
func FuzzParent(f *testing.F) {
	f.Add(traceparent, "rojo=1,congo=t61")
	f.Add(traceparent, "rojo=<") // it is escaped
	f.Add(traceparent+"-more", "")
	f.Add("cc"+traceparent[2:]+"-more", "a")
	f.Add("ff"+traceparent[2:], "")
	f.Add("cc"+traceparent[2:]+".more", "")
	f.Add(strings.ToUpper(traceparent), "")
	f.Add(strings.Replace(traceparent, "-01", "-04", 1), "=")
	f.Add(strings.Replace(traceparent, traceID, strings.Repeat("0", 32), 1), "")
	f.Add(strings.ReplaceAll(traceparent, "-", "0"), "")
	c := collect(f, telemetry.Options{}, sdktrace.AlwaysSample())
	f.Fuzz(func(t *testing.T, parent, state string) {
		meta, err := json.Marshal(map[string]string{"traceparent": parent, "tracestate": state})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(meta, &struct{ Traceparent, Tracestate *string }{&parent, &state}); err != nil {
			t.Fatal(err) // both readers get the same text, if it was not UTF-8
		}
		carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
		want := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), carrier))
		_, served := c.Start(t.Context(), &telemetry.Operation{Method: "ping", Meta: meta})
		served.End(telemetry.Outcome{})
		if got := c.ended()[0].Parent(); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", meta, got, want)
		}
		c.spans.Reset()
	})
}

func TestTheAttributesAreThoseOfTheConvention(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	_, served := c.Start(t.Context(), call("read_file"))
	served.End(telemetry.Outcome{Code: -32603, Message: "broken"})
	read := &telemetry.Operation{
		Method: "resources/read", URI: "https://ann:pw@example.com/a?key=1#b", Era: "modern", Session: "x",
		Protocol: "2026-07-28", Transport: "stdio",
	}
	_, served = c.Start(t.Context(), read)
	served.End(telemetry.Outcome{})
	spans := c.ended()
	want := map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "read_file", "gen_ai.operation.name": "execute_tool",
		"mcp.protocol.version": "2025-11-25", "jsonrpc.request.id": "7",
		"network.transport": "tcp", "network.protocol.name": "http", "client.address": "10.1.2.3", "client.port": "4711",
		"indus.server": "fs", "indus.view": "@review", "indus.era": "legacy", "error.type": "-32603",
		"rpc.response.status_code": "-32603",
	}
	got := textOf(spans[0])
	want["mcp.session.id"] = got["mcp.session.id"] // checked below
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if id := got["mcp.session.id"]; len(id) != 16 || strings.Contains(id, "sealed") {
		t.Errorf("the session is %q, which gives access to it or is no digest", id)
	}
	if spans[0].Name() != "tools/call read_file" || spans[0].Status().Description != "broken" {
		t.Errorf("%q, %v", spans[0].Name(), spans[0].Status())
	}
	want = map[string]string{
		"mcp.method.name": "resources/read", "mcp.resource.uri": "https://example.com/a", "indus.era": "modern",
		"mcp.protocol.version": "2026-07-28", "network.transport": "pipe",
	}
	if diff := cmp.Diff(want, textOf(spans[1])); diff != "" {
		t.Error(diff)
	}
	if spans[1].Name() != "resources/read" {
		t.Errorf("the name is %q", spans[1].Name())
	}
}

func TestErrorsOfEachSide(t *testing.T) {
	for name, test := range map[string]struct {
		served  bool
		outcome telemetry.Outcome
		status  codes.Code
		kind    string
	}{
		"success":                {true, telemetry.Outcome{}, codes.Unset, ""},
		"fault of the caller":    {true, telemetry.Outcome{Code: -32602}, codes.Unset, ""},
		"not found":              {true, telemetry.Outcome{Code: -32002}, codes.Unset, ""},
		"ours":                   {true, telemetry.Outcome{Code: -32603}, codes.Error, "-32603"},
		"of a tool":              {true, telemetry.Outcome{ErrorType: telemetry.ToolError}, codes.Error, "tool_error"},
		"named":                  {true, telemetry.Outcome{Code: -32001, ErrorType: "timeout"}, codes.Error, "timeout"},
		"a server refuses":       {false, telemetry.Outcome{Code: -32602}, codes.Error, "-32602"},
		"a server finds nothing": {false, telemetry.Outcome{Code: -32002}, codes.Error, "-32002"},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
			begin := c.Upstream
			if test.served {
				begin = c.Start
			}
			_, a := begin(t.Context(), call("read_file"))
			a.End(test.outcome)
			span := c.ended()[0]
			if span.Status().Code != test.status || textOf(span)["error.type"] != test.kind {
				t.Errorf("status %v, error.type %q", span.Status(), textOf(span)["error.type"])
			}
		})
	}
}

func TestMetricsOfACall(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.NeverSample())
	ctx, served := c.Start(t.Context(), call("read_file"))
	_, sent := c.Upstream(ctx, call("read_file"))
	sent.End(telemetry.Outcome{ErrorType: telemetry.ToolError})
	served.End(telemetry.Outcome{BytesIn: 100, BytesOut: 4000, ErrorType: telemetry.ToolError})
	c.SessionEnded(&telemetry.Operation{Protocol: "2025-11-25", Transport: "http"}, time.Minute, "")
	c.SessionEnded(&telemetry.Operation{Server: "fs", Transport: "stdio"}, time.Minute, "exit")
	c.Observe(func() telemetry.State {
		return telemetry.State{Parked: 1, Approvals: 2, Sessions: 3, Streams: 4, Ledger: 5, Servers: []telemetry.ServerState{
			{Name: "fs", Phase: "ready", Queue: 6, Calls: 7, Tools: 8, Restarts: 9},
		}}
	})
	ofHTTP := "mcp.protocol.version=2025-11-25,network.protocol.name=http,network.transport=tcp"
	of := "error.type=tool_error,gen_ai.operation.name=execute_tool,gen_ai.tool.name=read_file,indus.server=fs," +
		"indus.view=@review,mcp.method.name=tools/call," + ofHTTP
	want := map[string]string{
		"mcp.server.operation.duration " + of: "1", "mcp.client.operation.duration " + of: "1",
		"indus.gateway.overhead indus.server=fs,mcp.method.name=tools/call": "1",
		"indus.operation.io gen_ai.tool.name=read_file,indus.server=fs,mcp.method.name=tools/call," +
			"network.io.direction=receive": "100",
		"indus.operation.io gen_ai.tool.name=read_file,indus.server=fs,mcp.method.name=tools/call," +
			"network.io.direction=transmit": "4000",
		"indus.tool.tokens gen_ai.tool.name=read_file,indus.server=fs":                       "1000",
		"mcp.server.session.duration " + ofHTTP:                                              "1",
		"mcp.client.session.duration error.type=exit,indus.server=fs,network.transport=pipe": "1",
		"indus.operations.active ":                                                           "0", "indus.calls.parked ": "1", "indus.approvals.waiting ": "2", "indus.sessions ": "3",
		"indus.streams ": "4", "indus.ledger.entries ": "5", "indus.server.queue indus.server=fs": "6",
		"indus.server.calls indus.server=fs": "7", "indus.server.tools indus.server=fs": "8",
		"indus.server.restarts indus.server=fs": "9", "indus.server.phase indus.phase=ready,indus.server=fs": "1",
	}
	if diff := cmp.Diff(want, c.metrics(t)); diff != "" {
		t.Error(diff)
	}
}

// TestNoLabelIsChosenByAPeer sends values that a hostile client or server could choose.
func TestNoLabelIsChosenByAPeer(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	for i := range 1000 {
		chosen := fmt.Sprintf("chosen-%d", i)
		for _, o := range []*telemetry.Operation{
			{Method: "tools/call", Tool: chosen}, {Method: "prompts/get", Prompt: chosen}, {Method: chosen},
			{Method: "resources/read", URI: "file:///" + chosen, Session: chosen, RequestID: chosen, Address: chosen + ":1"},
			{Method: "ping", Protocol: chosen},
		} {
			_, a := c.Start(t.Context(), o)
			a.End(telemetry.Outcome{Code: int64(i + 1)})
		}
	}
	got := c.metrics(t)
	if len(got) > 22 { // of five methods: durations, overhead, bytes twice, tokens of one, and the operations in flight
		t.Errorf("%d data points", len(got))
	}
	for name := range got {
		if strings.Contains(name, "chosen") {
			t.Errorf("a label was chosen: %s", name)
		}
	}
	for _, s := range c.ended() {
		if strings.Contains(s.Name(), "chosen") {
			t.Fatalf("the name of a span was chosen: %s", s.Name())
		}
	}
}

func TestTooManySeriesHaveNoNames(t *testing.T) {
	c := collect(t, telemetry.Options{MaxSeries: 10}, sdktrace.NeverSample())
	for i := range 100 {
		_, a := c.Start(t.Context(), call(fmt.Sprint("tool-", i)))
		a.End(telemetry.Outcome{})
	}
	n, others := 0, ""
	for name, value := range c.metrics(t) {
		if strings.HasPrefix(name, "mcp.server.operation.duration ") {
			n++
			if strings.Contains(name, "gen_ai.tool.name="+telemetry.Other) {
				others = value
			}
		}
	}
	if n != 11 || others != "90" {
		t.Errorf("%d series, and %q operations without names", n, others)
	}
}

func TestOverheadIsTheTimeWithoutServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collect(t, telemetry.Options{}, sdktrace.NeverSample())
		ctx, served := c.Start(t.Context(), call("batch"))
		time.Sleep(time.Second)
		_, first := c.Upstream(ctx, call("a"))
		time.Sleep(time.Second)
		_, second := c.Upstream(ctx, call("b")) // overlaps the first
		time.Sleep(time.Second)
		first.End(telemetry.Outcome{})
		time.Sleep(time.Second)
		second.End(telemetry.Outcome{})
		queued, asked := c.Wait(ctx), c.Wait(ctx) // both at once
		time.Sleep(time.Second)
		queued()
		time.Sleep(time.Second)
		asked()
		time.Sleep(2 * time.Second)
		served.End(telemetry.Outcome{})
		total, overhead := c.sum(t, "mcp.server.operation.duration"), c.sum(t, "indus.gateway.overhead")
		if total != 8 || overhead != 3 {
			t.Errorf("overhead %vs of %vs, want 3s of 8s", overhead, total)
		}
	})
}

func TestOverheadOfACallWithinACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collect(t, telemetry.Options{}, sdktrace.NeverSample())
		ctx, outer := c.Start(t.Context(), call("batch"))
		within, part := c.Start(ctx, call("a"))
		approved := c.Wait(within)
		time.Sleep(time.Second)
		approved()
		_, sent := c.Upstream(within, call("a"))
		time.Sleep(2 * time.Second)
		sent.End(telemetry.Outcome{})
		part.End(telemetry.Outcome{})
		time.Sleep(4 * time.Second)
		outer.End(telemetry.Outcome{})
		if overhead := c.sum(t, "indus.gateway.overhead"); overhead != 4 {
			t.Errorf("overhead %vs of 7s, want 4s", overhead)
		}
	})
}

func (c *collected) sum(tb testing.TB, name string) (sum float64) {
	tb.Helper()
	var all metricdata.ResourceMetrics
	err := c.reader.Collect(tb.Context(), &all)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name == name {
				for _, d := range m.Data.(metricdata.Histogram[float64]).DataPoints {
					sum += d.Sum
				}
			}
		}
	}
	return sum
}

// TestACallWithinACall checks a call within a batch: it is a part of the outer operation.
func TestACallWithinACall(t *testing.T) {
	c := collect(t, telemetry.Options{}, sdktrace.AlwaysSample())
	ctx, outer := c.Start(t.Context(), &telemetry.Operation{Method: "tools/call", Tool: "batch", Known: true})
	o := call("read_file")
	o.Meta = []byte(`{"traceparent":"` + traceparent + `"}`) // of the outer request
	_, inner := c.Start(ctx, o)
	inner.End(telemetry.Outcome{BytesOut: 10})
	outer.End(telemetry.Outcome{BytesOut: 10})
	spans := c.ended()
	if spans[0].SpanKind() != trace.SpanKindInternal || spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() {
		t.Errorf("kind %v, parent %v", spans[0].SpanKind(), spans[0].Parent())
	}
	for name, value := range c.metrics(t) {
		if strings.HasPrefix(name, "indus.operation.io") && strings.HasSuffix(name, "transmit") && value != "10" {
			t.Errorf("%s %s: the bytes of the inner call count twice", name, value)
		}
	}
}

// TestPartsOfACallMayOverlap runs the parts of a batch at once, while the metrics are read.
func TestPartsOfACallMayOverlap(t *testing.T) {
	c := collect(t, telemetry.Options{MaxSeries: 5}, sdktrace.AlwaysSample())
	ctx, served := c.Start(t.Context(), call("batch"))
	var parts sync.WaitGroup
	for i := range 50 {
		parts.Go(func() {
			o := call(fmt.Sprint("tool-", i%10))
			within, part := c.Start(ctx, o)
			_, sent := c.Upstream(within, o)
			_ = sent.MetaEdits()
			c.Observe(func() telemetry.State { return telemetry.State{Parked: i} })
			_ = c.metrics(t)
			sent.End(telemetry.Outcome{})
			part.End(telemetry.Outcome{})
		})
	}
	parts.Wait()
	served.End(telemetry.Outcome{})
	if n := len(c.ended()); n != 101 || c.metrics(t)["indus.operations.active "] != "0" {
		t.Errorf("%d spans, %v", n, c.metrics(t))
	}
}

func TestOffAllocatesNothing(t *testing.T) {
	var off *telemetry.Telemetry
	ctx := context.Background()
	got := testing.AllocsPerRun(100, func() { oneCall(ctx, off, nil) })
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
	off.Observe(nil)
	off.SessionEnded(nil, 0, "")
	if none, err := telemetry.New(&telemetry.Options{}); none != nil || err != nil {
		t.Errorf("without providers: %v, %v", none, err)
	}
}

// oneCall is what the gateway does for a call.
func oneCall(ctx context.Context, t *telemetry.Telemetry, meta []byte) {
	o := telemetry.Operation{
		Method: "tools/call", Tool: "read_file", Known: true, Server: "fs", View: "@review", Era: "legacy",
		Protocol: "2025-11-25", Transport: "http", Session: "sealed", RequestID: "7", Address: "10.1.2.3:4711", Meta: meta,
	}
	ctx, served := t.Start(ctx, &o)
	up := telemetry.Operation{Method: "tools/call", Tool: "read_file", Known: true, Server: "fs", Transport: "stdio"}
	_, sent := t.Upstream(ctx, &up)
	_ = sent.MetaEdits()
	sent.End(telemetry.Outcome{})
	served.End(telemetry.Outcome{BytesIn: 100, BytesOut: 1000})
}

// BenchmarkCall measures the share of telemetry in a call: the span of the client's request, the span of the request to
// the server, and the metrics of both. It includes the work for which no client waits.
func BenchmarkCall(b *testing.B) {
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	sampled := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	}
	for _, test := range []struct {
		name string
		o    telemetry.Options
	}{
		{"off", telemetry.Options{}},
		{"metrics", telemetry.Options{Meters: metrics}},
		{"traces", telemetry.Options{Tracers: sampled(sdktrace.AlwaysSample())}},
		{"both", telemetry.Options{Meters: metrics, Tracers: sampled(sdktrace.AlwaysSample())}},
		{"unsampled", telemetry.Options{Meters: metrics, Tracers: sampled(sdktrace.NeverSample())}},
	} {
		b.Run(test.name, func(b *testing.B) {
			t, err := telemetry.New(&test.o)
			if err != nil {
				b.Fatal(err)
			}
			meta := []byte(`{"traceparent":"` + traceparent + `"}`)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				oneCall(context.Background(), t, meta)
				if n%32 == 31 { // the 64 operations of a group
					t.Flush()
				}
			}
		})
	}
}
