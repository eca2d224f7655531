package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
)

// tokenAndSession returns the token and the session that the tool whoami saw.
func tokenAndSession(t testing.TB, e operation.Envelope) (token, session string) {
	t.Helper()
	var blocks []struct{ Text string }
	if err := e.Decode(&blocks); err != nil || len(blocks) != 1 {
		t.Errorf("%s, %v", e.Value, err)
		return "", ""
	}
	token, session, _ = strings.Cut(blocks[0].Text, " in ")
	return token, session
}

func TestTheTokenIsTheCallsElseTheRegistrations(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := newService(t, era, whoami)
			f := them(s.url)
			f.Token = operation.NewSecret("import")
			r := imported(t, f)
			for _, one := range s.seen() {
				if one.token != "import" {
					t.Errorf("Import sent %+v", one)
				}
			}
			for want, caps := range map[string]operation.Capabilities{
				"import": {"mcp:others": operation.NewSecret("of another server"), "token": operation.NewSecret("x")},
				"ada":    token("ada"),
				"":       token(""),
			} {
				if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, caps)); got != want {
					t.Errorf("%q was sent, not %q", got, want)
				}
			}
		})
	}
}

func TestTheCapabilityHasANameOfOnesOwn(t *testing.T) {
	s := newService(t, eraModern, whoami)
	f := them(s.url)
	f.Capability = "weather-token"
	e := ask(t.Context(), imported(t, f), "whoami", `{}`, operation.Capabilities{"weather-token": operation.NewSecret("ada"), "mcp:them": operation.NewSecret("x")})
	if got, _ := tokenAndSession(t, e); got != "ada" {
		t.Error(got)
	}
}

func TestOwnTokensAreAskedFor(t *testing.T) {
	for _, era := range eras {
		s := newService(t, era, whoami)
		f := them(s.url)
		f.Token, f.OwnTokens = operation.NewSecret("import"), true
		r := imported(t, f)
		before := len(s.seen())
		e := ask(t.Context(), r, "whoami", `{}`, nil)
		if code(e) != bridge.Unauthorized || !strings.Contains(e.Err.Message, "mcp:them") || e.Err.Retryable {
			t.Error(e.Err)
		}
		for _, one := range s.seen()[before:] {
			if one.rpc == "tools/call" || one.session == "" && era == eraLegacy {
				t.Errorf("%s: went out: %+v", era, one)
			}
		}
		if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token("ada"))); got != "ada" {
			t.Error(got)
		}
	}
}

// TestAnEmptyTokenIsNotOnesOwn checks that an empty token counts as none if each call needs its own token.
func TestAnEmptyTokenIsNotOnesOwn(t *testing.T) {
	for _, era := range eras {
		s := newService(t, era, whoami)
		f := them(s.url)
		f.Token, f.OwnTokens = operation.NewSecret("import"), true
		r := imported(t, f)
		before := len(s.seen())
		if e := ask(t.Context(), r, "whoami", `{}`, token("")); code(e) != bridge.Unauthorized || string(e.Err.Details) != `{"status":0}` {
			t.Errorf("%s: %v, %s", era, e.Err, e.Value)
		}
		for _, one := range s.seen()[before:] {
			if one.rpc == "tools/call" || one.session == "" && era == eraLegacy {
				t.Errorf("%s: went out: %+v", era, one)
			}
		}
	}
}

