package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/internal/testkit/screen"
	"golang.org/x/sys/unix"
)

// window is a terminal that runs indus: its screen, and all bytes written to it.
type window struct {
	*program
	*screen.Screen
	raw          transcript
	at           int // the part of raw that was matched
	control, tty *os.File
	cooked       unix.Termios
}

// atPrompt matches an empty prompt, and asksFor the end of a question.
const (
	atPrompt = `> \x1b\[K\r\n\x1b\[J\x1b\[1A\x1b\[2C`
	asksFor  = `  allow\? \x1b\[K\r\n\x1b\[J\x1b\[1A\x1b\[9C`
)

// openWindow starts a conversation with a scripted model and these servers.
func openWindow(t *testing.T, model *modelserver.Server, servers any, args ...string) *window {
	t.Helper()
	w := &window{Screen: screen.New(70, 40, func(r rune) int { return show.Columns(string(r)) })}
	w.control, w.tty = openTerminal(t, 70, 40)
	w.cooked = w.mode(t)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.MultiWriter(w.Screen, &w.raw), w.control)
	}()
	t.Cleanup(func() {
		w.tty.Close()
		<-read
		w.control.Close()
	})
	cmd := indusCommand(t, servers, append([]string{"--base-url", model.URL, "--model", "m", "--wait", "1m"}, args...)...)
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
	cmd.Dir = filepath.Join(cmd.Dir, "work") // a project, unlike the home directory
	if err := os.Mkdir(cmd.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.program = launchOn(t, cmd, w.tty)
	w.waitFor(`Ctrl-D exits\r\n`)
	w.waitFor(atPrompt)
	return w
}

// launchOn starts a command on the terminal. launch would make a pipe to its stdin.
func launchOn(t *testing.T, cmd *exec.Cmd, tty *os.File) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// types types keys, and waits for a pattern in the output.
func (w *window) types(keys, pattern string) {
	w.t.Helper()
	if _, err := io.WriteString(w.control, keys); err != nil {
		w.t.Fatal(err)
	}
	w.waitFor(pattern)
}

// waitFor waits for a pattern in the output after the last match.
func (w *window) waitFor(pattern string) {
	w.t.Helper()
	re := regexp.MustCompile(pattern)
	late, done := time.After(deadline), w.done
	for {
		text, more := w.raw.snapshot()
		if m := re.FindStringIndex(text[w.at:]); m != nil {
			w.at += m[1]
			return
		}
		select {
		case <-more:
		case <-done: // its last output may not be read yet
			late, done = time.After(10*time.Second), nil
		case <-late:
			w.t.Fatalf("never saw %q; the screen:\n%s", pattern, w.String())
		}
	}
}

