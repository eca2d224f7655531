package fidelity

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// player is the server of a conversation. It answers each request with the recorded bytes, but with the ids and tokens
// of the new request. It is a transport, so that a gateway may connect several times.
type player struct {
	t *testing.T
	c *conversation

	mu         sync.Mutex
	unexpected []string // messages that it received and that are not in the conversation
}

// Connect implements [mcp.Transport].
func (p *player) Connect(ctx context.Context) (mcp.Connection, error) {
	in, out := p.play()
	return (&mcp.IOTransport{Reader: out, Writer: in}).Connect(ctx)
}

// play returns the client's end of a new connection.
func (p *player) play() (in *io.PipeWriter, out *io.PipeReader) {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	go func() {
		defer toClient.Close()
		s := &playing{player: p, lines: make(chan []byte, 1000), w: toClient}
		go func() {
			defer close(s.lines)
			r := bufio.NewReader(fromClient)
			for line := nextLine(r); line != nil; line = nextLine(r) {
				s.lines <- line
			}
		}()
		for line := range s.lines {
			s.handle(line)
		}
	}()
	return in, out
}

// playing is one connection to a player.
type playing struct {
	*player
	lines            chan []byte // of the client, which never waits for us to read
	w                io.Writer
	acceptsQuestions bool // the client accepts questions
}

// handle answers one message.
func (s *playing) handle(line []byte) {
	id, name, params := lookup(line, "id"), method(line), lookup(line, "params")
	switch {
	case name == "initialize":
		s.acceptsQuestions = lookup(lookup(params, "capabilities"), "roots") != nil
	case name == "ping":
		fmt.Fprintf(s.w, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		return
	case name == initialized && s.acceptsQuestions:
		for _, t := range s.c.turns {
			if method(t.request) == initialized {
				s.play(t, nil, nil)
			}
		}
		return
	case name == "tools/list" && !s.c.modern && !s.acceptsQuestions: // the recorded client declares capabilities
		fmt.Fprintf(s.w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`+"\n", id)
		return
	case id == nil:
		return
	}
	t := s.c.turnOf(line)
	if t == nil {
		s.mu.Lock()
		s.unexpected = append(s.unexpected, name+" "+hopless(params))
		s.mu.Unlock()
		fmt.Fprintf(s.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not in the conversation: %s"}}`+"\n",
			id, name)
		return
	}
	s.play(t, id, lookup(lookup(params, "_meta"), "progressToken"))
}

// play sends the recorded messages of a turn. It compares the answers to its questions with the recorded answers.
func (s *playing) play(t *turn, id, token []byte) {
	for _, m := range t.following {
		if m.server {
			fmt.Fprintf(s.w, "%s\n", t.adapt(m.raw, id, token))
			continue
		}
		answer := <-s.lines
		for ; method(answer) != ""; answer = <-s.lines { // skips messages that came in between
			s.handle(answer)
		}
		if was, is := m.content(), (message{raw: answer}).content(); was != is && answer != nil {
			s.t.Errorf("%s: the server's question is answered with\n%s, and not\n%s", method(t.request), is, was)
		}
	}
}

const initialized = "notifications/initialized"

// adapt returns a message of a turn with the id and the token of a request.
func (t *turn) adapt(raw, id, token []byte) []byte {
	if name := method(raw); name == "" {
		return replace(raw, "id", id)
	} else if name == "notifications/progress" {
		return replace(raw, "params", replace(lookup(raw, "params"), "progressToken", token))
	}
	return raw
}

// replace returns a compact object with another value for a key.
func replace(obj []byte, key string, value []byte) []byte {
	var members [][]byte
	for _, m := range parts(obj) {
		if k, v := member(m); k == key {
			m = append(m[:len(m)-len(v):len(m)-len(v)], value...)
		}
		members = append(members, m)
	}
	return append(append([]byte("{"), bytes.Join(members, []byte(","))...), '}')
}

// turnOf returns the turn that began with such a request, or nil.
func (c *conversation) turnOf(line []byte) *turn {
	name := method(line)
	for _, t := range c.turns {
		if method(t.request) != name {
			continue
		}
		if name == "initialize" || name == "server/discover" ||
			hopless(lookup(t.request, "params")) == hopless(lookup(line, "params")) {
			return t
		}
	}
	return nil
}

// nextLine returns a stream's next line, compact, or nil at its end.
func nextLine(r *bufio.Reader) []byte {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil
	}
	return compact(line)
}
