package host_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// A bridge in front sends messages from clients of either era in a session of its own.
func TestSupergatewayInFront(t *testing.T) {
	t.Parallel()
	h := newHost(t, echoTool(), nil)
	var refused atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Handler().ServeHTTP(&statusWriter{w, &refused}, r)
	}))
	t.Cleanup(func() { h.Close(); site.Close() })
	path, args := peers.Command(t, "supergateway", "--logLevel", "none", "--streamableHttp", site.URL)
	for _, era := range []interop.Era{"", interop.Legacy} {
		s := config.Server{ID: "sg", Era: era, Transport: config.Stdio{Command: path, Args: args}}
		e := interop.NewEndpoint(s, nil)
		t.Cleanup(e.Close)
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := e.Invoke(t.Context(), "t", []byte(`{"a":1}`))
		if err != nil || *r.Blocks()[0].Text != `{"a":1}` {
			t.Errorf("%v, %v", r, err)
		}
	}
	if n := refused.Load(); n != 0 {
		t.Errorf("%d requests were refused", n)
	}
}

type statusWriter struct {
	http.ResponseWriter
	refused *atomic.Int32
}

func (w *statusWriter) WriteHeader(status int) {
	if status == http.StatusBadRequest {
		w.refused.Add(1)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
