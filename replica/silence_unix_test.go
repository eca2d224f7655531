//go:build unix

package replica_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica"
)

// TestARequestInFlightAtAnOwnerThatHangs checks a call and a stream that take long. They go on while the owner answers,
// and end when it hangs.
func TestARequestInFlightAtAnOwnerThatHangs(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	begun := make(chan struct{}, 2)
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		} else {
			_, _ = io.ReadAll(r.Body)
		}
		begun <- struct{}{}
		<-r.Context().Done()
	})
	link := natsserver.NewLink(t, address)
	a := newReplica(t, keys, link.Address)
	ended := make(chan error, 2)
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		go func() {
			q, w := replica.Request{To: "b"}, httptest.NewRecorder()
			if method == http.MethodPost {
				q.Body = []byte("{}")
			}
			err := a.Forward(w, httptest.NewRequestWithContext(t.Context(), method, "/mcp", strings.NewReader(string(q.Body))), q)
			lost, ok := errors.AsType[*replica.Lost](err)
			isStream := method == http.MethodGet
			if !ok || !strings.Contains(err.Error(), "has not answered for") || lost.Begun != isStream || lost.Event != isStream {
				err = fmt.Errorf("%s ends with %+v", method, err)
			} else {
				err = nil
			}
			ended <- err
		}()
		<-begun
	}
	select {
	case err := <-ended:
		t.Fatal("a request of an owner that answers has ended", err)
	case <-time.After(3*time.Second + 2*replica.MaxSilence):
	}
	link.Cut(true, true)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
