package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

// fuzzHost echoes arguments as a local result, a relayed result, or progress.
func fuzzHost(f *testing.F) *host.Host {
	return newHost(f, shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Progress != nil {
			c.Progress(toolbox.Progress{Done: 1, Wire: toolbox.Wire{Format: "mcp/modern", JSON: c.Wire.JSON}})
		}
		if len(c.Input) > 0 && c.Input[0] == '{' {
			return shelf.WireResult(string(c.Input)), nil
		}
		return toolbox.NewResult(toolbox.JSON(c.Input)), nil
	}), &host.Options{KeepAlive: -1, ListWait: -1})
}

func seedFront(f *testing.F) {
	for _, s := range []string{
		initializeLine, modernLine("1", "server/discover", ""), modernLine(`"a"`, "tools/list", ""), modernLine("2", "tools/call", `"name":"t","arguments":{"a":[1.50],"_meta":{"io.modelcontextprotocol/serverInfo":1,"k":2},"resultType":"complete"}`),
		modernLine("2", "tools/call", `"name":"t","arguments":{"resultType":"input_required"}`),
		strings.Replace(modernLine("2", "tools/call", `"name":"t"`), `"_meta":{`, `"_meta":{"progressToken":"\u0061",`, 1),
		modernLine("-1.5e3", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), modernLine("3", "ping", ""),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"\ud800":"\u2028"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "\xff", `{"id":1,"i\u0064":2}`,
	} {
		f.Add([]byte(s))
	}
}

// isAnswer fails unless b is one JSON-RPC message.
func isAnswer(t *testing.T, b []byte) {
	t.Helper()
	var m struct {
		JSONRPC       string
		ID            json.RawMessage
		Method        string
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%v: %q", err, b)
	}
	if n := len(m.Method) + len(m.Result) + len(m.Error); m.JSONRPC != "2.0" || n == 0 {
		t.Fatalf("no message: %q", b)
	}
}

func FuzzPost(f *testing.F) {
	seedFront(f)
	h := fuzzHost(f).Handler()
	legacy := open(h)
	f.Fuzz(func(t *testing.T, body []byte) {
		var env struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal(body, &env)
		for _, header := range []map[string]string{legacy, {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": env.Method, "Mcp-Name": env.Params.Name}, {}} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // ends subscriptions
			r := httptest.NewRequestWithContext(ctx, "POST", "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			for k, v := range header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			cancel()
			out := w.Body.Bytes()
			switch w.Header().Get("Content-Type") {
			case "":
				if w.Code != 202 || len(out) != 0 {
					t.Fatalf("%d %q", w.Code, out)
				}
			case "text/event-stream":
				for event := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\n\n")), []byte("\n\n")) {
					if data, ok := bytes.CutPrefix(idLines.ReplaceAll(event, nil), []byte("event: message\ndata: ")); ok {
						isAnswer(t, data)
					} else if len(event) > 0 && !bytes.HasSuffix(event, []byte("\nretry: 1000\ndata:")) {
						t.Fatalf("event %q", event)
					}
				}
			default:
				isAnswer(t, out)
			}
		}
	})
}

var idLines = regexp.MustCompile(`(?m)^id: .*\n`)

func FuzzStdio(f *testing.F) {
	seedFront(f)
	h := fuzzHost(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		first := []byte(strings.ReplaceAll(initializeLine, "%s", "2025-06-18") + "\n")
		for _, r := range []io.Reader{bytes.NewReader(in), bytes.NewReader(append(first, in...))} {
			out.Reset()
			if err := h.ServeIO(t.Context(), r, &out); err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(out.Bytes()) {
				isAnswer(t, bytes.TrimSuffix(line, []byte("\n")))
			}
		}
	})
}
