//lint:file-ignore SA1019 sampling, roots and logging are deprecated, and there for as long as their peers are

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// soaker is one client with its own principal. Every message that it receives must belong to it. Each of its calls
// carries a nonce that begins with its name, and servers repeat the nonce in all messages of the call.
type soaker struct {
	*soak
	name   string
	shows  atomic.Pointer[credential]
	random *rand.Rand
	calls  atomic.Int64
	trail  trail
}

// nonce returns a new nonce.
func (c *soaker) nonce() string { return fmt.Sprintf("%s/%d", c.name, c.calls.Add(1)) }

// checkOwn checks that a text is for this client.
func (c *soaker) checkOwn(what, text string) {
	c.note(what)
	if who, _, _ := strings.Cut(text, "/"); who != c.name {
		c.Errorf("%s got the %s %q", c.name, what, text)
	}
}

func (c *soaker) server(of []string) string { return of[c.random.IntN(len(of))] }

// credential is the credential of a client.
type credential struct {
	token string
	// Times in Unix nanoseconds: from dying on it may be refused, and from dead on it must be. 0 means never.
	dying, dead atomic.Int64
}

// RoundTrip sends a request with the client's token.
func (c *soaker) RoundTrip(r *http.Request) (*http.Response, error) {
	shows, began := c.shows.Load(), time.Now()
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+shows.token)
	resp, err := c.web.RoundTrip(r)
	err = c.trail.follow(r, resp, err, began)
	if err == nil {
		c.checkStatus(r, resp.StatusCode, shows, began.UnixNano())
	}
	return resp, err
}

// checkStatus checks that valid credentials are accepted and others are refused. It records the nonces of refused
// requests.
func (c *soaker) checkStatus(r *http.Request, status int, shows *credential, began int64) {
	refused, dying, dead := status == http.StatusUnauthorized ||
		status == http.StatusForbidden, shows.dying.Load(), shows.dead.Load()
	switch {
	case refused && (dying == 0 || time.Now().UnixNano() < dying):
		c.Errorf("%s was refused with what is good", c.name)
	case !refused && dead != 0 && began >= dead:
		c.Errorf("%s was let in with what is not good: %s %s: %d", c.name, r.Method, r.URL, status)
	}
	if !refused {
		return
	}
	c.note("refused")
	if r.GetBody != nil {
		body, _ := r.GetBody()
		text, _ := io.ReadAll(body)
		// A call with inputResponses already ran up to its question.
		if m := nonces.FindSubmatch(text); m != nil && !bytes.Contains(text, []byte("inputResponses")) {
			c.mu.Lock()
			c.soak.refused[string(m[1])] = true
			c.mu.Unlock()
		}
	}
}

var nonces = regexp.MustCompile(`"nonce":"([^"]+)"`)

// named matches the server's name at the start of a question.
var named = regexp.MustCompile(`^\[[a-z0-9]+\] `)

// asked answers a server's question: it accepts, declines, or sends no answer.
func (c *soaker) asked(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	message := r.Params.Message
	if !named.MatchString(message) {
		c.Errorf("a question without its server: %q", message)
	}
	nonce := named.ReplaceAllString(message, "")
	c.checkOwn("question", nonce)
	switch n := nonce[len(nonce)-1] - '0'; {
	case n == 0:
		c.note("question left alone")
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return nil, errors.New("no answer")
	case n < 3:
		return &mcp.ElicitResult{Action: "decline"}, nil
	case r.Params.Mode == "url":
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": nonce}}, nil
}

// sdk returns a client of the SDK.
func (c *soaker) sdk(asked bool) *mcp.Client {
	o := &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			// Server-everything sends these to all clients with roots.
			if text := fmt.Sprint(r.Params.Data); !strings.HasPrefix(text, "Roots updated") {
				c.checkOwn("log", text)
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.checkOwn("progress", r.Params.Message)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			_, who, _ := strings.Cut(r.Params.URI, ":")
			c.checkOwn("update", who+"/")
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.note("change of a list") },
		Capabilities:           &mcp.ClientCapabilities{},
	}
	if asked {
		o.Capabilities = &mcp.ClientCapabilities{
			RootsV2: &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			},
		}
		o.ElicitationHandler = c.asked
		o.CreateMessageHandler = func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			nonce := r.Params.Messages[0].Content.(*mcp.TextContent).Text
			c.checkOwn("sampling", nonce)
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: nonce}}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: c.name, Version: "1"}, o)
	if asked {
		client.AddRoots(&mcp.Root{URI: "file:///" + c.name})
	}
	return client
}

// live connects, performs random steps and disconnects, repeatedly. version is "" for the modern era.
func (c *soaker) live(version, path string, asked bool) {
	for c.running() {
		if err := c.visit(version, path, asked); err != nil {
			c.failed("connect", err)
		}
	}
}

