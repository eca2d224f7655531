package peers

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Caller is a client of a program of testdata/peers/clients, whose calls wait for a person. It makes one call at a
// time.
type Caller struct {
	t testing.TB
	p *fixture.Process
}

// Request is a call of a tool. The caller has one connection for each URL and key. "" means no key.
type Request struct {
	URL  string         `json:"url"`
	Key  string         `json:"key,omitempty"`
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// NewCaller starts a client. It ends with the test.
func NewCaller(t testing.TB, program, client string) *Caller {
	t.Helper()
	cmd := nodeClients(t, "approvals.mjs", program, client)
	env := cmd.Env[len(os.Environ()):]
	c := &Caller{t, fixture.Start(t, fixture.Command{Path: cmd.Path, Args: cmd.Args[1:], Env: env})}
	t.Cleanup(func() {
		c.p.Stdin.Close()
		for c.p.Line() != `{"ended":true}` { // the daemon of the client has ended too
		}
	})
	return c
}

// Call makes a call, and returns its result as JSON, or the text of its error. answer returns the client's answer to a
// question, which is JSON.
func (c *Caller) Call(r Request, answer func(question string) string) string {
	c.t.Helper()
	c.send(encoded(c.t, r))
	for {
		var message struct{ Question, Text string }
		line := c.p.Line()
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if message.Question == "" {
			return message.Text
		}
		c.send(answer(message.Question))
	}
}

// Disconnect closes the connections. The next call connects again.
func (c *Caller) Disconnect() {
	c.t.Helper()
	c.send(`{"forget": true}`)
	c.p.Line()
}

func (c *Caller) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.p.Stdin, line+"\n"); err != nil {
		c.t.Fatalf("%v\n%s", err, c.p.Stderr())
	}
}
