package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-secret-0123456789abcdef"

// providers makes each of the two providers for a server, with a separate connection.
var providers = map[string]func(url string) agent.Provider{
	"anthropic": func(url string) agent.Provider {
		return anthropic.New("m", &anthropic.Options{Key: key, BaseURL: url, HTTPClient: client()})
	},
	"openai": func(url string) agent.Provider {
		return openai.New("m", &openai.Options{Key: key, BaseURL: url, Provider: "openai", HTTPClient: client()})
	},
}

func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func each(t *testing.T, test func(*testing.T, func(url string) agent.Provider)) {
	t.Helper()
	t.Parallel()
	for name, provider := range providers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, provider)
		})
	}
}

func userMessage(text string) agent.Message {
	return agent.Message{Role: agent.User, Parts: []agent.Part{{Text: text}}}
}

var hello = agent.Request{System: "Be brief.", Messages: []agent.Message{userMessage("hello")}}

// pieces collects the pieces of a message.
type pieces struct{ text, reasoning, calls string }

func (h *pieces) add(p agent.Piece) {
	h.text += p.Text
	h.reasoning += p.Reasoning
	if p.Call != "" {
		h.calls += p.Call + ";"
	}
}

// TestMaxTokens checks that a request's limit applies, or else the provider's.
func TestMaxTokens(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		s := modelserver.New(t, modelserver.Turn{Text: "a"}, modelserver.Turn{Text: "b"})
		p := provider(s.URL)
		for i, most := range []int{77, 0} {
			r := hello
			r.MaxTokens = most
			if _, err := p.Generate(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if body := string(s.Requests()[i].Body); strings.Contains(body, `tokens":77`) != (most == 77) {
				t.Errorf("%d: %s", most, body)
			}
		}
	})
}

func TestAConversation(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		text := "Grüße 日本語 😀 <&> and \"more\"\n" + strings.Repeat("x", 5000)
		big := `{"text":"` + strings.Repeat("ü\\n", 3000) + `"}`
		s := modelserver.New(t,
			modelserver.Turn{Text: text, Reasoning: "Let me see…", Usage: &modelserver.Usage{Input: 900, Output: 7, CacheRead: 300},
				Calls: []modelserver.Call{{ID: "one", Name: "read", Input: `{"path":"a\u00e9\\b"}`}, {ID: "two", Name: "read", Input: big}, {ID: "three", Name: "now"}}},
			modelserver.Turn{Text: "Done."})
		p := provider(s.URL)
		r := hello
		r.Tools = []toolbox.Descriptor{{Name: "read", Description: "Reads <b>.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
		var h pieces
		first, err := p.Generate(t.Context(), r, h.add)
		if err != nil {
			t.Fatal(err)
		}
		want := agent.Reply{Stop: agent.StopCalls, Usage: agent.Usage{Input: 900, Output: 7, CacheRead: 300}, Message: agent.Message{
			Role: agent.Assistant,
			Parts: []agent.Part{{Text: text}, {Call: &agent.Call{ID: "one", Name: "read", Input: []byte(`{"path":"a\u00e9\\b"}`)}},
				{Call: &agent.Call{ID: "two", Name: "read", Input: []byte(big)}}, {Call: &agent.Call{ID: "three", Name: "now", Input: []byte(`{}`)}}},
		}}
		native := cmpopts.IgnoreSliceElements(func(p agent.Part) bool { return p.Native != nil })
		if diff := cmp.Diff(want, first, native); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(pieces{text, "Let me see…", "read;read;now;"}, h, cmp.AllowUnexported(pieces{})); diff != "" {
			t.Error(diff)
		}
		// The conversation passes through a journal, and results arrive one by one.
		var kept agent.Message
		b, err := json.Marshal(first.Message)
		if err != nil || json.Unmarshal(b, &kept) != nil {
			t.Fatalf("%v: %s", err, b)
		}
		result := func(id, output string, failed bool) agent.Message {
			return agent.Message{Role: agent.User, Parts: []agent.Part{{Result: &agent.Result{ID: id, Name: "read", Output: json.RawMessage(output), IsError: failed}}}}
		}
		r.Messages = append(r.Messages, kept, result("two", `{"n":1}`, false), userMessage("go on"), result("one", `"plain\ntext"`, false), result("three", `""`, true))
		second, err := p.Generate(t.Context(), r, nil)
		if err != nil || second.Message.Text() != "Done." || second.Stop != agent.StopEnd {
			t.Fatal(second, err)
		}
		sent := s.Requests()[1]
		wantResults := []modelserver.Result{{ID: "two", Text: `{"n":1}`}, {ID: "one", Text: "plain\ntext"}, {ID: "three", Text: "The tool failed and gave no reason."}}
		if diff := cmp.Diff(wantResults, sent.Results(), cmpopts.IgnoreFields(modelserver.Result{}, "IsError")); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(string(sent.Body), "Let me see…") {
			t.Error("the reasoning did not go back")
		}
		if sent.System() != "Be brief." || sent.Prompt() != "go on" || len(sent.Tools()) != 1 || sent.Tools()[0].Description != "Reads <b>." {
			t.Errorf("%q %q %v", sent.System(), sent.Prompt(), sent.Tools())
		}
	})
}

