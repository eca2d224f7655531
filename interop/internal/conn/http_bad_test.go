package conn

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// rawRequest is a POST as a raw server reads it.
type rawRequest struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	HTTP   *http.Request
}

type rawHandler func(w http.ResponseWriter, r rawRequest)

func readRequest(r *http.Request) rawRequest {
	req := rawRequest{HTTP: r}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &req)
	return req
}

// rawModern returns a modern server that passes all requests but server/discover to h.
func rawModern(h rawHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := readRequest(hr)
		if r.Method == protocol.MethodDiscover {
			rawAnswer(w, r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`)
			return
		}
		h(w, r)
	})
}

// rawLegacy returns a legacy server with a session. It passes all requests after the handshake to h, with GET and
// DELETE.
func rawLegacy(capabilities string, h rawHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := readRequest(hr)
		switch r.Method {
		case protocol.MethodDiscover:
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}`, 400)
		case protocol.MethodInitialize:
			w.Header().Set(protocol.HeaderSession, "s1")
			rawAnswer(w, r, `{"protocolVersion":"2025-06-18","serverInfo":{"name":"raw"},"capabilities":`+capabilities+`}`)
		case protocol.NoteInitialized:
			w.WriteHeader(202)
		default:
			h(w, r)
		}
	})
}

