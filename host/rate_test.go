package host_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

// TestRates checks that a client above its rate must wait, from any address and in any view. Other clients do not wait.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := host.NewRates(0.5, 3)
		caller := func(r *http.Request) (toolbox.Principal, error) {
			if p := r.Header.Get("Authorization"); p != "" {
				return toolbox.Principal(p), nil
			}
			return "", errors.New("nobody")
		}
		var hosts [2]*host.Host
		for i := range hosts {
			hosts[i] = host.New(toolbox.NewRegistry(nil), &host.Options{Authenticate: caller, Rates: rates})
			defer hosts[i].Close()
		}
		sent := 0
		post := func(caller, body string) (int, string) {
			sent++
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
			r.RemoteAddr = "192.0.2." + string(rune('0'+sent%10)) + ":1"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", caller)
			w := httptest.NewRecorder()
			hosts[sent%2].Handler().ServeHTTP(w, r)
			return w.Code, w.Header().Get("Retry-After")
		}
		send := func(caller string) (int, string) { return post(caller, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) }
		for range 3 {
			if status, _ := send("eve"); status == http.StatusTooManyRequests {
				t.Error("a burst is refused")
			}
		}
		for range 5 {
			if status, after := send("eve"); status != http.StatusTooManyRequests || after != "2" {
				t.Errorf("%d, Retry-After: %s", status, after)
			}
		}
		for body, free := range map[string]bool{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`:        true,
			`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}`: false,
			`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`:                        false,
		} {
			if status, _ := post("eve", body); (status != http.StatusTooManyRequests) != free {
				t.Errorf("%s: %d", body, status)
			}
		}
		if status, _ := send("ann"); status == http.StatusTooManyRequests {
			t.Error("ann waits for eve")
		}
		time.Sleep(2 * time.Second)
		if status, _ := send("eve"); status == http.StatusTooManyRequests {
			t.Error("it was to be sent again by now")
		}
	})
}

// A principal has one share, from any number of addresses.
func TestAPrincipalsBoundsAreItsOwn(t *testing.T) {
	h := newHost(t, echoTool(), &host.Options{MaxClientSessions: 5, Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("Authorization")), nil
	}}).Handler()
	open := func(i int, caller string) request {
		begin := request{body: fmt.Sprintf(initializeLine, "2025-06-18")}.with("Authorization", caller)
		w := serveFrom(h, fmt.Sprintf("192.0.2.%d:1", i), begin)
		return request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.with("Authorization", caller).
			with("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
	}
	own, saved := open(0, "ann"), 0
	var foreign []request
	for i := range 20 {
		foreign = append(foreign, open(i, "eve"))
	}
	for _, r := range foreign {
		if serveFrom(h, "192.0.2.99:1", r).Code == http.StatusOK {
			saved++
		}
	}
	if w := serveFrom(h, "192.0.2.99:1", own); w.Code != http.StatusOK || saved != 5 {
		t.Errorf("ann: %d; eve has %d sessions", w.Code, saved)
	}
}

// Hosts that stand beside one another give a client one common share. Each has its own sessions.
func TestHostsBesideOneAnother(t *testing.T) {
	t.Parallel()
	opts := &host.Options{MaxClientSessions: 3, MaxInFlight: 1, Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		return toolbox.Principal(r.Header.Get("Authorization")), nil
	}}
	called, release := make(chan struct{}), make(chan struct{})
	tools := shelf.OneTool(func(context.Context, toolbox.Call) (*toolbox.Result, error) {
		close(called)
		<-release
		return toolbox.NewResult(), nil
	})
	first := newHost(t, tools, opts)
	beside := *opts
	beside.Beside = first
	second := newHost(t, tools, &beside)
	send := func(h *host.Host, caller, session, body string) (int, string) {
		r := request{body: body}.with("Authorization", caller)
		if session != "" {
			r = r.with("Mcp-Session-Id", session)
		}
		w := serveFrom(h.Handler(), "192.0.2.1:1", r)
		return w.Code, w.Header().Get("Mcp-Session-Id")
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	open := func(h *host.Host, caller string) string {
		_, id := send(h, caller, "", fmt.Sprintf(initializeLine, "2025-06-18"))
		return id
	}
	answers := func(h *host.Host, caller, id string, want bool) {
		t.Helper()
		if code, _ := send(h, caller, id, ping); (code == http.StatusOK) != want {
			t.Errorf("%s: %d, want it there: %v", caller, code, want)
		}
	}
	ann, eve := open(first, "ann"), open(first, "eve")
	answers(second, "eve", eve, false) // it belongs to another caller
	var latest string
	for range 3 {
		latest = open(second, "eve")
	}
	answers(first, "eve", eve, false) // it was evicted
	answers(second, "eve", latest, true)
	answers(first, "ann", ann, true)

	var calling sync.WaitGroup
	calling.Go(func() {
		send(second, "eve", latest, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}`)
	})
	<-called
	eveAtFirst, _ := send(first, "eve", "", fmt.Sprintf(initializeLine, "2025-06-18"))
	annAtFirst, _ := send(first, "ann", ann, ping)
	if eveAtFirst != http.StatusTooManyRequests || annAtFirst != http.StatusOK {
		t.Errorf("eve, who has one in flight: %d; ann: %d", eveAtFirst, annAtFirst)
	}
	close(release)
	calling.Wait()
	first.Close()
	answers(second, "eve", latest, true)
	answers(second, "ann", open(second, "ann"), true)
}
