package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/protocol"
)

const listChangedCapability = `{"tools":{"listChanged":true}}`

// dropConnection ends the connection of a stream without ending the stream.
func dropConnection() { panic(http.ErrAbortHandler) }

func resultOf(id json.RawMessage, text string) string {
	return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"text\":%q}}\n\n", id, text)
}

func TestLegacyHTTPResumesACall(t *testing.T) {
	note := func(n int) string {
		return fmt.Sprintf("id: e%d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":%d}\n\n", n,
			n)
	}
	for name, tt := range map[string]struct {
		first    func(http.ResponseWriter)
		next     []func(w http.ResponseWriter, id json.RawMessage)
		last     string // the received Last-Event-IDs
		reported string
		text     string // in the error; "": the call succeeds
	}{
		"closed after priming": {
			first: func(w http.ResponseWriter) { rawEvents(w, "id: e0\nretry: 20\ndata:\n\n") },
			next:  []func(http.ResponseWriter, json.RawMessage){func(w http.ResponseWriter, id json.RawMessage) { rawEvents(w, "id: e1\ndata:\n\n"+resultOf(id, "ok")) }},
			last:  "e0",
		},
		"cut in the middle": {
			first: func(w http.ResponseWriter) {
				rawEvents(w, "retry: 20\n"+note(1)+note(2)+"id: e3\ndata: {\"json")
				dropConnection()
			},
			next: []func(http.ResponseWriter, json.RawMessage){
				func(w http.ResponseWriter, _ json.RawMessage) { rawEvents(w, note(3)); dropConnection() },
				func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(503) },
				func(w http.ResponseWriter, _ json.RawMessage) { rawEvents(w, "") },
				func(w http.ResponseWriter, id json.RawMessage) { rawEvents(w, note(4)+resultOf(id, "ok")) },
			},
			last: "e2 e3 e3 e3", reported: "1234",
		},
		"cut without ids": {
			first: func(w http.ResponseWriter) {
				rawEvents(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":1}\n\n")
				dropConnection()
			},
			reported: "1", text: "before the answer",
		},
		"resuming is not offered": {
			first: func(w http.ResponseWriter) { rawEvents(w, "retry: 20\n"+note(1)) },
			next:  []func(http.ResponseWriter, json.RawMessage){func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(405) }},
			last:  "e1", reported: "1", text: "the connection ended before the answer; resuming it: HTTP 405",
		},
		"the session is gone": {
			first: func(w http.ResponseWriter) { rawEvents(w, "retry: 20\n"+note(1)) },
			next:  []func(http.ResponseWriter, json.RawMessage){func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(404) }},
			last:  "e1", reported: "1", text: "has ended the bridge's session",
		},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			var call json.RawMessage
			var last []string
			c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
				switch {
				case r.Method == protocol.MethodToolsCall:
					call = r.ID
					tt.first(w)
				case r.HTTP.Method == http.MethodGet:
					if r.HTTP.Header.Get("Accept") != "text/event-stream" || r.HTTP.Header.Get(protocol.HeaderSession) != "s1" ||
						r.HTTP.Header.Get(protocol.HeaderVersion) != "2025-06-18" {
						t.Errorf("headers = %v", r.HTTP.Header)
					}
					last = append(last, r.HTTP.Header.Get(protocol.HeaderLastEventID))
					tt.next[len(last)-1](w, call)
				}
			}))})
			n := newNotes()
			x := toolCall(protocol.Legacy, "x", `{}`, 0)
			x.Receive = n.take
			got, err := c.Call(t.Context(), x)
			if tt.text == "" && (err != nil || string(got) != `{"text":"ok"}`) ||
				tt.text != "" && (err == nil || !strings.Contains(err.Error(), tt.text)) {
				t.Errorf("%s, %v", got, err)
			}
			reported := ""
			for _, m := range n.list {
				reported += string(m.Params)
			}
			if strings.Join(last, " ") != tt.last || reported != tt.reported {
				t.Errorf("Last-Event-ID: %q; told %q", last, reported)
			}
		})
	}
}

