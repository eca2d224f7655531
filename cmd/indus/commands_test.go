package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// commands returns the commands of scripts, in addition to testscript's own.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	plain := func(least int, synopsis string, run func(*testscript.TestScript, *scene, []string)) func(*testscript.TestScript, bool, []string) {
		return func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < least {
				ts.Fatalf("usage: %s", synopsis)
			}
			run(ts, ts.Value("scene").(*scene), args)
		}
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits":  plain(2, "exits CODE PROGRAM [ARG]...     run it and check its exit code", exits),
		"start":  plain(2, "start NAME PROGRAM [ARG]...     run it beside the script", startProgram),
		"heard":  plain(2, "heard NAME PATTERN [VAR]        wait until its stderr matches, keep the group", checkHeard),
		"signal": plain(2, "signal NAME INT|TERM|KILL|HUP  send it a signal", signalProgram),
		"ended": plain(2, "ended NAME CODE                 wait for its end; NAME.out and NAME.err are what it said",
			checkEnded),
		"hangup":   plain(1, "hangup NAME                     end its stdin", hangup),
		"flood":    plain(2, "flood NAME BYTES                write blanks to its stdin, more than a pipe holds", flood),
		"event":    plain(1, "event PREFIX [N]                wait for an event of the script's fixtures", event),
		"tell":     plain(1, "tell COMMAND                    give them all a command", tell),
		"peer":     plain(2, "peer VAR http|sse|fixture [FLAG]...  start an HTTP server, VAR is its URL", peer),
		"registry": plain(2, "registry VAR FILE               serve the entries of a file, VAR is the registry's URL", startRegistry),
		"packages": plain(1, "packages FILE                   serve packages for npm and pip from a file",
			func(ts *testscript.TestScript, _ *scene, args []string) { startPackages(ts, args) }),
		"fetched":   plain(3, "fetched URL STATUS FILE         get a public document; lists of a registry follow their schema", fetched),
		"occupy":    plain(1, "occupy VAR                      listen on a port, VAR is its HOST:PORT", occupy),
		"inspector": plain(1, "inspector [ARG]...              run the Inspector's command line", inspector),
		"listed": plain(3,
			"listed [-roots] FILE SERVER URL|PROGRAM [ARG]...  append the qualified names of what a server lists", listed),
		"names":    plain(2, "names FROM TO                   write the names in a list of tools", toolNames),
		"prefixed": plain(3, "prefixed FROM PREFIX TO         write each line with a prefix", prefixed),
		"json":     plain(1, "json FILE                       check that it is one JSON document", isJSON),
		"holds":    plain(2, "holds FILE PART                 check that JSON has that part, whitespace aside", checkHolds),
		"size":     plain(2, "size FILE BYTES                 check how long it is", size),
		"until":    plain(2, "until PATTERN PROGRAM [ARG]...  run it again and again until its stdout matches", repeatUntil),
		"headof":   plain(2, "headof FILE VAR                 VAR is the head of a ledger, SEQ:HASH", captureHead),
		"taken":    plain(3, "taken FILE PATTERN VAR          VAR is the group of what matches in a file", captureMatch),
		"save": plain(2, "save FROM TO                    write a file as editors do, who never show a part of it",
			saveFile),
		"quiet": plain(0, "quiet [FILE]                    check that stderr is that, or empty, whoever was waited for",
			checkQuiet),
		"edit": plain(3, "edit FILE PATTERN TEXT          replace what matches", edit),
		"model": plain(2,
			"model VAR SCRIPT                start a scripted model, VAR is its URL and VAR.log what it was sent", startModel),
		"guarded": plain(1, "guarded VAR [-keyed|-no-registration]  start an MCP server that wants a sign-in, VAR is its URL",
			startGuarded),
		"revoked": plain(1, "revoked USER                    end every token of a user's", revokeToken),
		"expired": plain(1, "expired USER                    end those of a user's that are renewed", expireToken),
		"refuses": plain(1, "refuses GRANT STATUS BODY|nothing  have the authorization server answer so to token requests",
			refuses),
		"counted": plain(2, "counted WHAT N                  check how often the authorization server did it", checkCount),
		"typed": plain(2, "typed NAME LINE...             write lines to its stdin, stdout is what was printed last",
			typed),
		"unseen": plain(0, "unseen                          check that no secret of a sign-in is anywhere", checkUnseen),
		"gone":   plain(0, "gone                            wait until no server of the script runs", checkGone),
	}
}

