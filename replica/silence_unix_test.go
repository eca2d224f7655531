//go:build unix

package replica_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// An owner that does not accept a request in time, but answers others or has its lease, is busy and not gone. The time
// for a connection counts by itself.
func TestAnOwnerThatIsLate(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	release, waits := make(chan struct{}), make(chan struct{})
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			close(waits)
			<-release
		case "/far":
			time.Sleep(1700 * time.Millisecond)
			_, _ = io.ReadAll(r.Body)
		}
	})
	defer close(release)
	forward := func(a *replica.Replica, path string) error {
		return a.Forward(httptest.NewRecorder(), post(t, path, "{}"), replica.Request{To: "b", Body: []byte("{}")})
	}
	a := newReplica(t, keys, address)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	member := newReplicaOf(t, &replica.Options{
		Name: "a", Credentials: keys, Members: func(string) string { return silent.Addr().String() },
	})
	link := natsserver.NewLink(t, address)
	link.Cut(true, true)
	time.AfterFunc(1700*time.Millisecond, func() { link.Cut(false, false) })
	var all sync.WaitGroup
	check := func(a *replica.Replica, path string, late, gone bool) {
		all.Go(func() {
			err := forward(a, path)
			if errors.Is(err, replica.ErrLate) != late || errors.Is(err, replica.ErrGone) != gone {
				t.Errorf("%s: %v, want late: %v, gone: %v", path, err, late, gone)
			}
		})
	}
	check(a, "/slow", true, true)
	check(newReplica(t, keys, silent.Addr().String()), "/silent", false, true)
	check(member, "/silent-member", true, true)
	check(newReplica(t, keys, link.Address), "/far", false, false)
	<-waits
	if err := forward(a, "/other"); err != nil {
		t.Error(err)
	}
	all.Wait()
}