// TestAwkwardConversations checks what the strict server accepts in messages that another program wrote.
func TestAwkwardConversations(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		call := func(id, name, input string) agent.Part {
			return agent.Part{Call: &agent.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
		}
		result := func(id string) agent.Part {
			return agent.Part{Result: &agent.Result{ID: id, Output: json.RawMessage(`"x"`), Images: []agent.Image{{MIME: "image/svg+xml", Data: []byte("<svg/>")}, {MIME: "image/png"}}}}
		}
		s := modelserver.New(t, modelserver.Turn{Text: "ok"})
		_, err := provider(s.URL).Generate(t.Context(), agent.Request{System: " \n", Messages: []agent.Message{
			userMessage("a"), userMessage(" "), userMessage("b"),
			{Role: agent.Assistant, Parts: []agent.Part{{Text: "\n"}, {Native: &agent.Native{Provider: "another/m", JSON: json.RawMessage(`{"type":"thinking","signature":"x"}`)}}}},
			userMessage("c"),
			{Role: agent.Assistant, Parts: []agent.Part{
				call("functions.read:0", "read the file", `{"path":`), call("functions.read:1", "", ``), call("3", "read", `"{}"`), call("4", "read", `[1]`), call("5", "read", `null`)}},
			{Role: agent.User, Parts: []agent.Part{{Text: "stop"}, result("functions.read:0"), result("functions.read:1"), result("3"), result("4"), result("5")}},
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0].Results(); len(got) != 5 || !strings.Contains(got[0].Text, "image/svg+xml") || strings.Count(got[0].Text, "cannot be shown") != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestErrors(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		name      string
		turn      modelserver.Turn
		status    int
		message   string
		wait      time.Duration
		temporary bool
		tooLong   bool
	}{
		{name: "refused", turn: modelserver.Turn{Status: 400, Text: "tools.0: bad"}, status: 400, message: "tools.0: bad"},
		{name: "long", turn: modelserver.Turn{Status: 400, Text: "prompt is too long: 205000 tokens > 200000 maximum"}, status: 400, message: "205000", tooLong: true},
		{name: "window", turn: modelserver.Turn{Status: 400, Text: "This model's maximum context length is 4096 tokens"}, status: 400, message: "4096", tooLong: true},
		{name: "code", turn: modelserver.Turn{Status: 400, Code: "context_length_exceeded", Text: "no"}, status: 400, message: "no", tooLong: true},
		{name: "size", turn: modelserver.Turn{Status: 413, Text: "Request exceeds the maximum size"}, status: 413, message: "size", tooLong: true},
		{name: "key", turn: modelserver.Turn{Status: 401, Text: "Incorrect API key provided: " + key}, status: 401, message: "Incorrect API key provided: "},
		{name: "limit", turn: modelserver.Turn{Status: 429, Text: "too many tokens in the context window of a minute", RetryAfter: "2.5"}, status: 429, message: "too many", wait: 2500 * time.Millisecond, temporary: true},
		{name: "date", turn: modelserver.Turn{Status: 503, RetryAfter: date}, status: 503, message: "scripted", wait: time.Hour, temporary: true},
		{name: "forever", turn: modelserver.Turn{Status: 503, RetryAfter: "1e300"}, status: 503, message: "scripted", wait: 24 * time.Hour, temporary: true},
		{name: "busy", turn: modelserver.Turn{Status: 529}, status: 529, message: "scripted", temporary: true},
		{name: "page", turn: modelserver.Turn{Status: 502, Raw: "<html><head><title>502 Bad Gateway</title><style>x{}</style></head><body>" + strings.Repeat("<p>x", 1e6) + "</body>"}, status: 502, message: "502 Bad Gateway", temporary: true},
		{name: "nothing", turn: modelserver.Turn{Status: 500, Raw: " "}, status: 500, message: "no reason is given", temporary: true},
		{name: "detail", turn: modelserver.Turn{Status: 422, Raw: `{"detail":[{"loc":["body","tools"],"msg":"field required"}]}`}, status: 422, message: "field required"},
		{name: "word", turn: modelserver.Turn{Status: 404, Raw: `{"error":"model 'm' not found"}`}, status: 404, message: "model 'm' not found"},
		{name: "list", turn: modelserver.Turn{Status: 400, Raw: `[{"error":{"code":400,"message":"Invalid\u001b[31m value","status":"INVALID_ARGUMENT"}}]`}, status: 400, message: "Invalid[31m value"},
		{name: "behind", turn: modelserver.Turn{Status: 502, Raw: `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"out of memory\"}}"}}}`}, status: 502, message: "Provider returned error: ", temporary: true},
		{name: "in the stream", turn: modelserver.Turn{Status: 529, Break: true, Text: "overloaded", Code: "overloaded_error"}, status: 529, message: "overloaded", temporary: true},
		{name: "broken", turn: modelserver.Turn{Text: "a text", Break: true}, message: "broke off", temporary: true},
		{name: "short", turn: modelserver.Turn{Raw: ": nothing\n\n"}, message: "broke off", temporary: true},
		{name: "no JSON", turn: modelserver.Turn{Raw: "data: {\"type\":\n\n"}, message: "no JSON"},
		{name: "a long line", turn: modelserver.Turn{Raw: "data: " + strings.Repeat("x", 17<<20) + "\n\n"}, message: "16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, provider func(string) agent.Provider) {
				s := modelserver.New(t, c.turn)
				p := provider(s.URL)
				_, err := p.Generate(t.Context(), hello, nil)
				var e *agent.ProviderError
				if !errors.As(err, &e) {
					t.Fatalf("%T %v", err, err)
				}
				if e.Status != c.status || !strings.Contains(e.Message, c.message) || e.Temporary() != c.temporary || e.TooLong != c.tooLong || e.Provider != p.Name() {
					t.Errorf("%+v", e)
				}
				if e.RetryAfter < c.wait-10*time.Second || e.RetryAfter > c.wait {
					t.Errorf("RetryAfter %s", e.RetryAfter)
				}
				if len(err.Error()) > 1200 || strings.Contains(err.Error(), key) || strings.ContainsAny(err.Error(), "\n\x1b") {
					t.Errorf("%q", err)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		s := modelserver.New(t, modelserver.Turn{Hang: true}, modelserver.Turn{Text: "begins", Hang: true})
		for n := 1; n <= 2; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			heard := make(chan struct{}, 100)
			go func() {
				_, err := provider(s.URL).Generate(ctx, hello, func(agent.Piece) { heard <- struct{}{} })
				done <- err
			}()
			s.Wait(n)
			if n == 2 {
				<-heard
			}
			cancel()
			if err := <-done; err != context.Canceled {
				t.Errorf("%v", err)
			}
			s.Left(n)
		}
	})
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	s := modelserver.New(t)
	s.Func(func(modelserver.Request) modelserver.Turn { return modelserver.Turn{Text: "ok"} })
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE", "ANTHROPIC_WORKSPACE_ID",
		"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS",
	} {
		t.Setenv(name, "X-From: the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	for _, p := range []agent.Provider{
		anthropic.New("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client()}),
		anthropic.New("m", &anthropic.Options{BaseURL: s.URL + "/v1/", HTTPClient: client(), Key: " " + key + "\n"}),
		openai.New("m", &openai.Options{BaseURL: s.URL, HTTPClient: client()}),
		openai.New("m", &openai.Options{BaseURL: s.URL + "/v1/", HTTPClient: client(), Key: key + "\n"}),
	} {
		if _, err := p.Generate(t.Context(), hello, nil); err != nil {
			t.Error(err)
		}
	}
	for i, r := range s.Requests() {
		header, _ := json.Marshal(r.Header)
		if strings.Contains(string(header), "the-environment") || strings.Contains(string(header), key) != (i%2 == 1) ||
			(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key") != "") != (i%2 == 1) {
			t.Errorf("%d: %s", i, header)
		}
	}
}

func TestNoRedirection(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		other := modelserver.New(t)
		for _, status := range []int{301, 302, 303, 307, 308} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/v1/messages?token=abcdefghijklmnop", status)
			}))
			t.Cleanup(s.Close)
			_, err := provider(s.URL).Generate(t.Context(), hello, nil)
			var e *agent.ProviderError
			if !errors.As(err, &e) || e.Status != status || e.Temporary() || !strings.Contains(e.Message, other.URL) || strings.Contains(e.Message, "abcdefghijklmnop") {
				t.Errorf("%d: %v", status, err)
			}
		}
		if n := len(other.Requests()); n != 0 {
			t.Errorf("%d requests arrived at the other server", n)
		}
	})
}