func exits(ts *testscript.TestScript, _ *scene, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got, exit := 0, (*exec.ExitError)(nil)
	if errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func startProgram(ts *testscript.TestScript, sc *scene, args []string) {
	program := args[1]
	if program == "indus" {
		program = programBeside(sc.name, args[2:])
	}
	path, err := exec.LookPath(program)
	ts.Check(err)
	sc.programs[args[0]] = start(sc.t, ts.MkAbs("."), scriptEnvironment(ts), path, args[2:]...)
}

// scriptEnvironment returns the variables of a script that its programs need.
func scriptEnvironment(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{
		"HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "WORK", "NODE", "EVERYTHING", "FILESYSTEM", "FIXTURE",
		"LISTS", "CONTROL", "MARK", "HTTP", "SSE", "URL", "REGISTRY", "INDUS_TOKEN", "INDUS_KEYCHAIN", "INDUS_STORE_KEY", "GOTRACEBACK",
	} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

func (sc *scene) program(ts *testscript.TestScript, name string) *program {
	p := sc.programs[name]
	if p == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return p
}

func checkHeard(ts *testscript.TestScript, sc *scene, args []string) {
	p := sc.program(ts, args[0])
	got := p.waitFor(&p.err, args[1])
	if len(args) > 2 {
		ts.Setenv(args[2], got)
	}
}

func signalProgram(ts *testscript.TestScript, sc *scene, args []string) {
	sc.program(ts, args[0]).signal(map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP,
		"QUIT": syscall.SIGQUIT,
	}[args[1]])
}

func checkEnded(ts *testscript.TestScript, sc *scene, args []string) {
	code, err := strconv.Atoi(args[1])
	ts.Check(err)
	p := sc.program(ts, args[0])
	p.ends(code)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(p.out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(p.err.String()), 0o600))
}

func hangup(ts *testscript.TestScript, sc *scene, args []string) {
	ts.Check(sc.program(ts, args[0]).stdin.Close())
}

// flood returns when the program has begun to read.
func flood(ts *testscript.TestScript, sc *scene, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	_, err = io.WriteString(sc.program(ts, args[0]).stdin, strings.Repeat(" ", n))
	ts.Check(err)
}

func event(ts *testscript.TestScript, sc *scene, args []string) {
	n := 1
	if len(args) > 1 {
		var err error
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	sc.control.WaitN(args[0], n)
}

func tell(_ *testscript.TestScript, sc *scene, args []string) {
	sc.control.Send("%s", strings.Join(args, " "))
}

func peer(ts *testscript.TestScript, sc *scene, args []string) {
	var url string
	switch args[1] {
	case "http":
		url = peers.EverythingHTTP(sc.t)
	case "sse":
		url = peers.EverythingSSE(sc.t)
	case "fixture":
		f := fixture.Server{Path: ts.Getenv("FIXTURE"), Control: sc.control}
		p := fixture.Start(sc.t, fixture.Command{
			Path: f.Path, Args: append([]string{"-http", "127.0.0.1:0", "-control", f.Addr()}, args[2:]...),
		})
		url = p.Line()
		p.Drain()
	default:
		ts.Fatalf("no peer %q", args[1])
	}
	ts.Setenv(args[0], url)
}

func occupy(ts *testscript.TestScript, _ *scene, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func inspector(ts *testscript.TestScript, sc *scene, args []string) {
	node, arguments := peers.Command(sc.t, "@modelcontextprotocol/inspector",
		append([]string{"--cli", "--quiet"}, args...)...)
	ts.Setenv("PATH", filepath.Dir(node)+string(os.PathListSeparator)+ts.Getenv("PATH"))
	ts.Check(ts.Exec(node, arguments...))
}

// listed lists the tools of a server directly with the Go SDK's client. Like indus, it declares no capabilities. With
// -roots it declares roots, as the Inspector does. The server "everything" lists more tools to such clients.
func listed(ts *testscript.TestScript, _ *scene, args []string) {
	var declared mcp.ClientCapabilities
	if args[0] == "-roots" {
		//lint:ignore SA1019 roots are deprecated, and there for as long as their peers are
		declared.RootsV2, args = &mcp.RootCapabilities{}, args[1:]
	}
	file, server, where := ts.MkAbs(args[0]), args[1], args[2:]
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var transport mcp.Transport = &mcp.CommandTransport{Command: exec.Command(where[0], where[1:]...)}
	if strings.HasSuffix(where[0], "/mcp") {
		transport = &mcp.StreamableClientTransport{Endpoint: where[0]}
	} else if strings.HasSuffix(where[0], "/sse") {
		transport = &mcp.SSEClientTransport{Endpoint: where[0]}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &declared})
	session, err := client.Connect(ctx, transport, nil)
	ts.Check(err)
	defer session.Close()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	for tool, err := range session.Tools(ctx, nil) {
		ts.Check(err)
		fmt.Fprintf(f, "%s__%s\n", server, tool.Name)
	}
}

// toolNames reads a tools/list result or the output of indus mcp tools --json.
func toolNames(ts *testscript.TestScript, _ *scene, args []string) {
	type named struct {
		Name string `json:"name"`
	}
	var result struct{ Tools []named }
	raw := []byte(ts.ReadFile(args[0]))
	if err := json.Unmarshal(raw, &result.Tools); err != nil {
		ts.Check(json.Unmarshal(raw, &result))
	}
	var names []string
	for _, t := range result.Tools {
		names = append(names, t.Name)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(append(slices.Clip(names), ""), "\n")), 0o600))
}

