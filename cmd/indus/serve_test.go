package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// row is one server of a configuration.
type row struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// startServe starts indus serve with these servers.
func startServe(t testing.TB, servers map[string]row, flags ...string) *program {
	t.Helper()
	return launch(t, indusCommand(t, servers, append([]string{"serve"}, flags...)...))
}

// indusCommand returns a command of indus with these servers and a separate home.
func indusCommand(t testing.TB, servers any, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	raw, err := json.Marshal(map[string]any{"servers": servers})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programFor(args), append(args, "--mcp", file)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	return cmd
}

// TestNoServerOutlivesServe checks that no process of a server is left after any kind of end of indus. The servers have
// grandchildren that ignore SIGTERM, and run behind a shell as with npx.
func TestNoServerOutlivesServe(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are found by their environment in /proc")
	}
	doors := map[string][]string{"http": {"--addr", "127.0.0.1:0"}, "stdio": {"--stdio"}}
	ends := map[string]func(*program){
		"SIGTERM":      func(p *program) { p.signal(syscall.SIGTERM); p.ends(0) },
		"SIGINT":       func(p *program) { p.signal(syscall.SIGINT); p.ends(0) },
		"kill -9":      func(p *program) { p.signal(syscall.SIGKILL); p.ends(-1) },
		"end of stdin": func(p *program) { p.stdin.Close(); p.ends(0) },
	}
	for door, flags := range doors {
		for how, end := range ends {
			if door == "http" && how == "end of stdin" {
				continue // it does not read its stdin
			}
			t.Run(door+"/"+how, func(t *testing.T) {
				t.Parallel()
				mark, pidfile := newMark(), filepath.Join(t.TempDir(), "pid")
				node, everything := peers.Everything(t, "stdio")
				env := map[string]string{markName: mark}
				p := startServe(t, map[string]row{
					"stubborn":   {fixture.Build(t), []string{"-stubborn", "-grandchild", "-pidfile", pidfile}, env},
					"everything": {"sh", []string{"-c", `"$0" "$@"; exit 0`, node, everything[0], "stdio"}, env},
				}, flags...)
				p.waitFor(&p.err, `stubborn: ready`)
				p.waitFor(&p.err, `everything: ready`)
				grandchild, err := os.ReadFile(pidfile)
				if err != nil {
					t.Fatal(err)
				}
				running := markedProcesses(t, mark)
				if !slices.ContainsFunc(running, func(s string) bool { return strings.HasPrefix(s, string(grandchild)+": ") }) ||
					len(running) < 4 {
					t.Fatalf("before the end run %q; the grandchild is %s", running, grandchild)
				}
				end(p)
				waitGone(t, mark)
			})
		}
	}
}

// hangingServer returns a server that does not answer the handshake before release.
func hangingServer(t *testing.T) (row, *fixture.Server) {
	f := fixture.New(t, "-hang", "initialize,server/discover")
	return row{f.Path, f.Args, nil}, f
}

// releaseServer lets the server continue. The handshake must have been received.
func releaseServer(f *fixture.Server) {
	f.Wait("recv ")
	f.Send("release server/discover")
	f.Send("release initialize")
}

// meta is the part that every modern request carries.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestServeIsUpAtOnce checks that over HTTP no request waits for a hanging server, in either era. When the server is
// ready, its tools are listed, and every client is notified.
func TestServeIsUpAtOnce(t *testing.T) {
	t.Parallel()
	slow, f := hangingServer(t)
	p := startServe(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": slow}, "--addr", "127.0.0.1:0")
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `good: ready`)

	session := ""
	for _, ask := range []struct{ method, params, answer string }{
		{"server/discover", meta, `"supportedVersions"`},
		{"tools/list", meta, `"good__echo"`},
		{"initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`, `"listChanged":true`},
		{"ping", "", `"result":{}`},
		{"tools/list", "", `"good__echo"`},
	} {
		text, id := post(t, url, session, ask.method, ask.params)
		if id != "" {
			session = id
		}
		if !strings.Contains(text, ask.answer) || strings.Contains(text, "slow__echo") {
			t.Errorf("%s {%s}: %s", ask.method, ask.params, text)
		}
	}
	if text := p.err.String(); strings.Contains(text, "slow: ") {
		t.Errorf("it was waited for until it was given up: %s", text)
	}

	changed := make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cs, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	releaseServer(f)
	for !slices.Contains(listOf(ctx, t, cs), "slow__echo") {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("nobody told of the tools that came")
		}
	}
	p.waitFor(&p.err, `slow: ready`)
	p.signal(syscall.SIGTERM)
	p.ends(0)
}

func listOf(ctx context.Context, t *testing.T, cs *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range cs.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// post sends one request and returns the body of the answer, and the id of the session that it opened.
func post(t *testing.T, url, session, method, params string) (body, opened string) {
	t.Helper()
	modern := strings.Contains(params, "2026-07-28")
	b := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(b)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case modern:
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
	case session != "":
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := timedClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), resp.Header.Get("Mcp-Session-Id")
}

const (
	helloLegacy = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func ask(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, id, method)
}

// answerTo returns a pattern for the line that answers a request.
func answerTo(id int) string {
	return fmt.Sprintf(`(?m)^(\{.*"id":%d[,}].*)\n`, id)
}