func rawAnswer(w http.ResponseWriter, r rawRequest, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func rawEvents(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// bothEras runs f against h as a modern and as a legacy server.
func bothEras(t *testing.T, o dialOptions, h rawHandler, f func(t *testing.T, c Conn, era protocol.Era)) {
	for era, handler := range map[protocol.Era]http.Handler{protocol.Modern: rawModern(h), protocol.Legacy: rawLegacy(`{}`, h)} {
		t.Run(string(era), func(t *testing.T) {
			noLeaks(t)
			o := o
			o.url = serve(t, handler)
			c, _ := mustDial(t, o)
			f(t, c, era)
		})
	}
}

func TestHTTPBadAnswers(t *testing.T) {
	broken := func(typ, body string) rawHandler {
		return func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Type", typ)
			io.WriteString(w, strings.ReplaceAll(body, "ID", string(r.ID)))
		}
	}
	const js, es = "application/json", "text/event-stream"
	for name, tt := range map[string]struct {
		h      rawHandler
		status int    // of an HTTPError in the chain
		code   int64  // of an protocol.RPCError
		text   string // in the message
		proto  bool   // a ProtocolError
	}{
		"truncated json":   {h: broken(js, `{"jsonrpc":"2.0","id":ID,"result":{"a":`), proto: true, text: "unexpected end"},
		"invalid result":   {h: broken(js, `{"jsonrpc":"2.0","id":ID,"result":{"a":01}}`), proto: true, text: "broken answer"},
		"trailing bytes":   {h: broken(js, `{"jsonrpc":"2.0","id":ID,"result":{}}{}`), proto: true, text: "after the object"},
		"duplicate keys":   {h: broken(js, `{"jsonrpc":"2.0","id":ID,"result":{},"result":{"a":1}}`), proto: true, text: "twice"},
		"wrong id":         {h: broken(js, `{"jsonrpc":"2.0","id":99,"result":{}}`), proto: true, text: "an answer to 99"},
		"foreign id":       {h: broken(js, `{"jsonrpc":"2.0","id":"xID","result":{}}`), proto: true, text: "an answer to"},
		"no id":            {h: broken(js, `{"jsonrpc":"2.0","result":{}}`), proto: true, text: "no response"},
		"error without id": {h: broken(js, `{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"m"}}`), code: -5},
		"a batch":          {h: broken(js, `[{"jsonrpc":"2.0","id":ID,"result":{}},{"jsonrpc":"2.0","id":ID,"result":{}}]`), proto: true},
		"html":             {h: broken("text/html", "<html>log\x1b[31m in</html>"), proto: true, status: 200, text: "<html>log[31m in"},
		"empty":            {h: broken(js, ""), proto: true},
		"no content":       {h: func(w http.ResponseWriter, _ rawRequest) { w.WriteHeader(204) }, proto: true, text: "HTTP 204 in place"},
		"accepted":         {h: func(w http.ResponseWriter, _ rawRequest) { w.WriteHeader(202) }, proto: true, text: "HTTP 202 in place"},
		"401": {h: func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, http.StatusUnauthorized)
		}, status: 401},
		"500": {h: func(w http.ResponseWriter, _ rawRequest) { http.Error(w, "boom\x00\x1b", 500) }, status: 500, text: "HTTP 500 Internal Server Error: boom"},
		"500 with an error": {h: func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-9,"message":"own"}}`, 500)
		}, status: 500, code: -9, text: "own"},
		"404 with an error": {h: func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"own"}}`, 404)
		}, status: 404, code: -32601},
		"wrong id in a stream":  {h: broken(es, "data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n"), proto: true, text: "an answer to 99"},
		"broken in a stream":    {h: broken(es, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{]}\n\n"), proto: true},
		"duplicate in a stream": {h: broken(es, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"Id\":ID,\"result\":{}}\n\n"), proto: true},
		"stream without answer": {h: broken(es, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"), text: "ended before the answer"},
		"stream cut":            {h: broken(es, "data: {\"jsonrpc\":\"2.0\","), text: "ended before the answer"},
		"too long":              {h: broken(js, `{"jsonrpc":"2.0","id":ID,"result":"`+strings.Repeat("x", 5000)+`"}`), proto: true, text: "more than 4000 bytes"},
		"too long, chunked": {h: func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Type", js)
			for range 100 {
				io.WriteString(w, strings.Repeat(" ", 100))
				w.(http.Flusher).Flush()
			}
			broken(js, `{"jsonrpc":"2.0","id":ID,"result":{}}`)(w, r)
		}, proto: true, text: "more than 4000 bytes"},
		"too long in a stream": {h: broken(es, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\""+strings.Repeat("x", 5000)+"\"}\n\n"), proto: true, text: "over the limit"},
		"too long in a stream that goes on": {h: func(w http.ResponseWriter, r rawRequest) {
			w.Header().Set("Content-Type", es)
			io.WriteString(w, "data: "+strings.Repeat("x", 80<<10)) // a line is read in pieces of 64 KiB
			w.(http.Flusher).Flush()
			<-r.HTTP.Context().Done()
		}, proto: true, text: "over the limit"},
		"gzip bomb": {h: func(w http.ResponseWriter, _ rawRequest) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, gzipped(strings.Repeat(" ", 1<<20)))
		}, proto: true, text: "more than 4000 bytes"},
		"body cut": {h: func(w http.ResponseWriter, _ rawRequest) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"jsonrpc"`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, text: "the connection ended before the answer"},
		"no answer": {h: func(http.ResponseWriter, rawRequest) { panic(http.ErrAbortHandler) }, text: "EOF"},
		"redirect to another origin": {h: func(w http.ResponseWriter, r rawRequest) {
			http.Redirect(w, r.HTTP, "https://elsewhere.example/x?token=secret", http.StatusTemporaryRedirect)
		}, status: 307, text: "redirects to https://elsewhere.example/x, which is not followed"},
		"redirect that loses the body": {h: func(w http.ResponseWriter, r rawRequest) {
			http.Redirect(w, r.HTTP, "/other", http.StatusFound)
		}, status: 302, text: "not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			bothEras(t, dialOptions{max: 4000}, tt.h, func(t *testing.T, c Conn, era protocol.Era) {
				result, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
				if err == nil {
					t.Fatalf("result = %s", result)
				}
				var he *HTTPError
				var rpc *protocol.RPCError
				var bad *ProtocolError
				if errors.As(err, &he); he == nil && tt.status != 0 || he != nil && he.Status != tt.status {
					t.Errorf("HTTPError = %v", he)
				}
				if errors.As(err, &rpc); rpc == nil && tt.code != 0 || rpc != nil && rpc.Code != tt.code {
					t.Errorf("protocol.RPCError = %v", rpc)
				}
				if errors.As(err, &bad) != tt.proto {
					t.Errorf("ProtocolError: %v", bad)
				}
				if !strings.Contains(err.Error(), tt.text) || strings.ContainsAny(err.Error(), "\x1b\x00") ||
					strings.Contains(err.Error(), "secret") || len(err.Error()) > 600 {
					t.Errorf("err = %q", err)
				}
				if cause := c.Err(); cause != nil {
					t.Errorf("the connection died of it: %v", cause)
				}
			})
		})
	}
}

func TestHTTPDeathByAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		h    rawHandler
		dies map[protocol.Era]bool
	}{
		"404": {func(w http.ResponseWriter, _ rawRequest) { http.Error(w, "not found", 404) }, map[protocol.Era]bool{protocol.Modern: true, protocol.Legacy: true}},
		"404 json": {func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, 404)
		}, map[protocol.Era]bool{protocol.Legacy: true}},
		"405": {func(w http.ResponseWriter, _ rawRequest) { http.Error(w, "", http.StatusMethodNotAllowed) }, map[protocol.Era]bool{protocol.Modern: true}},
		"400 session": {func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, "Bad Request: No valid session ID provided", 400)
		}, map[protocol.Era]bool{protocol.Legacy: true}},
		"400": {func(w http.ResponseWriter, _ rawRequest) { http.Error(w, "no", 400) }, nil},
		"other versions": {func(w http.ResponseWriter, _ rawRequest) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}}`,
				400)
		}, map[protocol.Era]bool{protocol.Modern: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bothEras(t, dialOptions{}, tt.h, func(t *testing.T, c Conn, era protocol.Era) {
				_, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
				if err == nil {
					t.Fatal("no error")
				}
				var gone *SessionError
				if dead := c.Err() != nil; dead != tt.dies[era] || errors.As(err, &gone) != (dead && era == protocol.Legacy) {
					t.Errorf("died: %v; err = %v", c.Err(), err)
				}
				if c.Err() != nil {
					waitFor(t, c.Done(), "done")
				}
			})
		})
	}
}

