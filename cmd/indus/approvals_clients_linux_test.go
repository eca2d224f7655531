package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The answers of a client to the question about a call.
const (
	accepts  = `{"action":"accept","content":{"approve":true}}`
	declines = `{"action":"decline"}`
	cancels  = `{"action":"cancel"}`
)

// writer is a server with the tool write. It counts its calls by tool and text.
type writer struct {
	*mcp.Server
	mu    sync.Mutex
	calls map[string]int
}

func newWriter(name string) *writer {
	w := &writer{Server: mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil), calls: map[string]int{}}
	w.define("write", "Writes a text.")
	return w
}

// define adds a tool, or changes its description.
func (w *writer) define(tool, description string) {
	type input struct {
		Text string `json:"text"`
	}
	mcp.AddTool(w.Server, &mcp.Tool{Name: tool, Description: description},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls[tool+" "+in.Text]++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "wrote " + in.Text}}}, nil, nil
		})
}

func (w *writer) ran(tool, text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[tool+" "+text]
}

// approvalGateway is indus serve with three servers, each of which has a rule for approval with its name. Each server has
// a number of tools, for definitions that change.
type approvalGateway struct {
	dir, url   string
	alice, bob string // keys
	servers    map[string]*writer
	book       *approval.Book
	served     *program
}

