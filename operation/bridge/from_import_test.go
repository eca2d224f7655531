package bridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

func TestImportGivesRegistrations(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := newService(t, era, withTool(mcp.Tool{
				Name: "weather", Description: "Says how it is.",
				InputSchema:  json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{}}}`),
				OutputSchema: json.RawMessage(citySchema),
			}, respondWith(mcp.CallToolResult{})))
			f := them(s.url)
			f.Token = operation.NewSecret("import")
			all, err := f.Import(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			r := all[0]
			defer r.Release()
			if r.Provenance != operation.FromMCP || !r.Provenance.Leaf() || r.Authority != nil || r.Env != nil || r.Handler == nil {
				t.Errorf("%s, authority %v, env %v", r.Provenance, r.Authority, r.Env)
			}
			if got := r.Capabilities["mcp:them"].Reveal(); got != "import" || len(r.Capabilities) != 1 {
				t.Errorf("capabilities %v", r.Capabilities)
			}
			var codes []operation.Code
			for _, e := range r.Spec.Errors {
				codes = append(codes, e.Code)
			}
			r.Spec.Errors = nil
			want := operation.Spec{
				Name: "weather", Namespace: "them", Description: "Says how it is.", Kind: operation.Mutation, Visibility: operation.Internal,
				Input:  json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{}}}`),
				Output: json.RawMessage(citySchema),
			}
			if d := cmp.Diff(want, r.Spec); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]operation.Code{bridge.ToolError, bridge.Refused, bridge.Unauthorized, bridge.Unavailable}, codes); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPrefixNamesOperations(t *testing.T) {
	s := newService(t, eraModern, whoami)
	f := them(s.url)
	f.Prefix = true
	r := imported(t, f)
	if got := find(t, r, "them/whoami"); got.Spec.Namespace != "them" {
		t.Errorf("%+v", got.Spec)
	}
	if e := ask(t.Context(), r, "them/whoami", `{}`, nil); e.Err != nil {
		t.Error(e.Err)
	}
}