// TestWhatIsNoModelsServer checks the error that a person reads if the address is wrong.
func TestWhatIsNoModelsServer(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "page") {
				_, _ = io.WriteString(w, "<!DOCTYPE html><title>Welcome &amp; hello</title>")
				return
			}
			http.NotFound(w, r)
		}))
		t.Cleanup(s.Close)
		for path, want := range map[string]string{
			"/page": "the answer is text/html and no stream: Welcome & hello",
			"/none": ": 404 page not found",
		} {
			_, err := provider(s.URL+path).Generate(t.Context(), hello, nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "POST "+s.URL+path) {
				t.Error(err)
			}
		}
		s.Close()
		secure := httptest.NewTLSServer(http.NotFoundHandler())
		secure.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(secure.Close)
		if _, err := provider(secure.URL).Generate(t.Context(), hello, nil); err == nil || !err.(*agent.ProviderError).Final || !strings.Contains(err.Error(), "certificate") {
			t.Error(err)
		}
		for address, want := range map[string]string{
			s.URL:                     "connection refused",
			"127.0.0.1:11434":         `the base URL "127.0.0.1:11434" is none`,
			"localhost:11434/v1":      "is none",
			"http://[":                "is none",
			"ftp://127.0.0.1":         "is none",
			"http://127.0.0.1:99999/": "invalid port",
		} {
			_, err := provider(address).Generate(t.Context(), hello, nil)
			var e *agent.ProviderError
			if !errors.As(err, &e) || !strings.Contains(e.Message, want) || e.Final != strings.Contains(want, "none") {
				t.Errorf("%s: %v", address, err)
			}
		}
	})
}