// TestTheFirstListWaitsForServers checks that on stdio the first tools/list waits for servers that have never been
// listed, because many clients list once. Other requests do not wait.
func TestTheFirstListWaitsForServers(t *testing.T) {
	t.Parallel()
	slow, f := hangingServer(t)
	p := startServe(t, map[string]row{"slow": slow}, "--stdio", "--list-wait", "1h")
	p.send(helloLegacy)
	p.waitFor(&p.out, answerTo(1))
	p.send(initialized)
	p.send(ask(2, "tools/list"))
	p.send(ask(3, "ping"))
	p.waitFor(&p.out, answerTo(3))
	if text := p.out.String(); strings.Contains(text, `"tools":[`) {
		t.Fatalf("the list did not wait: %s", text)
	}
	releaseServer(f)
	if list := p.waitFor(&p.out, answerTo(2)); !strings.Contains(list, `"slow__echo"`) {
		t.Error(list)
	}
	p.stdin.Close()
	p.ends(0)
}

// TestTheFirstListHasWhatTheLedgerKnows checks that tools in the ledger are listed at once, whatever the server does.
func TestTheFirstListHasWhatTheLedgerKnows(t *testing.T) {
	t.Parallel()
	slow, f := hangingServer(t)
	cmd := indusCommand(t, map[string]row{"slow": slow}, "serve", "--stdio", "--list-wait", "1h")
	again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env}
	p := launch(t, cmd)
	releaseServer(f)
	p.waitFor(&p.err, `slow: ready`)
	p.stdin.Close()
	p.ends(0)
	p = launch(t, again) // now the server hangs
	p.send(helloLegacy)
	p.waitFor(&p.out, answerTo(1))
	p.send(initialized)
	p.send(ask(2, "tools/list"))
	if list := p.waitFor(&p.out, answerTo(2)); !strings.Contains(list, `"slow__echo"`) ||
		strings.Contains(p.err.String(), "slow: ready") {
		t.Error(list)
	}
	p.stdin.Close()
	p.ends(0)
}

// TestTheFirstListWaitsNoLongerThanListWait checks that clients are notified of tools that arrive later.
func TestTheFirstListWaitsNoLongerThanListWait(t *testing.T) {
	for _, wait := range []string{"0", "50ms"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			slow, f := hangingServer(t)
			p := startServe(t, map[string]row{"good": {fixture.Build(t), nil, nil}, "slow": slow}, "--stdio", "--list-wait",
				wait)
			p.waitFor(&p.err, `good: ready`)
			p.send(helloLegacy)
			p.waitFor(&p.out, answerTo(1))
			p.send(initialized)
			p.send(ask(2, "tools/list"))
			if list := p.waitFor(&p.out, answerTo(2)); !strings.Contains(list, `"good__echo"`) ||
				strings.Contains(list, `"slow__echo"`) {
				t.Error(list)
			}
			releaseServer(f)
			p.waitFor(&p.out, `notifications/tools/list_changed`)
			p.send(ask(3, "tools/list"))
			if list := p.waitFor(&p.out, answerTo(3)); !strings.Contains(list, `"slow__echo"`) {
				t.Error(list)
			}
			p.stdin.Close()
			p.ends(0)
		})
	}
}

// TestServeSaysThatAServerIsDown checks that the error states this, and not that the tool does not exist.
func TestServeSaysThatAServerIsDown(t *testing.T) {
	for _, flags := range [][]string{
		{"--expose", "all"}, {"--expose", "all", "--changes", "hold"}, {"--expose", "gateway"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			p := startServe(t, map[string]row{"dead": {fixture.Build(t), []string{"-exit"}, nil}}, append(flags, "--stdio")...)
			p.waitFor(&p.err, `dead: .*exit status 3`)
			p.send(helloLegacy)
			p.waitFor(&p.out, answerTo(1))
			p.send(initialized)
			params := `"name":"dead__echo","arguments":{}`
			if flags[1] == "gateway" {
				params = `"name":"call","arguments":{"operation":"dead__echo"}`
			}
			p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + params + `}}`)
			got := p.waitFor(&p.out, answerTo(2))
			for _, want := range []string{
				`"isError":true`, "dead: its server is down, and is ", "tried again", "exit status 3",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %s", want, got)
				}
			}
			p.stdin.Close()
			p.ends(0)
		})
	}
}

// TestADeadServerComesBack checks that a server and its tools are restarted while indus serves.
func TestADeadServerComesBack(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	p := startServe(t, map[string]row{"one": {f.Path, f.Args, nil}}, "--addr", "127.0.0.1:0")
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `one: ready`)
	f.Send("die")
	p.waitFor(&p.err, `one: .*exit status 7`)
	p.waitFor(&p.err, `(?s)one: ready.*exit status 7.*one: ready`)
	if text, _ := post(t, url, "", "tools/list", meta); !strings.Contains(text, `"one__echo"`) {
		t.Error(text)
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
}

// TestServeOutlivesTheReadersOfItsStderr checks that indus keeps serving after the reader of its stderr has exited.
func TestServeOutlivesTheReadersOfItsStderr(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	cmd := indusCommand(t, map[string]row{"one": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
	log, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	p := launch(t, cmd)
	w.Close()
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	f.Wait("start ")
	f.Send("die") // this is reported on stderr
	f.WaitN("start ", 2)
	url := strings.TrimSpace(line[strings.Index(line, "http"):])
	if text, _ := post(t, url, "", "server/discover", meta); !strings.Contains(text, "supportedVersions") {
		t.Error(text)
	}
	p.signal(syscall.SIGTERM)
	p.ends(0)
}

// TestServeStdioEndsWithItsClient covers a client that closes both of its pipes at once.
func TestServeStdioEndsWithItsClient(t *testing.T) {
	t.Parallel()
	cmd := indusCommand(t, map[string]row{"one": {fixture.Build(t), nil, nil}}, "serve", "--stdio")
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	p := launch(t, cmd)
	w.Close()
	out.Close()
	p.send(helloLegacy)
	p.ends(1)
	if text := p.err.String(); !strings.Contains(text, "indus: ") || strings.Contains(text, "panic") {
		t.Error(text)
	}
}
