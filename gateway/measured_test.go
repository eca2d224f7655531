package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// measured has the telemetry of a gateway, in memory.
type measured struct {
	*telemetry.Telemetry
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
}

func measure(t testing.TB) *measured {
	t.Helper()
	m := &measured{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	var err error
	m.Telemetry, err = telemetry.New(&telemetry.Options{
		Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(m.spans)),
		Meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ended returns the spans that have ended.
func (m *measured) ended() []sdktrace.ReadOnlySpan {
	m.Flush()
	return m.spans.Ended()
}

// named returns the ended spans with a name, of the trace of the client.
func (m *measured) named(name string, kind trace.SpanKind) (found []sdktrace.ReadOnlySpan) {
	for _, s := range m.ended() {
		if s.Name() == name && s.SpanKind() == kind && s.SpanContext().TraceID().String() == clientTrace {
			found = append(found, s)
		}
	}
	return found
}

// one returns the only span with a name.
func (m *measured) one(t *testing.T, name string, kind trace.SpanKind) sdktrace.ReadOnlySpan {
	t.Helper()
	found := m.named(name, kind)
	if len(found) != 1 {
		for _, s := range m.ended() {
			t.Logf("%s, %s, trace %s", s.Name(), s.SpanKind(), s.SpanContext().TraceID())
		}
		t.Fatalf("%d spans %s of kind %s", len(found), name, kind)
	}
	return found[0]
}

// values returns the numbers of a metric by their labels: values of gauges and counters, and counts of histograms.
// sum is the sum of the values in histograms.
func (m *measured) values(t *testing.T, name string) (out map[string]int64, sum float64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out = map[string]int64{}
	label := func(s attribute.Set) string { return s.Encoded(attribute.DefaultEncoder()) }
	for _, scope := range all.ScopeMetrics {
		for _, one := range scope.Metrics {
			if one.Name != name {
				continue
			}
			switch d := one.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					out[label(p.Attributes)] = p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[label(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[label(p.Attributes)] = int64(p.Count)
					sum += p.Sum
				}
			default:
				t.Fatalf("%s: %T", name, d)
			}
		}
	}
	return out, sum
}

// await waits until a metric has a value.
func (m *measured) await(t *testing.T, name, label string, want int64) {
	t.Helper()
	for {
		got, _ := m.values(t, name)
		if v, ok := got[label]; ok && v == want {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s is %v, want %d for %q", name, got, want, label)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// traced is a server that keeps the _meta of its calls. The tool wait answers when it may.
type traced struct {
	*mcp.Server
	mu     sync.Mutex
	metas  []mcp.Meta
	called chan struct{}
	may    chan struct{}
}

func newTraced() *traced {
	s := &traced{
		Server: mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil),
		called: make(chan struct{}, 10), may: make(chan struct{}),
	}
	add := func(name string, answer func() (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				s.mu.Lock()
				s.metas = append(s.metas, r.Params.Meta)
				s.mu.Unlock()
				return answer()
			})
	}
	done := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}
	for _, name := range []string{"one", "two"} {
		add(name, func() (*mcp.CallToolResult, error) { return done, nil })
	}
	add("wait", func() (*mcp.CallToolResult, error) {
		s.called <- struct{}{}
		<-s.may
		return done, nil
	})
	add("fail", func() (*mcp.CallToolResult, error) {
		return nil, errors.New("no access with ghp_abcdefghijklmnopqrstuvwxyz0123456789")
	})
	return s
}

func (s *traced) open(t testing.TB, opts gateway.Options) *gateway.Gateway {
	t.Helper()
	g := shelf{"s": s.Server}.open(t, opts, "s")
	for _, name := range []string{"s__one", "one"} {
		_ = g.Attached().Fleet.Await(t.Context(), name)
	}
	return g
}

// A trace leads from the client through the gateway to the server.
func TestATraceLeadsThroughTheGateway(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		m, s := measure(t), newTraced()
		c := dial(t, s.open(t, gateway.Options{Guard: control.New(&control.Options{Telemetry: m.Telemetry})}), "/mcp", era)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__one", Meta: mcp.Meta{
			"traceparent": traceparent, "tracestate": "vendor=x", "baggage": "k=v", "own": 1.0,
		}})
		if err != nil {
			t.Fatal(err)
		}
		served := m.one(t, "tools/call one", trace.SpanKindServer)
		sent := m.one(t, "tools/call one", trace.SpanKindClient)
		if id := served.Parent().SpanID().String(); id != clientSpan || !served.Parent().IsRemote() {
			t.Errorf("%s: the parent of the gateway's span is %s", era, id)
		}
		if sent.Parent().SpanID() != served.SpanContext().SpanID() {
			t.Errorf("%s: the parent of the span of the request to the server is %s", era, sent.Parent().SpanID())
		}
		got := s.metas[0]
		want := "00-" + clientTrace + "-" + sent.SpanContext().SpanID().String() + "-01"
		if got["traceparent"] != want || got["tracestate"] != "vendor=x" || got["baggage"] != "k=v" || got["own"] != 1.0 {
			t.Errorf("%s: the server got %v, want traceparent %s", era, got, want)
		}
	}
}