// TestEndless checks that no server can fill the memory or be read forever.
func TestEndless(t *testing.T) {
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		anthropicDelta := `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("x", 1<<20) + "\"}}\n\n"
		openaiDelta := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"` + strings.Repeat("x", 1<<20) + "\"}}]}}]}\n\n"
		for _, c := range []struct{ first, rest, want string }{
			{": ", strings.Repeat("x", 1<<20), "more than 128 MiB"},
			{"data: ", strings.Repeat("x", 1<<20), "more than 16 MiB"},
			{`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n", anthropicDelta + openaiDelta, "the message has more than 16 MiB"},
			{`data: {"type":"ping"}` + "\n\n", strings.Repeat(`data: {"type":"content_block_start","index":INDEX,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":INDEX,"id":"a","function":{"name":"f"}}]}}]}`+"\n\n", 1), "more than 256 calls"},
		} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, err := io.WriteString(w, c.first)
				for i := 0; err == nil; i++ {
					rest := strings.ReplaceAll(c.rest, "INDEX", number(i))
					_, err = io.WriteString(w, rest)
				}
			}))
			_, err := provider(s.URL).Generate(t.Context(), hello, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.20s: %v", c.rest, err)
			}
			s.CloseClientConnections()
			s.Close()
		}
	})
}

// mute is an answer that begins with this text and then sends nothing more.
type mute string

func (m mute) RoundTrip(r *http.Request) (*http.Response, error) {
	if m == "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(io.MultiReader(strings.NewReader(string(m)), until(r.Context().Done())))}, nil
}

type until <-chan struct{}

func (u until) Read([]byte) (int, error) {
	<-u
	return 0, errors.New("gone")
}

// TestSilence checks that a request ends if the server sends nothing for too long.
func TestSilence(t *testing.T) {
	for _, said := range []mute{"", ": ping\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			c := &http.Client{Transport: said}
			for _, p := range []agent.Provider{
				openai.New("m", &openai.Options{BaseURL: "http://model.test", HTTPClient: c}),
				anthropic.New("m", &anthropic.Options{BaseURL: "http://model.test", HTTPClient: c}),
			} {
				_, err := p.Generate(t.Context(), hello, nil)
				var e *agent.ProviderError
				if !errors.As(err, &e) || e.Temporary() || !strings.Contains(e.Message, "the server has sent nothing for 15m0s") {
					t.Errorf("%q: %v", said, err)
				}
			}
		})
	}
}

func number(i int) string { b, _ := json.Marshal(i); return string(b) }