// TestATokenThatAnErrorRepeatsIsHidden checks that a token in a JSON-RPC error with HTTP 200 appears in no message and
// no details, wherever a long message is cut.
func TestATokenThatAnErrorRepeatsIsHidden(t *testing.T) {
	const secret = "sesame/0123456789"
	for name, body := range map[string]string{
		"in the message":  `{"code":-32001,"message":"bad token ` + secret + `"}`,
		"where it is cut": `{"code":-32001,"message":"` + strings.Repeat("x", 2<<10-8) + secret + `"}`,
		"in the data":     `{"code":-32001,"message":"no","data":{"token":"` + secret + `"}}`,
		"escaped":         `{"code":-32001,"message":"no","data":["Bearer sesame\/\u0030123456789"]}`,
		"as a key":        `{"code":-32001,"message":"no","data":{"` + secret + `":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newRaw(t)
			s.answers(func(w http.ResponseWriter, id json.RawMessage, _ *http.Request) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, body)
			})
			f := them(s.url)
			f.Token = operation.NewSecret(secret)
			other := them(s.url)
			for of, r := range map[string]*operation.Registry{"the connection": imported(t, f), "the call": imported(t, other)} {
				e := ask(t.Context(), r, "plain", `{}`, token(secret))
				var data any
				if err := json.Unmarshal(e.Err.Details, &data); code(e) != bridge.Refused || err != nil {
					t.Fatalf("the token of %s: %v: %s", of, e.Err, e.Err.Details)
				}
				if said := e.Err.Message + fmt.Sprint(data); strings.Contains(said, "sesame") || strings.HasSuffix(name, "data") && !strings.Contains(said, "<secret: ") {
					t.Errorf("the token of %s: %.100s … %s", of, said, e.Err.Details)
				}
			}
		})
	}
}

// TestATokenThatLooksLikeJSONSpoilsNoError checks that a token becomes text where data contains it other than as
// text.
func TestATokenThatLooksLikeJSONSpoilsNoError(t *testing.T) {
	s := newRaw(t)
	s.answers(func(w http.ResponseWriter, id json.RawMessage, _ *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no","data":{"n":471108}}}`, id)
	})
	f := them(s.url)
	f.Token = operation.NewSecret("471108")
	if e := ask(t.Context(), imported(t, f), "plain", `{}`, nil); code(e) != bridge.Refused || string(e.Err.Details) != `{"code":-32001,"data":{"n":"<secret: 6 characters>"}}` {
		t.Errorf("%v: %s", e.Err, e.Err.Details)
	}
}

// TestTheLogShowsNoTokenThatAServerRepeats checks the log for errors of every status.
func TestTheLogShowsNoTokenThatAServerRepeats(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m) // notifications have no id
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":%q}}`, m.ID, "not "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	var log bytes.Buffer
	f := them(server.URL)
	f.Token, f.Logger = operation.NewSecret("open-sesame"), slog.New(slog.NewJSONHandler(&log, nil))
	_, err := f.Import(t.Context())
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
	if said := log.String(); strings.Contains(said, "sesame") || !strings.Contains(said, "not <secret: 18 characters>") {
		t.Error(said)
	}
}

// TestRedirectsTakeNoTokenAway checks that no redirect sends the token of a connection or of a call to another origin.
func TestRedirectsTakeNoTokenAway(t *testing.T) {
	var away atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { away.Add(1) }))
	t.Cleanup(other.Close)
	s := newRaw(t)
	s.answers(func(w http.ResponseWriter, _ json.RawMessage, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	f := them(s.url)
	f.Token = operation.NewSecret("import")
	r := imported(t, f)
	for _, caps := range []operation.Capabilities{nil, token("ada")} {
		if e := ask(t.Context(), r, "plain", `{}`, caps); code(e) != bridge.Unavailable || e.Err.Retryable {
			t.Errorf("%v", e.Err)
		}
	}
	if away.Load() != 0 {
		t.Error("a request was taken to another origin")
	}
}

// TestUnauthorizedCalls checks that a 401 fails only its call. Other calls and the connection continue.
func TestUnauthorizedCalls(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := newService(t, era, whoami)
			s.accept("import", "ada")
			f := them(s.url)
			f.Token = operation.NewSecret("import")
			r := imported(t, f)
			for range 2 {
				e := ask(t.Context(), r, "whoami", `{}`, token("evelyn"))
				if code(e) != bridge.Unauthorized || e.Err.Retryable || !sameJSON(t, e.Err.Details, `{"status":401,"challenge":"Bearer error=\"invalid_token\", error_description=\"<secret: 6 characters>\""}`) {
					t.Errorf("%v, %s", e.Err, e.Err.Details)
				}
				if strings.Contains(e.Err.Message, "evelyn") || !strings.Contains(e.Err.Message, "the token <secret: 6 characters> is not valid") {
					t.Errorf("the server repeated the token: %s", e.Err.Message)
				}
				for _, good := range []string{"ada", "import"} {
					if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token(good))); got != good {
						t.Error(got)
					}
				}
			}
			s.accept("ada") // the connection's token is revoked; the call's token is still valid
			if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token("ada"))); got != "ada" {
				t.Error(got)
			}
			if e := ask(t.Context(), r, "whoami", `{}`, nil); code(e) != bridge.Unauthorized {
				t.Error(e.Err)
			}
		})
	}
}