func TestLegacyHTTPWaitsAsLongAsTheServerWishes(t *testing.T) {
	noLeaks(t)
	var call json.RawMessage
	var ended time.Time
	c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(`{"tools":{}}`, func(w http.ResponseWriter, r rawRequest) {
		if r.Method == protocol.MethodToolsCall {
			call = r.ID
			rawEvents(w, "id: 1\nretry: 300\ndata: \n\n")
			ended = time.Now()
		} else if r.HTTP.Method == http.MethodGet {
			if d := time.Since(ended); d < 290*time.Millisecond {
				t.Errorf("resumed after %v", d)
			}
			rawEvents(w, resultOf(call, "ok"))
		}
	}))})
	if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
}

type roundTripFunc func(r *http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A stream that ends at once without a message is opened again after growing pauses, whatever the server requests.
func TestLegacyHTTPStreamsThatEndAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		capabilities, events string
		least, most          int32 // GETs in a minute
	}{
		"standing":               {listChangedCapability, "retry: 0\ndata:\n\n", 5, 15},
		"standing, with an id":   {listChangedCapability, "id: 1\nretry: 0\ndata:\n\n", 5, 15},
		"standing, without time": {listChangedCapability, "data:\n\n", 4, 10},
		"standing, that polls":   {listChangedCapability, "retry: 2000\ndata:\n\n", 29, 31},
		"standing, with news":    {listChangedCapability, "retry: 100\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n", 500, 601},
		"of a call":              {`{}`, "id: 1\nretry: 0\ndata:\n\n", 50, 65},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gets atomic.Int32
				h := rawLegacy(tt.capabilities, func(w http.ResponseWriter, r rawRequest) {
					if r.HTTP.Method == http.MethodGet {
						gets.Add(1)
					}
					if r.HTTP.Method == http.MethodGet || r.Method == protocol.MethodToolsCall {
						rawEvents(w, tt.events)
					}
				})
				direct := roundTripFunc(func(r *http.Request) (*http.Response, error) {
					w, r := httptest.NewRecorder(), r.Clone(r.Context())
					if r.Body == nil {
						r.Body = http.NoBody
					}
					h.ServeHTTP(w, r)
					return w.Result(), nil
				})
				o := dialOptions{url: "http://server.example/mcp", client: &http.Client{Transport: direct}, receive: newNotes().take}
				c, _, err := dialHTTP(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if tt.capabilities == listChangedCapability {
					<-ctx.Done()
				} else if _, err := c.Call(ctx, toolCall(protocol.Legacy, "x", `{}`, 0)); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if n := gets.Load(); n < tt.least || n > tt.most {
					t.Errorf("%d GETs", n)
				}
				c.Close()
			})
		})
	}
}

func TestLegacyHTTPStandingStream(t *testing.T) {
	noLeaks(t)
	var opened atomic.Int32
	requested := make(chan string, 10)
	release := make(chan struct{})
	n := newNotes()
	c, _ := mustDial(t, dialOptions{receive: n.take, url: serve(t, rawLegacy(listChangedCapability, func(w http.ResponseWriter, r rawRequest) {
		if r.HTTP.Method != http.MethodGet {
			w.WriteHeader(202)
			return
		}
		requested <- r.HTTP.Header.Get(protocol.HeaderLastEventID)
		switch opened.Add(1) {
		case 1: // messages, noise among them, then the end
			rawEvents(w, "retry: 10\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: noise\n\n"+
				"event: other\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"unheard\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"second\"}\n\n")
		case 2: // overloaded
			w.WriteHeader(503)
		case 3: // the event is no longer known
			w.WriteHeader(400)
		case 4:
			rawEvents(w, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"third\"}\n\n")
			<-release
		default:
			w.WriteHeader(404)
		}
	}))})
	for _, want := range []string{protocol.NoteToolsChanged, "second", "third"} {
		if m := n.next(t); m.Method != want || m.Era != protocol.Legacy || m.Of != 0 {
			t.Errorf("told %+v, want %s", m, want)
		}
	}
	for i, want := range []string{"", "7", "7", ""} {
		if got := <-requested; got != want {
			t.Errorf("GET %d: Last-Event-ID %q", i, got)
		}
	}
	if c.Err() != nil {
		t.Errorf("died: %v", c.Err())
	}
	close(release)
	waitFor(t, c.Done(), "the end of the session to be noticed")
	var gone *SessionError
	if !errors.As(c.Err(), &gone) {
		t.Errorf("died: %v", c.Err())
	}
}