// Each call of a batch has a span of its own, between the span of the batch and the spans of the requests to servers.
func TestTheCallsOfABatchHaveSpans(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		m, s := measure(t), newTraced()
		g := s.open(t, gateway.Options{
			Guard:  control.New(&control.Options{Telemetry: m.Telemetry}),
			Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) },
		})
		c := dial(t, g, "/mcp", era)
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "batch", Meta: mcp.Meta{"traceparent": traceparent}, Arguments: map[string]any{"calls": []any{
				map[string]any{"operation": "s__one", "input": map[string]any{}},
				map[string]any{"operation": "s__two", "input": map[string]any{}},
			}}})
		if err != nil || r.IsError {
			t.Fatal(answerText(r), err)
		}
		batch := m.one(t, "tools/call batch", trace.SpanKindServer)
		for _, tool := range []string{"one", "two"} {
			part := m.one(t, "tools/call "+tool, trace.SpanKindInternal)
			sent := m.one(t, "tools/call "+tool, trace.SpanKindClient)
			if part.Parent().SpanID() != batch.SpanContext().SpanID() || sent.Parent().SpanID() != part.SpanContext().SpanID() {
				t.Errorf("%s: %s is not below the batch", era, tool)
			}
		}
		served, _ := m.values(t, "mcp.server.operation.duration")
		for label, n := range served {
			if strings.Contains(label, "gen_ai.tool.name=one") && (n != 1 || !strings.Contains(label, "indus.server=s")) {
				t.Errorf("%s: %s: %d", era, label, n)
			}
		}
		m.await(t, "indus.operations.active", "", 0)
	}
}

