package host_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

func TestLargeMessagesBothWays(t *testing.T) {
	args := `{"x":"` + strings.Repeat("y", 5<<20) + `","n":9007199254740993}`
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Progress != nil {
			c.Progress(toolbox.Progress{Done: 1})
		}
		return shelf.WireResult(`{"content":[],"back":` + string(c.Input) + `}`), nil
	})
	site := newSite(t, src, nil)
	legacy := session(t, site)
	want := `{"jsonrpc":"2.0","id":7,"result":{"content":[],"back":` + args + `}}`
	for _, progress := range []string{"", `,"_meta":{"progressToken":1}`} {
		for _, chunked := range []bool{false, true} {
			body := legacyCall(nil, "7", `,"arguments":`+args+progress).body
			var r io.Reader = strings.NewReader(body)
			if chunked {
				r = io.MultiReader(r)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL, r)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for k, v := range legacy {
				req.Header.Set(k, v)
			}
			resp, err := site.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if progress != "" {
				got = bytes.TrimSuffix(got, []byte("\n\n"))
				got = got[bytes.LastIndex(got, []byte("\ndata: "))+len("\ndata: "):]
			}
			if string(got) != want {
				t.Errorf("progress %q, chunked %v: %d bytes, want %d", progress, chunked, len(got), len(want))
			}
		}
	}
	if resp, _ := (request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: legacy}).send(t, site); resp.StatusCode != 200 {
		t.Error(resp.Status) // the connection is used again
	}
}

func TestABodyThatEndsTooSoon(t *testing.T) {
	h := newHost(t, echoTool(), nil)
	r := request{body: `{"jsonrpc"`}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = 100
	w := &recorder{header: http.Header{}}
	h.Handler().ServeHTTP(w, req)
	if w.status != http.StatusBadRequest {
		t.Error(w.status)
	}
}

// recorder is a ResponseWriter that can neither flush nor set deadlines.
type recorder struct {
	bytes.Buffer
	header http.Header
	status int
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }

func TestAServerThatCannotFlush(t *testing.T) {
	src := shelf.OneTool(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		c.Progress(toolbox.Progress{Done: 1})
		return nil, nil
	})
	h := newHost(t, src, nil).Handler()
	r := legacyCall(open(h), "7", `,"_meta":{"progressToken":1}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	w := &recorder{header: http.Header{}}
	h.ServeHTTP(w, req)
	if got := w.String(); strings.Count(got, "event: message") != 2 {
		t.Error(got)
	}
}