func TestLegacyHTTPWithoutAStandingStream(t *testing.T) {
	for name, capabilities := range map[string]string{"none offered": listChangedCapability, "nothing to tell": `{"tools":{}}`} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			gets := make(chan struct{}, 10)
			c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(capabilities, func(w http.ResponseWriter, r rawRequest) {
				if r.HTTP.Method == http.MethodGet {
					gets <- struct{}{}
					w.WriteHeader(405)
					return
				}
				rawAnswer(w, r, `{}`)
			}))})
			if capabilities == listChangedCapability {
				waitFor(t, gets, "a GET")
			}
			if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil || c.Err() != nil {
				t.Errorf("%v, %v", err, c.Err())
			}
			if len(gets) > 0 {
				t.Error("the server was asked for a stream")
			}
		})
	}
}

func TestLegacyHTTPTakesRequestsOnACallsStream(t *testing.T) {
	noLeaks(t)
	replies := make(chan string, 10)
	received := make(chan Message, 10)
	receive := func(ctx context.Context, m Message) (json.RawMessage, error) {
		received <- m
		switch m.Method {
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case "refused":
			return nil, &protocol.RPCError{Code: -1, Message: "no", Data: json.RawMessage(`[1]`)}
		}
		return json.RawMessage(`{"roots":[]}`), nil
	}
	c, _ := mustDial(t, dialOptions{receive: receive, url: serve(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, _ := io.ReadAll(hr.Body)
		hr.Body = io.NopCloser(strings.NewReader(string(body)))
		rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
			switch r.Method {
			case protocol.MethodToolsCall:
				rawEvents(w, `data: {"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n\n"+
					`data: {"jsonrpc":"2.0","id":0,"method":"roots/list"}`+"\n\n"+
					`data: {"jsonrpc":"2.0","id":5,"method":"refused"}`+"\n\n"+
					`data: {"jsonrpc":"2.0","id":"s","method":"slow"}`+"\n\n")
				got := map[string]bool{}
				for range 3 {
					got[<-replies] = true
				}
				for _, want := range []string{
					`{"jsonrpc":"2.0","id":"p","result":{}}`,
					`{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`,
					`{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no","data":[1]}}`,
				} {
					if !got[want] {
						t.Errorf("replies = %v", got)
					}
				}
				for range 3 {
					if m := <-received; m.Of != 9 || m.Era != protocol.Legacy {
						t.Errorf("received %+v", m)
					}
				}
				rawEvents(w, `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`+"\n\n"+
					`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n"+resultOf(r.ID, "ok"))
			case "":
				if hr.Method == http.MethodPost {
					replies <- string(body)
				}
				w.WriteHeader(202)
			}
		}).ServeHTTP(w, hr)
	}))})
	x := toolCall(protocol.Legacy, "x", `{}`, 0)
	x.Of, x.Receive = 9, func(_ context.Context, m Message) (json.RawMessage, error) {
		t.Errorf("the call was told %s", m.Method)
		return nil, nil
	}
	if _, err := c.Call(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if m := <-received; m.Method != protocol.NoteToolsChanged {
		t.Errorf("received %+v", m)
	}
	c.Close()
	if len(replies) > 0 {
		t.Errorf("a cancelled request was answered: %s", <-replies)
	}
}

func TestLegacyHTTPBoundsTheServersRequests(t *testing.T) {
	noLeaks(t)
	busy := make(chan struct{}, 100)
	release := make(chan struct{})
	c, _ := mustDial(t, dialOptions{
		receive: func(ctx context.Context, m Message) (json.RawMessage, error) {
			<-release
			return json.RawMessage(`{}`), nil
		},
		url: serve(t, rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
			if r.Method != protocol.MethodToolsCall {
				busy <- struct{}{}
				w.WriteHeader(202)
				return
			}
			for i := range maxAsking + 1 {
				rawEvents(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ask\"}\n\n", i))
			}
			waitFor(t, busy, "one to be refused")
			if len(busy) > 0 {
				t.Error("more than one was refused")
			}
			close(release)
			for range maxAsking {
				waitFor(t, busy, "the others to be answered")
			}
			rawEvents(w, resultOf(r.ID, "ok"))
		})),
	})
	if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
}

// If a server sends more requests than there is room for, each is still answered.
func TestEachRequestOfAServersIsAnswered(t *testing.T) {
	noLeaks(t)
	const all = 400
	answered, release := make(chan struct{}, all), make(chan struct{})
	c, _ := mustDial(t, dialOptions{
		receive: func(ctx context.Context, m Message) (json.RawMessage, error) {
			<-release
			return json.RawMessage(`{}`), nil
		},
		url: serve(t, rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
			if r.Method != protocol.MethodToolsCall {
				answered <- struct{}{}
				w.WriteHeader(202)
				return
			}
			var requests strings.Builder
			for i := range all {
				fmt.Fprintf(&requests, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ask\"}\n\n", i)
			}
			rawEvents(w, requests.String())
			for range all - maxAsking {
				waitFor(t, answered, "a refusal")
			}
			close(release)
			for range maxAsking {
				waitFor(t, answered, "an answer")
			}
			rawEvents(w, resultOf(r.ID, "ok"))
		})),
	})
	if _, err := c.Call(t.Context(), toolCall(protocol.Legacy, "x", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
}

func TestLegacyHTTPTellsOfItsEnd(t *testing.T) {
	noLeaks(t)
	text := make(chan string, 10)
	started := make(chan struct{}, 1)
	c, _ := mustDial(t, dialOptions{url: serve(t, rawLegacy(`{}`, func(w http.ResponseWriter, r rawRequest) {
		if r.Method == protocol.MethodToolsCall {
			started <- struct{}{}
			<-r.HTTP.Context().Done()
			return
		}
		text <- r.HTTP.Method + " " + r.Method + " " + string(r.Params) + r.HTTP.Header.Get(protocol.HeaderSession)
		w.WriteHeader(202)
	}))})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-started; cancel(errors.New("no time")) }()
	if _, err := c.Call(ctx, toolCall(protocol.Legacy, "x", `{}`, 0)); err != context.Canceled {
		t.Errorf("err = %v", err)
	}
	if got := <-text; got != `POST notifications/cancelled {"requestId":2,"reason":"no time"}s1` {
		t.Errorf("said %s", got)
	}
	c.Close()
	if got := <-text; got != `DELETE  s1` {
		t.Errorf("said %s", got)
	}
	c.Close()
	if err := c.(*session).notify(t.Context(), "x", nil); err == nil || len(text) > 0 {
		t.Errorf("after close: %v, %d said", err, len(text))
	}
}

func TestLegacyHTTPRefusesABadSession(t *testing.T) {
	noLeaks(t)
	_, _, err := dialHTTP(t.Context(), dialOptions{pin: protocol.Legacy, url: serve(t, http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		w.Header().Set(protocol.HeaderSession, "a b")
		rawAnswer(w, readRequest(hr), `{"protocolVersion":"2025-06-18","capabilities":{}}`)
	}))})
	var bad *ProtocolError
	if !errors.As(err, &bad) {
		t.Errorf("err = %v", err)
	}
}

func TestLegacyHTTPFindsTheCallOfStrayProgress(t *testing.T) {
	noLeaks(t)
	stray := make(chan string)
	received := make(chan struct{}, 10)
	n := newNotes()
	c, _ := mustDial(t, dialOptions{receive: n.take, url: serve(t, rawLegacy(listChangedCapability, func(w http.ResponseWriter, r rawRequest) {
		switch {
		case r.HTTP.Method == http.MethodGet:
			rawEvents(w, ":\n\n")
			for s := range stray {
				rawEvents(w, s)
			}
		case r.Method == protocol.MethodToolsCall:
			stray <- `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99}}` + "\n\n"
			stray <- `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}` + "\n\n"
			waitFor(t, received, "the progress to be heard")
			rawAnswer(w, r, `{}`)
			stray <- `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}` + "\n\n"
			stray <- `data: {"jsonrpc":"2.0","method":"last"}` + "\n\n"
			close(stray)
		}
	}))})
	x := toolCall(protocol.Legacy, "x", `{}`, 7)
	returned := false
	x.Of, x.Receive = 3, func(_ context.Context, m Message) (json.RawMessage, error) {
		if m.Of != 3 || string(m.Params) != `{"progressToken":7}` || returned {
			t.Errorf("told %+v", m)
		}
		received <- struct{}{}
		return nil, nil
	}
	if _, err := c.Call(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	returned = true
	if m := n.next(t); m.Method != "last" {
		t.Errorf("received %+v", m)
	}
}