// A transparent server gets every byte of the client. Its requests are measured.
func TestATransparentServerGetsNoTrace(t *testing.T) {
	t.Parallel()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"traceparent":"` + traceparent + `",` +
		`"tracestate":"a=b","x":1.0,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},` +
		`"name":"odd","arguments":{"b":1.0,"a":2}}}`
	var got [2]string
	for i := range got {
		s := &script{answers: map[string]func(interop.Message) (string, error){
			"server/discover": discovers(`{"tools":{}}`),
			"tools/list":      replyWith(`{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}`),
			"tools/call": func(m interop.Message) (string, error) {
				got[i] = string(m.Params)
				return `{"content":[]}`, nil
			},
		}}
		m, opts := measure(t), gateway.Options{Transparent: "s"}
		if i == 1 {
			opts.Guard = control.New(&control.Options{Telemetry: m.Telemetry})
		}
		g := scripts{"s": s}.open(t, opts, config.Server{ID: "s"})
		_ = g.Attached().Fleet.Await(t.Context(), "s__odd")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"odd"},
		}
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), `"content":[]`) {
			t.Fatal(w.Code, w.Body)
		}
		if i == 1 {
			m.one(t, "tools/call odd", trace.SpanKindServer)
			m.one(t, "tools/call odd", trace.SpanKindClient)
		}
	}
	if got[0] != got[1] || !strings.Contains(got[1], `"traceparent":"`+traceparent+`","tracestate":"a=b","x":1.0`) {
		t.Errorf("without telemetry the server got\n%s\nand with it\n%s", got[0], got[1])
	}
}

// An unknown tool is no label, and neither is its server.
func TestAnUnknownToolIsNoLabel(t *testing.T) {
	t.Parallel()
	for _, era := range bothEras {
		m, s := measure(t), newTraced()
		c := dial(t, s.open(t, gateway.Options{Guard: control.New(&control.Options{Telemetry: m.Telemetry})}), "/mcp", era)
		for i := range 3 {
			_, _ = c.CallTool(t.Context(), call(fmt.Sprintf("s__chosen-%d", i)))
		}
		served, _ := m.values(t, "mcp.server.operation.duration")
		all := strings.Join(slices.Collect(maps.Keys(served)), "\n")
		if strings.Contains(all, "chosen") || !strings.Contains(all, "gen_ai.tool.name=_OTHER") {
			t.Errorf("%s: labels\n%s", era, all)
		}
	}
}

// The state has the sessions, streams, calls and tools, and the phases of servers.
func TestTheStateOfTheGateway(t *testing.T) {
	t.Parallel()
	m, s := measure(t), newTraced()
	g := shelf{"s": s.Server}.open(t, gateway.Options{
		Guard: control.New(&control.Options{Telemetry: m.Telemetry, Approvals: approvals(t, t.TempDir()+"/approvals.json", time.Minute)}),
	})
	g.Reload([]config.Server{{ID: "s", Pool: config.Pool{MaxConcurrent: 1}}}, nil)
	_ = g.Attached().Fleet.Await(t.Context(), "s__one")
	first, second := dial(t, g, "/mcp", interop.Legacy), dial(t, g, "/mcp/s", interop.Legacy)
	m.await(t, "indus.sessions", "", 2)
	m.await(t, "indus.streams", "", 2)
	m.await(t, "indus.server.phase", "indus.phase=ready,indus.server=s", 1)
	m.await(t, "indus.server.tools", "indus.server=s", 4)
	m.await(t, "indus.server.restarts", "indus.server=s", 0)
	var calls sync.WaitGroup
	wait := func(c *mcp.ClientSession, name string) {
		calls.Go(func() {
			if _, err := c.CallTool(t.Context(), call(name)); err != nil {
				t.Error(err)
			}
		})
	}
	wait(first, "s__wait")
	<-s.called
	wait(second, "wait")
	m.await(t, "indus.server.queue", "indus.server=s", 1)
	m.await(t, "indus.server.calls", "indus.server=s", 1)
	m.await(t, "indus.operations.active", "", 2)
	close(s.may)
	calls.Wait()
	m.await(t, "indus.server.calls", "indus.server=s", 0)
	m.await(t, "indus.server.queue", "indus.server=s", 0)
	_ = second.Close()
	m.await(t, "indus.sessions", "", 1)
	m.await(t, "mcp.server.session.duration",
		"mcp.protocol.version=2025-11-25,network.protocol.name=http,network.transport=tcp", 1)
}

// A connection that is lost and made again is a restart, and its duration is measured.
func TestRestartsAreCounted(t *testing.T) {
	t.Parallel()
	m := measure(t)
	s := &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{}}`),
		"tools/list":      replyWith(`{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}`),
	}}
	o := scripts{"s": s}.options(t)
	o.Mount.Restart = interop.Restart{First: time.Millisecond}
	g := gateway.New(t.Context(), []config.Server{{ID: "s"}}, &gateway.Options{
		Ledger: o, Guard: control.New(&control.Options{Telemetry: m.Telemetry}),
	})
	t.Cleanup(g.Close)
	for n := range int64(3) {
		m.await(t, "indus.server.phase", "indus.phase=ready,indus.server=s", 1)
		m.await(t, "indus.server.restarts", "indus.server=s", n)
		s.mu.Lock()
		kill := s.kill
		s.mu.Unlock()
		kill()
		m.await(t, "indus.server.restarts", "indus.server=s", n+1)
	}
	connections, _ := m.values(t, "mcp.client.session.duration")
	var ended int64
	for label, n := range connections {
		if !strings.Contains(label, "indus.server=s") {
			t.Error(label)
		}
		ended += n
	}
	if ended != 3 {
		t.Errorf("%d connections ended, want 3: %v", ended, connections)
	}
}

// The time in which a call waits for its turn, or for a person, is no overhead of the gateway.
func TestWaitsAreNoOverhead(t *testing.T) {
	t.Parallel()
	const waits = 300 * time.Millisecond
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		m, s := measure(t), newTraced()
		g := shelf{"s": s.Server}.open(t, gateway.Options{Guard: control.New(&control.Options{Telemetry: m.Telemetry})})
		g.Reload([]config.Server{{ID: "s", Pool: config.Pool{MaxConcurrent: 1}}}, nil)
		if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := dial(t, g, "/mcp", interop.Modern)
		var calls sync.WaitGroup
		run := func(tool string) {
			if r, err := c.CallTool(t.Context(), call(tool)); err != nil || r.IsError {
				t.Error(tool, answerText(r), err)
			}
		}
		ended := make(chan struct{})
		calls.Go(func() { defer close(ended); run("s__wait") })
		select {
		case <-s.called:
		case <-ended:
			t.FailNow()
		}
		calls.Go(func() { run("s__one") })
		m.await(t, "indus.server.queue", "indus.server=s", 1)
		began := time.Now()
		time.Sleep(waits)
		waited := time.Since(began)
		close(s.may)
		calls.Wait()
		checkOverhead(t, m, 2*waited)
	})
	t.Run("person", func(t *testing.T) {
		t.Parallel()
		m := measure(t)
		g, _ := controlled(t, control.Options{
			Telemetry: m.Telemetry, Approvals: approvals(t, t.TempDir()+"/approvals.json", time.Minute),
		}, `@approve("caller") permit(principal, action == Action::"call", resource);`)
		var waited time.Duration
		c := dialWith(t, g, "/mcp", interop.Legacy, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				began := time.Now()
				time.Sleep(waits)
				waited = time.Since(began)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
			},
		})
		if r, err := c.CallTool(t.Context(), call("a__open")); err != nil || r.IsError {
			t.Fatal(answerText(r), err)
		}
		checkOverhead(t, m, waited)
	})
}