// resize changes the width of the window.
func (w *window) resize(columns uint16) {
	w.t.Helper()
	w.Resize(int(columns), 40)
	if err := unix.IoctlSetWinsize(int(w.control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{
		Col: columns, Row: 40,
	}); err != nil {
		w.t.Fatal(err)
	}
}

// mode returns the mode of the terminal.
func (w *window) mode(t *testing.T) unix.Termios {
	t.Helper()
	got, err := unix.IoctlGetTermios(int(w.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// waitExit checks the exit code of indus, and that the terminal is in its original mode.
func (w *window) waitExit(code int) {
	w.t.Helper()
	w.ends(code)
	if got := w.mode(w.t.(*testing.T)); got != w.cooked {
		w.t.Errorf("the terminal's mode is %+v, and was %+v", got, w.cooked)
	}
	if u := w.Unknown(); u != nil {
		w.t.Errorf("the terminal was sent %q", u)
	}
}

// TestAConversation runs a conversation with a server's tool, a slow tool that is cancelled, a server that is down, and
// resizes of the window.
func TestAConversation(t *testing.T) {
	t.Parallel()
	call := func(name, input string) []modelserver.Call { return []modelserver.Call{{Name: name, Input: input}} }
	model := modelserver.New(t,
		modelserver.Turn{Text: "I **ask** it.\n", Calls: call("good__echo", `{"message":"hello\u001b[2J"}`)},
		modelserver.Turn{Text: "It said `hello`:\n\n- once\n- &#27;]0;x&#7;and [no more](http://x/y)\n"},
		modelserver.Turn{Calls: call("bash", `{"command":"sleep 60"}`)},
	)
	w := openWindow(t, model, map[string]row{"good": {fixture.Build(t), nil, nil}, "down": {"/bin/false", nil, nil}},
		"--allow", "bash")
	w.types("ask it\ry\r", `good__echo wants to run`) // the y is typed before the question and does not answer it
	w.waitFor(asksFor)
	w.types("y\r", `2 steps, .*s\r\n`)
	w.waitFor(atPrompt)
	text := w.String()
	for _, want := range []string{
		"indus: down: connect: ",
		"> ask it\n\nI **ask** it.\n\n? good__echo wants to run\n  │ echo of the server good\n  │ message: " +
			"hello\\u{1b}[2J\n  y once",
		"  allow? y\n✓ good__echo hello[2J  ",
		"\n\nIt said `hello`:\n\n• once\n• ]0;xand no more (http://x/y)\n\n200 tokens in, 20 out, 2 steps, ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}

	w.types("slow\r", `bash sleep 60`)
	w.resize(36)
	w.waitFor(`bash sleep 60`)
	w.types("later", `> later`)
	w.types("\x03", `cancelled\r\n`)
	w.waitFor(`> later`)
	after := w.String()[strings.Index(w.String(), "> slow"):]
	if !strings.HasPrefix(after, "> slow\n\n✗ bash sleep 60  ") || strings.Count(after, "sleep 60") != 1 {
		t.Errorf("the turn that was cancelled:\n%s", after)
	}
	w.types("\x15/mcp\r", `down +(faulted|connecting) `)
	w.waitFor(atPrompt)
	w.types("/mpc\r", `no command /mpc`)
	w.waitFor(atPrompt)
	w.types("\x03", `again leaves`)
	w.types("\x03", `indus --resume=`)
	w.waitExit(0)
	if t.Failed() {
		t.Logf("the screen:\n%s", w.String())
	}
}

// TestServersAskInAConversation checks that questions of servers reach the user, during a call and in its result.
// Requests to the model reach it too.
func TestServersAskInAConversation(t *testing.T) {
	t.Parallel()
	call := func(tool, nonce string) modelserver.Turn {
		return modelserver.Turn{Calls: []modelserver.Call{{Name: "g__" + tool, Input: `{"nonce":"` + nonce + `"}`}}}
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			turns := []modelserver.Turn{call("ask", "question"), call("ask", "unwanted"), {Text: "Both asked."}}
			if era == "legacy" {
				turns = append([]modelserver.Turn{
					call("elicit", "question"), call("open", "page"), call("sample", "riddle"), {Text: "An egg."},
				}, turns...)
			}
			model := modelserver.New(t, turns...)
			w := openWindow(t, model,
				map[string]any{"g": map[string]any{"command": fixture.Gossip(t), "args": []string{"-name", "g"}, "era": era}},
				"--allow", "g__*")
			w.types("/mcp\r", `g +(ready|connecting)`)
			w.waitFor(atPrompt)
			w.types("ask\r", "")
			if era == "legacy" {
				w.waitFor(`(?s)the server g asks you.*question.*answer\? `)
				w.types("y\r", `name \(Enter leaves it out\): `)
				w.types("Ada\r", `(?s)the server g asks you.*https://example\.com/page.*answer\? `)
				w.types("y\r", `(?s)wants the model to answer.*user: riddle.*answer\? `)
				w.types("y\r", `(?s)the model's answer, for the server g.*An egg\..*answer\? `)
				w.types("y\r", "")
			}
			w.waitFor(`(?s)the server g asks you.*question.*answer\? `)
			w.types("y\r", `name \(Enter leaves it out\): `)
			w.types("Bob\r", `(?s)the server g asks you.*unwanted.*answer\? `)
			w.types("n\r", `Both asked\.`)
			w.waitFor(atPrompt)
			w.types("/quit\r", `indus --resume=`)
			w.waitExit(0)
			all := model.Requests()
			said := fmt.Sprint(all[len(all)-1].Results())
			want := []string{"question accept Bob", "unwanted decline"}
			if era == "legacy" {
				want = append(want, "question accept Ada", "page accept", "riddle An egg.")
			}
			for _, text := range want {
				if !strings.Contains(said, text) {
					t.Errorf("no %q in %s", text, said)
				}
			}
		})
	}
}

// TestWhatServersHaveBesideTools checks that prompts and resources reach the model, and that long texts are handled.
func TestWhatServersHaveBesideTools(t *testing.T) {
	t.Parallel()
	node, everything := peers.Everything(t, "stdio")
	model := modelserver.New(t,
		modelserver.Turn{Text: "It rains."},
		modelserver.Turn{Calls: []modelserver.Call{{Name: "bash", Input: `{"command":"seq 5"}`}}},
		modelserver.Turn{Text: "Five."},
		modelserver.Turn{Text: "Rain, and five numbers."}, modelserver.Turn{Text: "Go on."}, modelserver.Turn{Text: "New."})
	w := openWindow(t, model, map[string]row{"ev": {node, everything, nil}}, "--allow", "bash", "--context", "50000")
	w.types("/mcp connect ev\r", `ev is (ready already|ready: \d+ tools)`)
	w.waitFor(atPrompt)
	w.types("/prompts\r", `(?s)PROMPT +ARGUMENTS.*ev__args-prompt +city state\?`)
	w.waitFor(atPrompt)
	w.types("/prompts ev__args-prompt\r", `also needs city=…`)
	w.waitFor(atPrompt)
	w.types("/prompts ev__args-prompt city=New York state=NY\r", `(?s)weather in New York, NY.*It rains\.`)
	w.waitFor(atPrompt)
	w.types("what is @ev:demo://resource/static/document/arch\t?\r", `(?s)bash seq 5.*… 3 lines more.*Five\.`)
	w.waitFor(atPrompt)
	w.types("/result\r", `(?s)bash\r\n1\r\n2\r\n3\r\n4\r\n5\r\n`)
	w.waitFor(atPrompt)
	w.types("/result 7\r", `conversation has 1 result\r`)
	w.waitFor(atPrompt)
	w.types("/model\r", `50000 tokens of context`)
	w.waitFor(atPrompt)
	w.types("/compact\r", `(?s)Rain, and five numbers\..*1 step`)
	w.waitFor(atPrompt)
	w.types("and then?\r", `Go on\.`)
	w.waitFor(atPrompt)
	w.types("/clear\r", `another conversation`)
	w.waitFor(atPrompt)
	w.types("hello\r", `New\.`)
	w.waitFor(atPrompt)
	w.types("@ev:demo://none\r", `(?s)@ev:demo://none: .*> @ev:demo://none`)
	w.types("\x03\x04", `indus --resume=`)
	w.waitExit(0)
	r := model.Requests()
	for i, want := range []string{
		"weather in New York, NY", "(its content, and nothing that the user wrote):\n| # ", "", "Write a summary",
		"Rain, and five numbers.\n\nand then?", "hello",
	} {
		if got := r[i].Prompt(); !strings.Contains(got, want) {
			t.Errorf("%d: %q lacks %q", i, got, want)
		}
	}
	if got := r[5].Prompt(); got != "hello" || strings.Contains(string(r[4].Body), "weather in New York") {
		t.Errorf("it still knows what was said: %q", got)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(w.cmd.Dir), "indus", "sessions", "*")); len(files) != 2 {
		t.Errorf("transcripts: %v", files)
	}
}

// TestConversationsEnd checks that the terminal is restored after every kind of end.
func TestConversationsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(w *window)
		code int
	}{
		"Ctrl-D":               {func(w *window) { w.types("\x04", "") }, 0},
		"/quit":                {func(w *window) { w.types("/quit\r", "") }, 0},
		"SIGTERM":              {func(w *window) { w.signal(syscall.SIGTERM) }, 130},
		"SIGHUP":               {func(w *window) { w.signal(syscall.SIGHUP) }, 0},
		"SIGTERM in a turn":    {func(w *window) { w.types("wait\r", `thinking`); w.signal(syscall.SIGTERM) }, 130},
		"two Ctrl-C in a turn": {func(w *window) { w.types("wait\r", `thinking`); w.types("\x03\x03", "") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openWindow(t, modelserver.New(t, modelserver.Turn{Hang: true}), map[string]row{}, "--no-tools")
			c.end(w)
			w.waitExit(c.code)
		})
	}
}