func TestHTTPDeathByRefusal(t *testing.T) {
	bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {}, func(t *testing.T, c Conn, era protocol.Era) {
		// Another dial target replaces a server that has gone.
		switch carrier := c.(*session).carrier.(type) {
		case *modern:
			carrier.server = unreachableServer(t, carrier.server)
		case *streamable:
			carrier.server = unreachableServer(t, carrier.server)
		}
		_, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
		var ne *networkError
		if !errors.As(err, &ne) || strings.Contains(err.Error(), "key=") || !strings.HasPrefix(err.Error(), "connection lost: POST http://127.0.0.1:") || strings.Contains(err.Error(), "/mcp") {
			t.Errorf("err = %v", err)
		}
		waitFor(t, c.Done(), "done")
	})
}

// unreachableServer returns s at a port without a listener.
func unreachableServer(t *testing.T, s *httpServer) *httpServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other := *s
	other.url = &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/mcp", RawQuery: "key=secret"}
	return &other
}

func TestHTTPHangsUntilTheContextEnds(t *testing.T) {
	for name, start := range map[string]func(http.ResponseWriter){
		"before the header": func(http.ResponseWriter) {},
		"in the body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":`)
			w.(http.Flusher).Flush()
		},
		"in a stream": func(w http.ResponseWriter) { rawEvents(w, ": hello\n\n") },
		"after an id": func(w http.ResponseWriter) { rawEvents(w, "id: 1\ndata:\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{}, 2)
			bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {
				if r.Method != protocol.MethodToolsCall {
					w.WriteHeader(202)
					return
				}
				start(w)
				left <- struct{}{}
				<-r.HTTP.Context().Done()
				left <- struct{}{}
			}, func(t *testing.T, c Conn, era protocol.Era) {
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-left; cancel() }()
				if _, err := c.Call(ctx, toolCall(era, "x", `{}`, 0)); err != context.Canceled {
					t.Errorf("err = %v", err)
				}
				waitFor(t, left, "the request to end at the server")
				if _, err := c.Call(ctx, Request{Method: "x"}); err != context.Canceled {
					t.Errorf("with an ended context: %v", err)
				}
			})
		})
	}
}

func TestHTTPRedirectWithinTheOriginIsFollowed(t *testing.T) {
	bothEras(t, dialOptions{headers: http.Header{"X-Key": {"k"}}}, func(w http.ResponseWriter, r rawRequest) {
		if r.HTTP.URL.Path != "/other" {
			http.Redirect(w, r.HTTP, "/other", http.StatusTemporaryRedirect)
			return
		}
		if r.HTTP.Header.Get("X-Key") != "k" {
			w.WriteHeader(401)
			return
		}
		rawAnswer(w, r, `{"ok":1}`)
	}, func(t *testing.T, c Conn, era protocol.Era) {
		if got, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0)); err != nil || string(got) != `{"ok":1}` {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestHTTPResultIsSacred(t *testing.T) {
	const result = `{ "z":1, "a":9007199254740993,"n":null, "s":"\u00e9\/" ,"content":[{"type":"odd","x":[]}]}`
	for _, length := range []bool{true, false} {
		bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {
			body := `{"result":` + result + `,"id":` + string(r.ID) + `,"jsonrpc":"2.0"}`
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			if !length {
				w.(http.Flusher).Flush()
			}
			io.WriteString(w, body)
		}, func(t *testing.T, c Conn, era protocol.Era) {
			got, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
			if err != nil || string(got) != result {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestHTTPReusesItsConnection(t *testing.T) {
	for _, body := range []string{"json", "events"} {
		seen := map[string]bool{}
		bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {
			seen[r.HTTP.RemoteAddr] = true
			if body == "json" {
				rawAnswer(w, r, `{}`)
				return
			}
			rawEvents(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", r.ID))
		}, func(t *testing.T, c Conn, era protocol.Era) {
			clear(seen)
			for range 50 {
				if _, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0)); err != nil {
					t.Fatal(err)
				}
			}
			if len(seen) > 5 { // a stream's end may be under way
				t.Errorf("%s: %d connections", body, len(seen))
			}
		})
	}
}

// FuzzAnswer passes any body to the path of a JSON answer and of a stream.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), false)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":[1]}}`), false)
	f.Add([]byte("id: 1\nretry: 10\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}\n\n"), true)
	f.Add([]byte("event: x\ndata: {\n\ndata: {\"id\":7,\"method\":\"ping\"}\n\n"), true)
	const limit = 1 << 12
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		s := &httpServer{opts: Options{MaxMessage: limit}}
		if !stream {
			for _, length := range []int64{-1, int64(len(body))} {
				r := &httpReply{Response: &http.Response{ContentLength: length}}
				r.body.ReadCloser = io.NopCloser(bytes.NewReader(body))
				result, err := s.response(r, json.RawMessage("1"))
				if (result == nil) == (err == nil) || len(result) > limit || err == nil && !json.Valid(result) {
					t.Fatalf("result %q, err %v", result, err)
				}
			}
			return
		}
		reported := 0
		take := func(env *wire.Envelope) { reported += len(env.Params) }
		e := eventStream{server: s, id: json.RawMessage("1"), retry: -1, onNotification: func(env *wire.Envelope) error { take(env); return nil }, onRequest: take}
		result, err, final := e.read(&httpReply{Response: &http.Response{}}, wire.NewEvents(bytes.NewReader(body), limit))
		if final && (result == nil) == (err == nil) || !final && err == nil || err == nil && !json.Valid(result) {
			t.Fatalf("result %q, err %v, final %v", result, err, final)
		}
		if len(result) > limit || reported > len(body) {
			t.Fatalf("%d bytes of result, %d told", len(result), reported)
		}
	})
}
