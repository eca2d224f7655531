package fidelity

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// TestTransparent replays conversations with real servers through a gateway's transparent view. Each side must see the
// same bytes as directly, except for the list in docs/conformance.md.
func TestTransparent(t *testing.T) {
	all := conversations(t)
	if len(all) != len(recordings()) {
		t.Errorf("%d conversations, and %d recordings", len(all), len(recordings()))
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &player{t: t, c: c}
			in, out := transparent(t, c, p)
			c.replay(t, in, out)
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, m := range p.unexpected {
				if !strings.HasPrefix(m, "subscriptions/listen ") { // the gateway uses it to receive changes
					t.Errorf("the server is asked what the client did not: %s", m)
				}
			}
		})
	}
}

// TestPlayer replays the same conversations without a gateway: the player sends the messages of the server.
func TestPlayer(t *testing.T) {
	for _, c := range conversations(t) {
		in, out := (&player{t: t, c: c}).play()
		c.replay(t, in, out)
		_ = in.Close()
	}
}

// transparent returns the client's end of a connection to a gateway before a player.
func transparent(t *testing.T, c *conversation, p *player) (io.Writer, io.Reader) {
	server := config.Server{ID: "server", Transport: config.Stdio{Command: "none"}, Era: interop.Legacy}
	if c.modern {
		server.Era = interop.Modern
	}
	g := gateway.New(t.Context(), []config.Server{server}, &gateway.Options{
		Transparent: server.ID,
		Ledger: &ledger.Options{Mount: &interop.MountOptions{Wait: -1, FleetOptions: interop.FleetOptions{
			Endpoint: func(config.Server) *interop.EndpointOptions { return &interop.EndpointOptions{Transport: p} },
		}}},
	})
	t.Cleanup(g.Close)
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- g.ServeIO(t.Context(), fromClient, toClient) }()
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return in, out
}

// replay repeats the client's side of a conversation.
func (c *conversation) replay(t *testing.T, in io.Writer, out io.Reader) {
	t.Helper()
	s := &replaying{t: t, w: in, lines: make(chan []byte)}
	go s.read(out)
	for _, of := range c.turns {
		fmt.Fprintf(in, "%s\n", of.request)
		if method(of.request) == initialized {
			s.outside = of // comes when the server is initialized for this client
		}
		if lookup(of.request, "id") == nil {
			continue
		}
		was, is := of.serverMessages(), s.repeat(of)
		if name := method(of.request); name == "initialize" || name == "server/discover" {
			continue // these results name the server and its features
		}
		if !slices.Equal(was, is) {
			t.Errorf("%s: %.200s\n%s", c.name, of.request, diff(strings.Join(was, "\n"), strings.Join(is, "\n")))
		}
	}
	var questions []string
	if s.outside != nil {
		questions = s.outside.serverMessages()
	}
	logs := c.logs()
	for len(s.questions) < len(questions) || len(s.logs) < len(logs) {
		s.waitingFor = fmt.Sprintf("%d of %d questions and %d of %d log messages have come outside of requests",
			len(s.questions), len(questions), len(s.logs), len(logs))
		s.receive(s.outside)
	}
	if !slices.Equal(questions, s.questions) || !slices.Equal(logs, s.logs) {
		t.Errorf("%s: outside of requests:\n%s\n%s", c.name,
			diff(strings.Join(questions, "\n"), strings.Join(s.questions, "\n")),
			diff(strings.Join(logs, "\n"), strings.Join(s.logs, "\n")))
	}
}

// logs returns the log messages of a conversation. They name no request, and may come after its response.
func (c *conversation) logs() (all []string) {
	for _, t := range c.turns {
		for _, m := range t.following {
			if m.logs() {
				all = append(all, m.content())
			}
		}
	}
	return all
}

func (m message) logs() bool { return m.server && method(m.raw) == "notifications/message" }

// serverMessages returns the messages that the client received in a turn, except for logs.
func (t *turn) serverMessages() (all []string) {
	for _, m := range t.following {
		if m.server && !m.logs() {
			all = append(all, m.content())
		}
	}
	return all
}

// answer returns the client's answer to a question in a turn, or nil if the turn has no such question.
func (t *turn) answer(question string) []byte {
	if t == nil {
		return nil
	}
	for i, m := range t.following {
		if m.server && m.content() == question && i+1 < len(t.following) && !t.following[i+1].server {
			return t.following[i+1].raw
		}
	}
	return nil
}

// replaying is the client of a repeated conversation.
type replaying struct {
	t          *testing.T
	w          io.Writer
	lines      chan []byte // closed at the end
	waitingFor string      // for the event with this name
	outside    *turn       // the server's messages and questions after its initialization
	questions  []string
	logs       []string
}

// quiet limits how long no message may come while the client waits. A passing test never waits so long.
const quiet = 20 * time.Second

// read reads until the connection ends.
func (s *replaying) read(out io.Reader) {
	defer close(s.lines)
	r := bufio.NewReader(out)
	for line := nextLine(r); line != nil; line = nextLine(r) {
		select {
		case s.lines <- line:
		case <-s.t.Context().Done():
			return
		}
	}
}

// repeat returns the messages that the client receives until its request has a response.
func (s *replaying) repeat(of *turn) (all []string) {
	for id := string(lookup(of.request, "id")); ; {
		s.waitingFor = fmt.Sprintf("%.200s is not answered; so far came:\n%s", of.request, strings.Join(all, "\n"))
		line, content := s.receive(of)
		if content != "" {
			all = append(all, content)
		}
		if method(line) == "" && string(lookup(line, "id")) == id {
			return all
		}
	}
}

// receive returns the next message, and its content if it belongs to a turn. It answers a question as recorded.
func (s *replaying) receive(of *turn) (line []byte, content string) {
	select {
	case line = <-s.lines:
	case <-time.After(quiet):
		s.t.Fatalf("nothing comes for %v: %s", quiet, s.waitingFor)
	}
	if line == nil {
		s.t.Fatalf("the connection ends: %s", s.waitingFor)
	}
	if strings.HasSuffix(method(line), "/list_changed") {
		return line, "" // it may come at any time
	}
	m := message{server: true, raw: line}
	content = m.content()
	if m.logs() {
		s.logs = append(s.logs, content)
		return line, ""
	}
	id, answer := lookup(line, "id"), []byte(nil)
	if question := method(line) != "" && id != nil; question {
		answer = of.answer(content)
		if answer == nil || of == s.outside {
			answer = s.outside.answer(content)
			s.questions, content = append(s.questions, content), ""
		}
		if answer == nil {
			s.t.Fatalf("%.200s: the client is asked what it was not: %s", of.request, line)
		}
		fmt.Fprintf(s.w, "%s\n", replace(answer, "id", id))
	}
	return line, content
}