// TestCommandsOfAConversation checks that text with a slash at the start is a command, unless it is a path.
func TestCommandsOfAConversation(t *testing.T) {
	t.Parallel()
	model := modelserver.New(t, modelserver.Turn{Text: "It is a path."}, modelserver.Turn{Text: "It is code."})
	w := openWindow(t, model, map[string]row{"good": {fixture.Build(t), nil, nil}})
	// On a slow machine it may have become ready after the banner.
	w.types("/mcp connect good\r", `good is (ready already|ready: \d+ tools)`)
	w.waitFor(atPrompt)
	for _, c := range []struct{ keys, want string }{
		{"/h\t\r", `Enter sends`},
		{"/tools\r", `(?s)TOOL.*read +run .*bash +ask .*good__echo +ask `},
		{"/mcp tools good\r", `TOOL +CALLS.*\r\ngood__echo`},
		{"/mcp log good\r", `enrolled +good`},
		{"/mcp tools goood\r", `no server "goood" is connected, did you mean good\?`},
		{"/mcp tools\r", `which server\? good`},
		{"/mcp conect good\r", `mean connect\?`},
		{"/mcp disco\tg\t\r", `good is disconnected`},
		{"/mcp\r", `good +disconnected +- +/mcp connect good`},
		{"/mcp connect good\r", `good is ready: \d+ tools`},
		{"/model\r", `/m\r\n`},
		{"/model ollama/llama3\r", `\r\nollama/llama3\r\n`},
		{"/quit now\r", `"now" is too much`},
	} {
		w.types(c.keys, c.want)
		w.waitFor(atPrompt)
	}
	w.types("/model m\r", `indus: |/m\r\n`)
	w.waitFor(atPrompt)
	w.types("\x1b[A\x15/etc/passwd is what?\r", `It is a path\.\r\n`)
	w.waitFor(atPrompt)
	w.types("\x1b[200~\tif x:\r\t\tgo\x1b[201~\r", `It is code\.\r\n`)
	w.waitFor(atPrompt)
	w.types("\x03", `again leaves`)
	w.waitFor(atPrompt)
	w.types("x", `> x`)
	w.types("\x03", `again leaves`) // other keys came between
	w.waitFor(atPrompt)
	w.types("/quit\r", `indus --resume=`)
	w.waitExit(0)
	if all := model.Requests(); len(all) != 2 || all[1].Prompt() != "\tif x:\n\t\tgo" {
		t.Errorf("%d requests, the last of %q", len(all), all[len(all)-1].Prompt())
	}
}