func newApprovalGateway(t *testing.T, tools int) *approvalGateway {
	t.Helper()
	g := &approvalGateway{dir: t.TempDir(), servers: map[string]*writer{}}
	rules := `permit(principal, action == Action::"list", resource);`
	rows := map[string]any{}
	for _, way := range []string{"caller", "other", "either"} {
		w := newWriter(way)
		at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.Server }, nil))
		t.Cleanup(at.Close)
		for n := range tools {
			w.define(fmt.Sprint("write", n), "Writes a text.")
		}
		g.servers[way], rows[way] = w, map[string]any{"url": at.URL}
		rules += fmt.Sprintf("\n@approve(%q) permit(principal, action == Action::\"call\", resource in Server::%[1]q);", way)
	}
	config, err := json.Marshal(map[string]any{
		"servers": rows, "auth": map[string]any{"methods": []string{"keys"}}, "policy": "policy.cedar",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"servers.json": string(config), "policy.cedar": rules} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.alice, g.bob = g.run(t, "key", "add", "--principal", "alice"), g.run(t, "key", "add", "--principal", "bob")
	g.book, err = approval.Open(filepath.Join(g.dir, "indus", "call-approvals.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := fixture.FreeAddr(t)
	g.url = "http://" + addr + "/mcp"
	g.served = g.serve(t, addr)
	return g
}

// serve starts indus serve, and waits until its servers are ready.
func (g *approvalGateway) serve(t *testing.T, addr string, flags ...string) *program {
	t.Helper()
	p := launch(t, projectCommand(g.dir, append([]string{"serve", "--mcp", "servers.json", "--addr", addr}, flags...)...))
	for way := range g.servers {
		p.waitFor(&p.err, way+": ready")
	}
	return p
}

// run runs a command, and returns its output.
func (g *approvalGateway) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := projectCommand(g.dir, args...).Output()
	if err != nil {
		t.Fatalf("indus %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// approvingClient is a real client with the key of alice.
type approvingClient struct {
	realClient
	*peers.Caller
	t      *testing.T
	g      *approvalGateway
	number int
	asked  bool   // it can be asked
	kept   string // the id of a grant from before a restart

	answer    string                // to each question
	question  func(question string) // is called before the answer; it may be nil
	questions []string              // to the last call
}

// call calls a tool of a server with a text.
func (c *approvingClient) call(server, tool, text string) string {
	return c.callAt(c.g.url, c.g.alice, server+"__"+tool, text)
}

func (c *approvingClient) callAt(url, key, tool, text string) string {
	c.t.Helper()
	c.questions = nil
	r := peers.Request{URL: url, Key: key, Tool: tool, Args: map[string]any{"text": text}}
	return c.Call(r, func(question string) string {
		c.questions = append(c.questions, question)
		if c.question != nil {
			c.question(question)
		}
		return c.answer
	})
}

var waitsFor = regexp.MustCompile(
	"waits for approval ([2-9B-Z]{4}): a person approves it at \\S+/approvals or by `indus approvals allow [2-9B-Z]{4}` until .*; then ask again")

// waits returns the id in an answer to a call that waits. The client was not asked.
func (c *approvingClient) waits(answer string) string {
	c.t.Helper()
	m := waitsFor.FindStringSubmatch(answer)
	if m == nil || len(c.questions) > 0 {
		c.t.Fatalf("the answer is %s, and the client was asked %q", answer, c.questions)
	}
	return m[1]
}

// runs checks that a call ran, and how often the same call ran in all.
func (c *approvingClient) runs(answer, server, tool, text string, times int) {
	c.t.Helper()
	if !strings.Contains(answer, "wrote "+text) {
		c.t.Errorf("%s of %s with %q: %s", tool, server, text, answer)
	}
	c.ran(server, tool, text, times)
}

// ran checks how often a call ran.
func (c *approvingClient) ran(server, tool, text string, times int) {
	c.t.Helper()
	if n := c.g.servers[server].ran(tool, text); n != times {
		c.t.Errorf("%s of %s with %q ran %d times, want %d", tool, server, text, n, times)
	}
}

func (c *approvingClient) allow(id string) {
	c.t.Helper()
	c.g.run(c.t, "approvals", "allow", id, "--yes")
}

// text returns a text of this client alone.
func (c *approvingClient) text(name string) string { return fmt.Sprintf("%s %d", name, c.number) }

// isGranted checks a server with a client that is not asked: another person allows the call, which then runs once.
func (c *approvingClient) isGranted(server string) {
	c.t.Helper()
	text := c.text("granted")
	id := c.waits(c.call(server, "write", text))
	if again := c.waits(c.call(server, "write", text)); again != id {
		c.t.Errorf("the same call waits for %s and %s", id, again)
	}
	c.allow(id)
	c.runs(c.call(server, "write", text), server, "write", text, 1)
	if again := c.waits(c.call(server, "write", text)); again == id {
		c.t.Errorf("the grant %s is used twice", id)
	}
	c.ran(server, "write", text, 1)
}

// isAsked checks a server whose calls the client may approve, and reports whether the client can be asked.
func (c *approvingClient) isAsked(server string) bool {
	c.t.Helper()
	text := c.text("asked")
	c.answer = accepts
	for n := range 2 {
		answer := c.call(server, "write", text)
		if n == 0 && len(c.questions) == 0 {
			return false
		}
		if len(c.questions) != 1 || !strings.Contains(c.questions[0], "server: "+server+"\ntool: write\n") ||
			!strings.Contains(c.questions[0], `{"text":"`+text+`"}`) {
			c.t.Errorf("call %d: the questions are %q", n, c.questions)
		}
		c.runs(answer, server, "write", text, n+1)
	}

	text = c.text("declined")
	c.answer = declines
	if got := c.call(server, "write", text); !strings.Contains(got, "the client of the caller denied this call") {
		c.t.Errorf("declined: %s", got)
	}
	c.ran(server, "write", text, 0)

	text = c.text("cancelled")
	c.answer = cancels
	got := c.call(server, "write", text)
	if len(c.questions) != 1 {
		c.t.Errorf("cancelled: asked %d times", len(c.questions))
	}
	c.questions = nil
	id := c.waits(got)
	c.ran(server, "write", text, 0)
	c.allow(id)
	got = c.call(server, "write", text)
	if len(c.questions) > 0 {
		c.t.Errorf("asked for a call that is allowed: %q", c.questions)
	}
	c.runs(got, server, "write", text, 1)
	return true
}

// firstCounts checks that another person may answer before the client: the client's later answer changes nothing.
func (c *approvingClient) firstCounts() {
	c.t.Helper()
	text := c.text("first")
	c.answer = declines
	c.question = func(question string) {
		c.allow(regexp.MustCompile(`approval (\w{4}),`).FindStringSubmatch(question)[1])
	}
	c.runs(c.call("either", "write", text), "either", "write", text, 1)
	c.question = nil
}

// isBound checks that a grant is for one caller, view, tool, definition and bytes of arguments.
func (c *approvingClient) isBound() {
	c.t.Helper()
	tool, text := fmt.Sprintf("write%d", c.number), c.text("bound")
	c.answer = accepts // nothing asks
	id := c.waits(c.call("other", tool, text))
	c.allow(id)
	for what, answer := range map[string]string{
		"with one other byte": c.call("other", tool, c.text("bounD")),
		"of another caller":   c.callAt(c.g.url, c.g.bob, "other__"+tool, text),
		"in another view":     c.callAt(c.g.url+"/other", c.g.alice, tool, text),
		"of another tool":     c.call("other", "write", text),
	} {
		if other := c.waits(answer); other == id {
			c.t.Errorf("a call %s waits for the same approval", what)
		}
	}
	c.redefine(tool, "Writes another text.")
	if other := c.waits(c.call("other", tool, text)); other == id {
		c.t.Error("the tool changed, and the call waits for the same approval")
	}
	c.ran("other", tool, text, 0)
	c.redefine(tool, "Writes a text.")
	c.runs(c.call("other", tool, text), "other", tool, text, 1)
}

// redefine changes the description of a tool of the server other, and waits until indus lists it.
func (c *approvingClient) redefine(tool, description string) {
	c.t.Helper()
	c.g.servers["other"].define(tool, description)
	eventually(c.t, func() string {
		_, _, body := listTools(c.t, c.g.url+"/other", c.g.alice)
		var list struct {
			Result struct {
				Tools []struct{ Name, Description string }
			}
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			c.t.Fatalf("%v: %s", err, body)
		}
		for _, d := range list.Result.Tools {
			if d.Name == tool && d.Description == description {
				return ""
			}
		}
		return fmt.Sprintf("%s changed to %q, and is not in the list %s", tool, description, body)
	})
}

// isLate checks that neither a call nor a grant is good after it expired, at an indus with a short time to expire.
func (c *approvingClient) isLate(url string) {
	c.t.Helper()
	text := c.text("late")
	c.answer = accepts
	ask := func() string { return c.waits(c.callAt(url, c.g.alice, "other__write", text)) }
	expired := func(id string) {
		eventually(c.t, func() string {
			i, err := c.g.book.Item(c.t.Context(), id)
			if err != nil {
				c.t.Fatal(err)
			}
			if i.State != approval.Expired {
				return fmt.Sprintf("%s has not expired: %+v", id, i)
			}
			return ""
		})
	}
	first := ask()
	expired(first)
	out, err := projectCommand(c.g.dir, "approvals", "allow", first, "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it has expired at ") {
		c.t.Errorf("an expired call was allowed: %v, %s", err, out)
	}
	var granted string
	eventually(c.t, func() string {
		granted = ask()
		_, err := c.g.book.Decide(c.t.Context(), granted, approval.Decision{Allow: true, Channel: approval.ByOperator})
		if errors.Is(err, approval.ErrExpired) {
			return "this machine is too slow to allow a call in two seconds"
		}
		if err != nil {
			c.t.Fatal(err)
		}
		return ""
	})
	expired(granted)
	if again := ask(); again == granted {
		c.t.Errorf("the grant %s is used late", granted)
	}
	c.ran("other", "write", text, 0)
}

// isDenied checks that the caller gets the reason of another person.
func (c *approvingClient) isDenied() {
	c.t.Helper()
	text := c.text("denied")
	id := c.waits(c.call("other", "write", text))
	c.g.run(c.t, "approvals", "deny", id, "--reason", "not on a Friday")
	answer := c.call("other", "write", text)
	if !strings.Contains(answer, "a person denied this call (approval "+id+"): not on a Friday") {
		c.t.Errorf("a denied call: %s", answer)
	}
	c.ran("other", "write", text, 0)
}

// TestClientsWaitForApproval checks the approval of calls with real clients of both eras before a real indus serve. A
// client that can be asked is asked as the rule says. Every other client gets a text with the id.
func TestClientsWaitForApproval(t *testing.T) {
	t.Parallel()
	var clients []*approvingClient
	for _, c := range realClients() {
		if c.program != "go" { // they are programs of one run; gateway tests go-sdk's client
			clients = append(clients, &approvingClient{realClient: c,
				Caller: peers.NewCaller(t, c.program, c.name), number: len(clients)})
		}
	}
	g := newApprovalGateway(t, len(clients))
	addr := fixture.FreeAddr(t)
	g.serve(t, addr, "--approval-expire", "2s")
	each := func(phase string, run func(*approvingClient)) {
		t.Run(phase, func(t *testing.T) {
			var all sync.WaitGroup // -parallel does not limit clients, which mostly wait
			for _, c := range clients {
				all.Go(func() {
					t.Run(c.name, func(t *testing.T) {
						c.t, c.g = t, g
						run(c)
					})
				})
			}
			all.Wait()
		})
	}
	each("decides", func(c *approvingClient) {
		c.asked = c.isAsked("caller")
		if c.asked != c.isAsked("either") {
			c.t.Error("it is asked by one of the rules caller and either")
		}
		if c.asked {
			c.firstCounts()
		} else {
			c.isGranted("caller")
			c.isGranted("either")
		}
		c.isGranted("other")
		c.isDenied()
		c.isBound()
		c.isLate("http://" + addr + "/mcp")
		c.kept = c.waits(c.call("other", "write", c.text("kept")))
		c.allow(c.kept)
		c.Disconnect()
	})
	if err := g.served.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.served.done
	g.served = g.serve(t, strings.TrimSuffix(strings.TrimPrefix(g.url, "http://"), "/mcp"))
	each("after a restart", func(c *approvingClient) {
		c.runs(c.call("other", "write", c.text("kept")), "other", "write", c.text("kept"), 1)
		if again := c.waits(c.call("other", "write", c.text("kept"))); again == c.kept {
			c.t.Errorf("the grant %s is used twice", again)
		}
	})
	var table strings.Builder
	table.WriteString("| client | version | with `caller` and `either` | with `other` |\n| --- | --- | --- | --- |\n")
	for _, c := range clients {
		how := "a text"
		if c.asked {
			how = "a question"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | a text |\n", c.name, peers.Version(t, c.from), how)
	}
	published(t, "approval", table.String())
}