func TestOutputSchemaIsTheDeclaredOneOrTheUnion(t *testing.T) {
	list := fixture.File(t, `[{"name":"with","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"maximum":9007199254740993}}},`+
		`{"name":"without","inputSchema":{"type":"object"}},{"name":"null","inputSchema":{"type":"object"},"outputSchema":null}]`)
	r := imported(t, them(fixture.New(t, "-list-file", list).HTTP()))
	union := string(bridge.Content())
	for name, want := range map[string]string{"with": `{"type":"array","items":{"maximum":9007199254740993}}`, "without": union, "null": union} {
		if got := string(find(t, r, name).Spec.Output); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestImportReadsAllPages(t *testing.T) {
	for _, era := range eras {
		r := imported(t, them(fixture.New(t, "-era", era, "-bare", "-tools", "250", "-page", "40").HTTP()))
		if got := names(r); len(got) != 250 || got[0] != "tool_0001" || got[249] != "tool_0250" {
			t.Errorf("%s: %d operations: %v", era, len(got), got)
		}
	}
}

func TestTrustAnnotations(t *testing.T) {
	reads := withTool(mcp.Tool{Name: "reads", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, respondWith(mcp.CallToolResult{}))
	writes := withTool(mcp.Tool{Name: "writes", Annotations: &mcp.ToolAnnotations{}}, respondWith(mcp.CallToolResult{}))
	s := newService(t, eraModern, reads, writes, whoami)
	for _, trust := range []bool{false, true} {
		f := them(s.url)
		f.TrustAnnotations = trust
		r := imported(t, f)
		want := map[string]operation.Kind{"reads": operation.Mutation, "writes": operation.Mutation, "whoami": operation.Mutation}
		if trust {
			want["reads"] = operation.Query
		}
		for name, kind := range want {
			if got := find(t, r, name).Spec.Kind; got != kind {
				t.Errorf("trust %v: %s is a %s", trust, name, got)
			}
		}
	}
}

func TestWhatCannotBeAnOperationIsLeftOutAndTold(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 100) + "{}" + strings.Repeat("}", 100)
	list := fixture.File(t, `[{"name":"good","inputSchema":{"type":"object"}},{"name":"/slash","inputSchema":{"type":"object"}},`+
		`{"name":"line\nbreak","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":{"type":"object","properties":{"x":`+deep+`}}},`+
		`{"name":"odd","inputSchema":{"type":"object"},"outputSchema":"string"},{"name":"`+strings.Repeat("x", 300)+`","inputSchema":{"type":"object"}},`+
		`{"name":"norow"},7,{"name":"good","inputSchema":{"type":"object","title":"again"}}]`)
	f := them(fixture.New(t, "-list-file", list).HTTP())
	r := imported(t, f)
	if d := cmp.Diff([]string{"good"}, names(r)); d != "" {
		t.Error(d)
	}
	told := map[string]bool{}
	for _, q := range f.Quarantined() {
		told[q.Tool] = q.Reason != ""
	}
	for _, name := range []string{"/slash", "line\nbreak", "deep", "odd", strings.Repeat("x", 300), "norow", "", "good"} {
		if !told[name] {
			t.Errorf("nothing is told of %q: %v", name, f.Quarantined())
		}
	}
}

func TestImportErrorsAreToldApart(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	late := newService(t, eraLegacy)
	late.accept("nobody")
	for name, tt := range map[string]struct {
		url  string
		want operation.ImportError
	}{
		"401":                    {fixture.New(t, "-status", "401").HTTP(), operation.Unauthorized},
		"401 with a challenge":   {late.url, operation.Unauthorized},
		"403":                    {fixture.New(t, "-status", "403").HTTP(), operation.DiscoveryFailed},
		"404":                    {fixture.New(t, "-status", "404").HTTP(), operation.DiscoveryFailed},
		"500":                    {fixture.New(t, "-status", "500").HTTP(), operation.DiscoveryFailed},
		"nobody listens":         {gone.URL, operation.DiscoveryFailed},
		"the list is an error":   {fixture.New(t, "-listerror").HTTP(), operation.DiscoveryFailed},
		"the list is broken":     {fixture.New(t, "-malformed", "tools/list").HTTP(), operation.DiscoveryFailed},
		"the handshake is":       {fixture.New(t, "-malformed", "initialize,server/discover").HTTP(), operation.DiscoveryFailed},
		"a server of other eras": {fixture.New(t, "-era", "legacy", "-legacy-version", "1999-01-01").HTTP(), operation.DiscoveryFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			err := r.Import(t.Context(), "them", them(tt.url))
			other := operation.DiscoveryFailed
			if tt.want == other {
				other = operation.Unauthorized
			}
			if !errors.Is(err, tt.want) || errors.Is(err, other) {
				t.Errorf("%v", err)
			}
			var status *interop.HTTPError
			if tt.want == operation.Unauthorized && (!errors.As(err, &status) || status.Status != 401) {
				t.Errorf("no 401 in %v", err)
			}
			if len(names(r)) != 0 {
				t.Error(names(r))
			}
		})
	}
}

func TestImportEndsWithItsContext(t *testing.T) {
	f := fixture.New(t, "-hang", "server/discover,initialize")
	url := f.HTTP()
	ctx, cancel := contextUntil(t, func() { f.Wait("recv") })
	defer cancel()
	_, err := them(url).Import(ctx)
	if !errors.Is(err, operation.DiscoveryFailed) || !errors.Is(err, ctx.Err()) {
		t.Error(err)
	}
}

// TestNoCommandIsEverRun checks that a command instead of a URL is an error and is not run.
func TestNoCommandIsEverRun(t *testing.T) {
	witness := filepath.Join(t.TempDir(), "ran")
	for _, endpoint := range []string{
		"touch " + witness, "/bin/sh -c 'touch " + witness + "'", "file:///bin/sh", "stdio:touch%20" + witness,
		"sh://x/?command=touch", "", "http://", "https:///mcp", "http://user:hunter2@127.0.0.1/mcp", "%", "npx",
	} {
		_, err := them(endpoint).Import(t.Context())
		if err == nil || errors.Is(err, operation.DiscoveryFailed) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, err := (&bridge.FromMCP{Endpoint: "http://127.0.0.1:1/mcp"}).Import(t.Context()); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Error(err)
	}
	if _, err := os.Stat(witness); !os.IsNotExist(err) {
		t.Error("a command ran")
	}
}

// TestHTTPAndSSEIsNoFallback checks that a server with only HTTP+SSE is refused, although package interop supports it.
func TestHTTPAndSSEIsNoFallback(t *testing.T) {
	var gets atomic.Int64
	back := peers.EverythingSSE(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets.Add(1)
		}
		http.Redirect(w, r, back, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	for _, url := range []string{front.URL + "/sse", back, fixture.New(t, "-era", "legacy", "-sse").HTTP()} {
		if _, err := them(url).Import(t.Context()); !errors.Is(err, operation.DiscoveryFailed) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if gets.Load() != 0 {
		t.Errorf("%d GETs went out", gets.Load())
	}
	e := interop.NewEndpoint(config.Server{ID: "x", Transport: config.HTTP{URL: back}}, nil)
	defer e.Close()
	if err := e.Open(t.Context()); err != nil { // otherwise this test proves nothing
		t.Errorf("the bridge itself does not fall back: %v", err)
	}
}

func TestEverythingServer(t *testing.T) {
	r := imported(t, them(peers.EverythingHTTP(t)))
	if got := names(r); !slices.Contains(got, "echo") || len(got) < 8 {
		t.Fatal(got)
	}
	if e := ask(t.Context(), r, "echo", `{"message":"münze"}`, nil); e.Err != nil || !strings.Contains(string(e.Value), `"text":"Echo: münze"`) {
		t.Errorf("%s, %v", e.Value, e.Err)
	}
	structured := find(t, r, "get-structured-content")
	e := ask(t.Context(), r, "get-structured-content", `{"location":"Chicago"}`, nil)
	var weather struct{ Temperature *float64 }
	if err := e.Decode(&weather); err != nil || weather.Temperature == nil {
		t.Errorf("%s: %s, %v", structured.Spec.Output, e.Value, err)
	}
	if e := ask(t.Context(), r, "echo", `{"message":7}`, nil); code(e) != operation.InvalidInput {
		t.Error(e.Err)
	}
}

func TestAdapterShowsNoSecret(t *testing.T) {
	f := them("https://host.example/mcp?key=hidden")
	f.Token = operation.NewSecret("hidden")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, f); strings.Contains(got, "hidden") || !strings.Contains(got, "them") {
			t.Errorf("%s: %s", verb, got)
		}
	}
}
