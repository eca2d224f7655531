package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	telemetry "github.com/indusagi/indus/cmd/indus/internal/telemetry"
	instruments "github.com/indusagi/indus/internal/telemetry"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// receiver is an OTLP receiver, with the official types and the official decoder of their JSON form.
type receiver struct {
	*httptest.Server
	tb testing.TB

	mu      sync.Mutex
	answers []int // the statuses of the next answers; then 200
	spans   []*tracespb.Span
	all     []*tracespb.TracesData
	headers []http.Header
	paths   []string
}

func receive(tb testing.TB, answers ...int) *receiver {
	r := &receiver{tb: tb, answers: answers}
	r.Server = httptest.NewServer(r)
	tb.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err == nil && request.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		z, err = gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
	}
	var data tracespb.TracesData // has the fields of ExportTraceServiceRequest
	if err == nil {
		err = protojson.Unmarshal(withBase64IDs(body), &data)
	}
	if err != nil {
		r.tb.Errorf("%v in %s", err, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, r.paths = append(r.headers, request.Header.Clone()), append(r.paths, request.URL.Path)
	if len(r.answers) > 0 {
		status := r.answers[0]
		r.answers = r.answers[1:]
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		return
	}
	r.all = append(r.all, &data)
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{}`)
}

var ids = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

// withBase64IDs converts the ids for protojson: only OTLP writes bytes as hexadecimal digits.
func withBase64IDs(body []byte) []byte {
	return ids.ReplaceAllFunc(body, func(m []byte) []byte {
		part := ids.FindSubmatch(m)
		id, _ := hex.DecodeString(string(part[2])) // the expression matches digits
		return fmt.Appendf(nil, `"%s":"%s"`, part[1], base64.StdEncoding.EncodeToString(id))
	})
}

// received returns the spans by name. Close has flushed them.
func (r *receiver) received() map[string]*tracespb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]*tracespb.Span{}
	for _, s := range r.spans {
		out[s.Name] = s
	}
	return out
}

// trace opens a Provider with variables, makes one call with a parent, and closes the Provider.
func trace(t *testing.T, variables map[string]string) (log string, err error) {
	t.Helper()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, value := range variables {
		t.Setenv(name, value)
	}
	var logged bytes.Buffer
	p, err := telemetry.Open(t.Context(), &telemetry.Options{
		Version: "1.2.3", Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	if err != nil || p == nil {
		return "", err
	}
	ctx, served := p.Telemetry.Start(t.Context(), &instruments.Operation{
		Method: "tools/call", Tool: "read_file", Known: true, Address: "10.1.2.3:4711",
		Meta:        []byte(`{"traceparent":"` + parent + `","tracestate":"rojo=1"}`),
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01",
	})
	_, sent := p.Telemetry.Upstream(ctx, &instruments.Operation{Method: "tools/list", Server: "fs"})
	sent.End(instruments.Outcome{Code: -32603, Message: "broken \xff"})
	served.End(instruments.Outcome{})
	err = p.Close()
	return logged.String(), err
}

func TestSpansArriveAsOTLP(t *testing.T) {
	r := receive(t)
	_, err := trace(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, X-Team = blue",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=other", "OTEL_SERVICE_NAME": "gate",
	})
	if err != nil {
		t.Fatal(err)
	}
	spans := r.received()
	served, sent := spans["tools/call read_file"], spans["tools/list"]
	if served == nil || sent == nil {
		t.Fatalf("the spans are %v", spans)
	}
	switch {
	case hex.EncodeToString(served.TraceId) != "4bf92f3577b34da6a3ce929d0e0e4736",
		hex.EncodeToString(served.ParentSpanId) != "00f067aa0ba902b7", served.TraceState != "rojo=1",
		served.Flags != 0x301, served.Kind != tracespb.Span_SPAN_KIND_SERVER, len(served.Links) != 1,
		hex.EncodeToString(served.Links[0].SpanId) != "00f067aa0ba902b8", served.Status.GetCode() != 0,
		served.EndTimeUnixNano <= served.StartTimeUnixNano:
		t.Errorf("the served span is %v", served)
	case !bytes.Equal(sent.ParentSpanId, served.SpanId), !bytes.Equal(sent.TraceId, served.TraceId), sent.Flags != 0x101,
		sent.Kind != tracespb.Span_SPAN_KIND_CLIENT, sent.Status.GetCode() != tracespb.Status_STATUS_CODE_ERROR,
		sent.Status.GetMessage() != "broken \uFFFD":
		t.Errorf("the sent span is %v", sent)
	}
	attributes := map[string]string{}
	for _, kv := range r.all[0].ResourceSpans[0].Resource.Attributes {
		attributes[kv.Key] = kv.Value.GetStringValue()
	}
	if attributes["service.name"] != "gate" || attributes["service.version"] != "1.2.3" ||
		attributes["deployment.environment.name"] != "test" {
		t.Errorf("the resource is %v", attributes)
	}
	for _, kv := range served.Attributes {
		if kv.Key == "client.port" && kv.Value.GetIntValue() != 4711 {
			t.Errorf("the port is %v", kv.Value)
		}
	}
	h := r.headers[0]
	if r.paths[0] != "/base/v1/traces" || h.Get("Content-Type") != "application/json" || h.Get("Api-Key") != "a b" ||
		h.Get("X-Team") != "blue" {
		t.Errorf("%s with %v", r.paths[0], h)
	}
}

func TestTheVariablesOfTracesHavePrecedence(t *testing.T) {
	r := receive(t)
	_, err := trace(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": r.URL + "/own",
		"OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2",
	})
	if err != nil || len(r.paths) != 1 || r.paths[0] != "/own" || r.headers[0].Get("A") != "" ||
		r.headers[0].Get("B") != "2" {
		t.Errorf("%v: %v with %v", err, r.paths, r.headers)
	}
}

func TestABusyReceiverIsAskedAgain(t *testing.T) {
	r := receive(t, http.StatusServiceUnavailable)
	_, err := trace(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL})
	if err != nil || len(r.paths) != 2 || len(r.received()) != 2 {
		t.Errorf("%v: %d requests, %d spans", err, len(r.paths), len(r.received()))
	}
}

func TestARefusalIsReportedOnce(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusFound} {
		r := receive(t, status, status)
		log, err := trace(t, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=hidden",
		})
		text := log + fmt.Sprint(err)
		if !strings.Contains(text, fmt.Sprintf("spans to %s/v1/traces: HTTP %d", r.URL, status)) || len(r.paths) != 1 ||
			strings.Contains(text, "hidden") {
			t.Errorf("%d requests; %s", len(r.paths), text)
		}
	}
}

func TestACertificateOfTheReceiver(t *testing.T) {
	r := &receiver{tb: t}
	r.Server = httptest.NewUnstartedServer(r)
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // the refused handshake
	r.StartTLS()
	t.Cleanup(r.Close)
	log, err := trace(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL})
	if text := log + fmt.Sprint(err); !strings.Contains(text, "certificate") || len(r.paths) != 0 {
		t.Errorf("an unknown certificate: %s", text)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	err = os.WriteFile(file, block, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	log, err = trace(t, map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": file})
	if err != nil || len(r.received()) != 2 {
		t.Errorf("with the certificate: %v, %s", err, log)
	}
}

func TestVariablesThatAreWrong(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/json only"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf", "http/json only"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317", "no http or https URL"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "authorization", "NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=sesame%zz", "NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=sesame%0a", "NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "gzip or none"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/absent.pem", "no such file"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/absent.pem", "set both"},
		{"OTEL_TRACES_EXPORTER", "jaeger", "otlp or none"},
		{"OTEL_SDK_DISABLED", "yes", "true or false"},
		{"OTEL_RESOURCE_ATTRIBUTES", "nonsense", "name=value"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			_, err := trace(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", test.name: test.value})
			if err == nil || !strings.Contains(err.Error(), test.name[:12]) || !strings.Contains(err.Error(), test.says) ||
				strings.Contains(err.Error(), "sesame") {
				t.Error(err)
			}
		})
	}
}

func TestOffWithoutVariables(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"},
		"none":     {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range variables {
				t.Setenv(name, value)
			}
			p, err := telemetry.Open(t.Context(), &telemetry.Options{})
			if p != nil || err != nil || p.Instruments() != nil || p.Close() != nil {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}