// checkOverhead checks that the time in which requests of clients waited is not part of the overhead.
func checkOverhead(t *testing.T, m *measured, waited time.Duration) {
	t.Helper()
	_, total := m.values(t, "mcp.server.operation.duration")
	_, overhead := m.values(t, "indus.gateway.overhead")
	if overhead > total-waited.Seconds() || overhead <= 0 {
		t.Errorf("overhead %fs of %fs, with %v of waiting", overhead, total, waited)
	}
}

// The text of an error on a span has no secret.
func TestNoSecretOnASpan(t *testing.T) {
	t.Parallel()
	m := measure(t)
	s := &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{}}`),
		"tools/list":      replyWith(`{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(interop.Message) (string, error) {
			return "", &interop.RPCError{Code: interop.CodeInternal, Message: "no access with ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
		},
	}}
	g := scripts{"s": s}.open(t, gateway.Options{Guard: control.New(&control.Options{Telemetry: m.Telemetry})}, config.Server{ID: "s"})
	_ = g.Attached().Fleet.Await(t.Context(), "s__odd")
	ask(t, g.Handler(), "/mcp", "tools/call", `{"name":"s__odd","arguments":{}}`)
	described := false
	for _, span := range m.ended() {
		text, _ := json.Marshal(tracetest.SpanStubFromReadOnlySpan(span))
		if strings.Contains(string(text), "ghp_abc") {
			t.Errorf("%s: %s", span.Name(), text)
		}
		described = described || strings.Contains(span.Status().Description, "no access with")
	}
	if !described {
		t.Error("no span has the text of the error")
	}
}

// A read that several servers are asked for fails only if the client gets an error. The servers that do not have the
// resource, or are slower, make no error in records and metrics.
func TestASearchHasOneAnswer(t *testing.T) {
	t.Parallel()
	released, asked := make(chan struct{}), make(chan struct{})
	answers := map[string]func(m interop.Message) (string, error){
		"none": func(interop.Message) (string, error) {
			return "", &interop.RPCError{Code: interop.CodeInvalidParams, Message: "no such resource"}
		},
		"has": func(interop.Message) (string, error) {
			<-asked
			return `{"contents":[]}`, nil
		},
		"slow": func(interop.Message) (string, error) {
			asked <- struct{}{}
			<-released
			return `{"contents":[]}`, nil
		},
	}
	servers, rows := scripts{}, []config.Server{}
	for _, id := range []string{"none", "has", "slow"} {
		servers[id] = &script{answers: map[string]func(interop.Message) (string, error){
			"server/discover": discovers(`{"resources":{}}`), "resources/read": answers[id],
		}}
		rows = append(rows, config.Server{ID: id})
	}
	m := measure(t)
	log, read := recorded(t)
	g := servers.open(t, gateway.Options{Guard: control.New(&control.Options{Telemetry: m.Telemetry, Audit: log})}, rows...)
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	const reads = 20
	for i := range reads {
		a := ask(t, g.Handler(), "/mcp", "resources/read", fmt.Sprintf(`{"uri":"mem://x/%d"}`, i))
		if a.Error != nil {
			t.Fatal(a.Error)
		}
	}
	close(released)
	got := map[string]int{}
	for i, r := range read() {
		reason, _, _ := strings.Cut(r.Reason, ";")
		got[strings.TrimSpace(r.Server+" "+string(r.Outcome)+" "+r.ErrorKind+" "+reason)]++
		if last := i%3 == 2; last != (r.Server == "has") {
			t.Errorf("record %d is of %s, and the last of each request is of the server that answered", i, r.Server)
		}
	}
	if diff := cmp.Diff(map[string]int{
		"has allowed": reads, "slow allowed  another server answered first": reads, "none allowed  another server has it": reads,
	}, got); diff != "" {
		t.Error(diff)
	}
	m.Flush()
	for metric, want := range map[string]map[string]int64{
		"mcp.server.operation.duration": {"has": reads},
		"mcp.client.operation.duration": {"has": reads, "slow": reads, "none -32602": reads},
	} {
		got := map[string]int64{}
		all, _ := m.values(t, metric)
		for label, n := range all {
			set := labelsOf(label)
			if set["mcp.method.name"] == "resources/read" {
				got[strings.TrimSpace(set["indus.server"]+" "+set["error.type"])] += n
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(metric, diff)
		}
	}
}

// labelsOf parses the labels of [measured.values].
func labelsOf(label string) map[string]string {
	set := map[string]string{}
	for pair := range strings.SplitSeq(label, ",") {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	return set
}