func (c *soaker) visit(version, path string, asked bool) error {
	ctx, cancel := context.WithCancel(c.Context()) // for the session and its requests
	defer cancel()
	late := time.AfterFunc(soakDeadline, cancel)
	web := &http.Client{Transport: c}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: c.url + path, HTTPClient: web}
	if path == "/sse" {
		transport = &mcp.SSEClientTransport{Endpoint: c.url + path, HTTPClient: web}
	}
	session, err := c.sdk(asked).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	late.Stop()
	c.note("visit")
	defer session.Close()
	if version != "" {
		if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			c.failed("logging/setLevel", err)
		}
	}
	held := ""
	for range 20 + c.random.IntN(60) {
		if !c.running() {
			break
		}
		if held != "" && c.random.IntN(10) == 0 {
			c.done("unsubscribe", session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: held}), true, "")
			held = ""
		}
		held = c.step(session, asked, held)
	}
	return nil
}

// step performs one random step. held is the client's current subscription.
func (c *soaker) step(session *mcp.ClientSession, asked bool, held string) string {
	ctx, cancel := context.WithTimeout(c.Context(), soakDeadline)
	defer cancel()
	server := c.server(c.gossips)
	switch n := c.random.IntN(40); {
	case n < 6:
		c.call(ctx, session, server, "echo", "", 0)
	case n < 10:
		c.call(ctx, session, server, "talk", "", 0)
	case n < 20 && asked:
		c.question(ctx, session, server)
	case n < 22:
		c.cancelled(ctx, session, server)
	case n == 22 && c.random.IntN(5) == 0:
		c.call(ctx, session, server, "die", "", 0)
	case n < 25:
		r, err := session.ListTools(ctx, nil)
		c.done("tools/list", err, err != nil || len(r.Tools) > 0, "no tools")
	case n < 27:
		_, err := session.ListResources(ctx, nil)
		c.done("resources/list", err, true, "")
	case n < 28:
		_, err := session.ListPrompts(ctx, nil)
		c.done("prompts/list", err, true, "")
	case n < 31:
		uri := "news-" + server + ":" + c.name
		r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		c.done("resources/read", err, err != nil || len(r.Contents) == 1 && r.Contents[0].Text == uri, "another resource")
	case n < 34:
		nonce := c.nonce()
		r, err := session.GetPrompt(ctx, &mcp.GetPromptParams{
			Name: server + "__say", Arguments: map[string]string{"nonce": nonce},
		})
		c.done("prompts/get", err, err != nil || r.Messages[0].Content.(*mcp.TextContent).Text == nonce, "another prompt")
	case n < 36:
		nonce := c.nonce()
		r, err := session.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{
				Type: "ref/prompt", Name: server + "__say",
			}, Argument: mcp.CompleteParamsArgument{Name: "nonce", Value: nonce},
		})
		c.done("completion/complete", err, err != nil || len(r.Completion.Values) == 1 && r.Completion.Values[0] == nonce,
			"another completion")
	case held == "":
		held = "news-" + server + ":" + c.name
		c.done("subscribe", session.Subscribe(ctx, &mcp.SubscribeParams{URI: held}), true, "")
	default:
		server, _, _ := strings.Cut(strings.TrimPrefix(held, "news-"), ":")
		c.call(ctx, session, server, "touch", "", 0)
	}
	return held
}

// question makes the server ask a question.
func (c *soaker) question(ctx context.Context, session *mcp.ClientSession, server string) {
	switch c.random.IntN(8) {
	case 0:
		c.call(ctx, session, server, "sample", "NONCE NONCE", 0)
	case 1:
		c.call(ctx, session, server, "roots", "NONCE file:///"+c.name, 0)
	case 2:
		c.call(ctx, session, server, "open", "NONCE (accept|decline)", 0)
	case 3, 4:
		c.call(ctx, session, server, "elicit", "NONCE (accept NONCE|decline)", 0)
	default:
		c.call(ctx, session, server, "ask", "NONCE (accept NONCE|decline)", 0)
	}
}

// call calls a tool. want is a pattern for the result, with NONCE for the call's nonce. If want is "", the result is
// the nonce.
func (c *soaker) call(ctx context.Context, session *mcp.ClientSession, server, tool, want string, ms int) {
	nonce := c.nonce()
	call := &mcp.CallToolParams{Name: server + "__" + tool, Arguments: map[string]any{"nonce": nonce, "n": 2, "ms": ms}}
	call.SetProgressToken(nonce)
	r, err := session.CallTool(ctx, call)
	if err == nil && r.IsError {
		c.failed(tool, errors.New(resultText(r)))
		return
	}
	if want == "" {
		want = "NONCE"
	}
	ok := err != nil || regexp.MustCompile("^"+strings.ReplaceAll(want, "NONCE", nonce)+"$").MatchString(resultText(r))
	got := ""
	if !ok {
		got = "got " + resultText(r) + " for " + nonce
	}
	c.done(tool, err, ok, got)
}

// cancelled cancels a call.
func (c *soaker) cancelled(ctx context.Context, session *mcp.ClientSession, server string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.random.IntN(300))*time.Millisecond)
	defer cancel()
	_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: server + "__sleep", Arguments: map[string]any{"ms": 60_000}})
	c.note("cancelled")
}
