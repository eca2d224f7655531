package conn

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// A restarted server refuses the requests of its old sessions in many forms.
func TestLegacyHTTPNoticesALostSession(t *testing.T) {
	const notInitialized = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`
	for name, tt := range map[string]struct {
		status int
		body   string
		again  bool // the call may be sent again
	}{
		"400 of the TypeScript SDK":  {400, notInitialized, true},
		"400 initialize":             {400, "Missing initialize request", true},
		"400":                        {400, "no", true},
		"401":                        {401, "Unauthorized: Session not found", true},
		"401 without a text":         {401, "", true},
		"403":                        {403, "", true},
		"404":                        {404, "", true},
		"410":                        {410, "", true},
		"422":                        {422, "expect initialize request", true},
		"500":                        {500, "", false},
		"503":                        {503, "", false},
		"503 session":                {503, `{"error":"unknown session"}`, true},
		"200 -32001":                 {200, `{"jsonrpc":"2.0","id":%id,"error":{"code":-32001,"message":"Session not found"}}`, true},
		"200 -32000 not initialized": {200, `{"jsonrpc":"2.0","id":%id,"error":{"code":-32000,"message":"Server not initialized"}}`, true},
		"200 -32000":                 {200, `{"jsonrpc":"2.0","id":%id,"error":{"code":-32000,"message":"no"}}`, false},
		"200 with another text":      {200, `{"jsonrpc":"2.0","id":%id,"error":{"code":-32000,"message":"%method: the session of the browser is lost"}}`, false},
		"200 after progress": {200, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}` +
			"\n" + `{"jsonrpc":"2.0","id":%id,"error":{"code":-32001,"message":"Session not found"}}`, false},
	} {
		for _, standing := range []string{`{}`, listChangedCapability} {
			t.Run(name+standing, func(t *testing.T) {
				noLeaks(t)
				var lost atomic.Bool
				c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(standing, func(w http.ResponseWriter, r rawRequest) {
					switch {
					case lost.Load():
						body := strings.NewReplacer("%id", string(r.ID), "%method", r.Method).Replace(tt.body)
						if strings.Contains(body, "\n") {
							rawEvents(w, "data: "+strings.ReplaceAll(body, "\n", "\n\ndata: ")+"\n\n")
							return
						}
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(tt.status)
						fmt.Fprint(w, body)
					case r.HTTP.Method == http.MethodGet:
						rawEvents(w, ":\n\n")
						<-r.HTTP.Context().Done()
					default:
						rawAnswer(w, r, `{}`)
					}
				}))})
				if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil {
					t.Fatal(err)
				}
				lost.Store(true)
				_, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 7))
				if !errors.As(err, new(*SessionError)) || errors.As(err, new(*UnsentError)) != tt.again {
					t.Errorf("err = %v", err)
				}
				waitFor(t, c.Done(), "the end of the session to be noticed")
			})
		}
	}
}

// A refusal of one call leaves a session alone that still works.
func TestLegacyHTTPKeepsASessionThatAnswersAPing(t *testing.T) {
	for _, status := range []int{400, 401, 403, 410, 422, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			noLeaks(t)
			pings := 0
			c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
				switch {
				case r.Method == protocol.MethodPing:
					pings++
					rawAnswer(w, r, `{}`)
				case r.Method == protocol.MethodToolsCall:
					http.Error(w, "no", status)
				default:
					rawAnswer(w, r, `{}`)
				}
			}))})
			if _, err := c.Call(t.Context(), Request{Method: protocol.MethodToolsList}); err != nil {
				t.Fatal(err)
			}
			_, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0))
			if statusOf(err) != status || c.Err() != nil || pings != 1 {
				t.Errorf("err = %v; died: %v; %d pings", err, c.Err(), pings)
			}
		})
	}
}

// The refusal of one call does not mean that a call in flight did not run.
func TestARefusalIsOfOneCall(t *testing.T) {
	for era, over := range map[protocol.Era]func(rawHandler) http.Handler{
		protocol.Modern: rawModern,
		protocol.Legacy: func(h rawHandler) http.Handler { return rawLegacy(`{}`, h) },
	} {
		t.Run(string(era), func(t *testing.T) {
			noLeaks(t)
			began := make(chan struct{})
			c, _ := mustDial(t, dialOptions{url: serve(t, over(func(w http.ResponseWriter, r rawRequest) {
				if !strings.Contains(string(r.Params), "hang") {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				rawEvents(w, ":\n\n")
				close(began)
				<-r.HTTP.Context().Done()
			}))})
			inFlight := make(chan error, 1)
			go func() {
				_, err := c.Call(t.Context(), toolCall(era, "hang", `{}`, 0))
				inFlight <- err
			}()
			<-began
			if _, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0)); !errors.As(err, new(*UnsentError)) {
				t.Errorf("the refused call: %v", err)
			}
			c.Close()
			if err := <-inFlight; !errors.As(err, new(*LostError)) || errors.As(err, new(*UnsentError)) {
				t.Errorf("the call in flight: %v", err)
			}
		})
	}
}