// TestPrincipalsNeverCross makes concurrent calls of several principals through one registration. No principal may get
// an answer, a session or a list of another.
func TestPrincipalsNeverCross(t *testing.T) {
	for _, era := range eras {
		for name, bound := range map[string]int{"room": 0, "crowded": 2} {
			t.Run(era+"/"+name, func(t *testing.T) {
				s := newService(t, era, whoami)
				f := them(s.url)
				f.Token, f.Sessions = operation.NewSecret("import"), bound
				r := imported(t, f)
				var sessions sync.Map // by session: its principal
				var callers sync.WaitGroup
				for _, principal := range []string{"ada", "eve", "import", "bob", "ada", "eve"} {
					callers.Go(func() {
						for range 12 {
							got, session := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token(principal)))
							if got != principal {
								t.Errorf("%q got an answer of %q", principal, got)
							}
							if owner, known := sessions.LoadOrStore(session, principal); known && session != "" && owner != principal {
								t.Errorf("%q used the session of %q", principal, owner)
							}
						}
					})
				}
				callers.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(s.mismatches) > 0 {
					t.Error(s.mismatches)
				}
				if opened := len(s.bound); era == eraLegacy && opened < 4 {
					t.Errorf("%d sessions for four tokens: this test shows nothing", opened)
				}
				if era == eraModern && len(s.bound) != 0 {
					t.Errorf("sessions of a server that has none: %v", s.bound)
				}
			})
		}
	}
}

// listsOf requests the list as each principal in turn, and returns the cases in which one saw another's list.
func listsOf(t testing.TB, list func(principal string) []string) (crossings []string) {
	for _, principal := range []string{"ada", "eve", "ada"} {
		for _, name := range list(principal) {
			if name != "of_"+principal {
				crossings = append(crossings, principal+" saw "+name)
			}
		}
	}
	return crossings
}

// privateLists starts a server that lists a different tool to each token, and allows clients to cache the list for an
// hour.
func privateLists(t testing.TB) *service {
	s := newService(t, eraModern)
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method != "tools/list" {
				return next(ctx, method, r)
			}
			principal := strings.TrimPrefix(r.GetExtra().Header.Get("Authorization"), "Bearer ")
			res := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "of_" + principal, InputSchema: map[string]any{"type": "object"}}}}
			res.Cacheable = mcp.Cacheable{TTLMs: 3_600_000, CacheScope: "private"}
			return res, nil
		}
	})
	s.mcp.AddTool(&mcp.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	return s
}

func TestListsNeverCross(t *testing.T) {
	s := privateLists(t)
	adapters := map[string]*bridge.FromMCP{}
	crossings := listsOf(t, func(principal string) []string {
		f := adapters[principal]
		if f == nil {
			f = them(s.url)
			f.Token = operation.NewSecret(principal)
			adapters[principal] = f
		}
		return names(imported(t, f))
	})
	if len(crossings) > 0 {
		t.Error(crossings)
	}
}