func prefixed(ts *testscript.TestScript, _ *scene, args []string) {
	var b strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		b.WriteString(args[1] + line)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b.String()), 0o600))
}

func isJSON(ts *testscript.TestScript, _ *scene, args []string) {
	if text := ts.ReadFile(args[0]); !json.Valid([]byte(text)) {
		ts.Fatalf("no JSON: %s", text)
	}
}

func checkHolds(ts *testscript.TestScript, _ *scene, args []string) {
	var all, part bytes.Buffer
	ts.Check(json.Compact(&all, []byte(ts.ReadFile(args[0]))))
	ts.Check(json.Compact(&part, []byte(ts.ReadFile(args[1]))))
	if !bytes.Contains(all.Bytes(), part.Bytes()) {
		ts.Fatalf("not in it: %s\n%s", part.String(), all.String())
	}
}

func size(ts *testscript.TestScript, _ *scene, args []string) {
	if n := len(ts.ReadFile(args[0])); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d bytes, not %s", n, args[1])
	}
}

func checkGone(ts *testscript.TestScript, sc *scene, _ []string) { waitGone(sc.t, ts.Getenv("MARK")) }

// repeatUntil repeats a command until its output matches, because another process needs time. The last output is
// stdout.
func repeatUntil(ts *testscript.TestScript, sc *scene, args []string) {
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for late := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		out := ts.ReadFile("stdout")
		if err == nil && re.MatchString(out) {
			return
		}
		if time.Now().After(late) {
			ts.Fatalf("it never said %q, but at last (%v):\n%s%s", args[0], err, out, ts.ReadFile("stderr"))
		}
	}
}

func captureMatch(ts *testscript.TestScript, _ *scene, args []string) {
	groups := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[0]))
	if len(groups) < 2 {
		ts.Fatalf("%s does not match %s", args[0], args[1])
	}
	ts.Setenv(args[2], groups[1])
}

func captureHead(ts *testscript.TestScript, _ *scene, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	var last struct {
		Seq  int
		Hash string
	}
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	ts.Setenv(args[1], fmt.Sprintf("%d:%s", last.Seq, last.Hash))
}

func edit(ts *testscript.TestScript, _ *scene, args []string) {
	old := ts.ReadFile(args[0])
	edited := regexp.MustCompile(args[1]).ReplaceAllString(old, args[2])
	if edited == old {
		ts.Fatalf("nothing in %s matches %s", args[0], args[1])
	}
	ts.Check(replaceFile(ts.MkAbs(args[0]), edited))
}

func saveFile(ts *testscript.TestScript, _ *scene, args []string) {
	ts.Check(replaceFile(ts.MkAbs(args[1]), ts.ReadFile(args[0])))
}

// replaceFile writes a file in one step, because other processes may read it.
func replaceFile(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// checkQuiet checks stderr, and ignores messages about a slow machine.
func checkQuiet(ts *testscript.TestScript, _ *scene, args []string) {
	want := ""
	if len(args) > 0 {
		want = ts.ReadFile(args[0])
	}
	waits := regexp.MustCompile(`(?m)^indus: still waiting, after .*\n`)
	if got := waits.ReplaceAllString(ts.ReadFile("stderr"), ""); got != want {
		ts.Fatalf("stderr is %q, not %q", got, want)
	}
}