// TestASharedSessionOfTheSDKWouldCross checks that listsOf detects a leak. One session of the SDK's client caches the
// list of its first principal (go-sdk 1.8.0 ignores cacheScope).
func TestASharedSessionOfTheSDKWouldCross(t *testing.T) {
	s := privateLists(t)
	var now atomic.Value
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+now.Load().(string))
		return http.DefaultTransport.RoundTrip(r)
	})}
	now.Store("ada")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer session.Close()
	crossings := listsOf(t, func(principal string) (list []string) {
		now.Store(principal)
		res, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range res.Tools {
			list = append(list, tool.Name)
		}
		return list
	})
	if len(crossings) == 0 {
		t.Error("no list crossed: TestListsNeverCross shows nothing any more")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSessionsAreBounded(t *testing.T) {
	s := newService(t, eraLegacy, whoami)
	f := them(s.url)
	f.Token, f.Sessions = operation.NewSecret("import"), 2
	r := imported(t, f)
	session := func(principal string) string {
		_, id := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token(principal)))
		return id
	}
	ada, bob := session("ada"), session("bob")
	if session("ada") != ada || ada == bob || ada == "" {
		t.Fatal("a session is not kept")
	}
	eve := session("eve") // bob's session is closed for it, because ada's was used later
	s.wait(t, "bob's session closed", func() bool { return s.deleted == 1 })
	if session("ada") != ada || session("eve") != eve {
		t.Error("a session that was used lately went")
	}
	if session("bob") == bob {
		t.Error("a session came back")
	}
	if _, id := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, nil)); id == "" || s.sessions()["import"] != 1 {
		t.Errorf("the connection's own: %q, %v", id, s.sessions())
	}
}

// TestACallWaitsForASession checks that a call waits for a free session until its context ends.
func TestACallWaitsForASession(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{}, 1)
	s := newService(t, eraLegacy, whoami, withTool(mcp.Tool{Name: "hold"}, func(*mcp.CallToolRequest) *mcp.CallToolResult {
		entered <- struct{}{}
		<-hold
		return &mcp.CallToolResult{}
	}))
	f := them(s.url)
	f.Sessions = 1
	r := imported(t, f)
	var calls sync.WaitGroup
	calls.Go(func() {
		if e := ask(t.Context(), r, "hold", `{}`, token("ada")); e.Err != nil {
			t.Error(e.Err)
		}
	})
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if e := ask(ctx, r, "whoami", `{}`, token("eve")); code(e) != operation.Timeout {
		t.Errorf("%s, %v", e.Value, e.Err)
	}
	calls.Go(func() {
		if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token("eve"))); got != "eve" {
			t.Error(got)
		}
	})
	close(hold)
	calls.Wait()
}

func TestIdleSessionsAreClosed(t *testing.T) {
	for _, idle := range []time.Duration{-1, time.Millisecond} {
		s := newService(t, eraLegacy, whoami)
		f := them(s.url)
		f.Idle = idle
		r := imported(t, f)
		for i, principal := range []string{"ada", "eve"} {
			if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token(principal))); got != principal {
				t.Error(got)
			}
			s.wait(t, "its session closed", func() bool { return s.deleted == i+1 })
		}
		if got, _ := tokenAndSession(t, ask(t.Context(), r, "whoami", `{}`, token("ada"))); got != "ada" {
			t.Error(got)
		}
	}
}

// TestARefusalIsOfOnePrincipal checks that a 404 for one principal does not end calls of other principals on the shared
// connection.
func TestARefusalIsOfOnePrincipal(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		s := newRaw(t)
		hold, entered := make(chan struct{}), make(chan struct{})
		s.answers(func(w http.ResponseWriter, id rawID, r *http.Request) {
			if strings.HasSuffix(r.Header.Get("Authorization"), "evelyn") {
				http.Error(w, "nothing here for "+r.Header.Get("Authorization"), status)
				return
			}
			close(entered)
			<-hold
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`, id)
		})
		r := imported(t, them(s.url))
		var calls sync.WaitGroup
		calls.Go(func() {
			if e := ask(t.Context(), r, "plain", `{}`, token("ada")); e.Err != nil {
				t.Error(e.Err)
			}
		})
		<-entered
		if e := ask(t.Context(), r, "plain", `{}`, token("evelyn")); code(e) != bridge.Unavailable || !strings.Contains(string(e.Err.Details), fmt.Sprint(status)) || strings.Contains(e.Err.Message, "evelyn") {
			t.Errorf("%v", e.Err)
		}
		close(hold)
		calls.Wait()
	}
}
