package fidelity

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// conversation is what a client and a real server said to each other, directly, over stdio: see TestRecord.
type conversation struct {
	name   string
	about  string // the server, its version and the era
	modern bool
	turns  []*turn
}

// turn is one message of the client's that began something, and what was said until it was answered.
type turn struct {
	ask  []byte    // a request or a notification of the client's
	then []message // what followed; of a request the last one is the answer
}

// message is one of the server's, or the client's answer to what the server asked.
type message struct {
	server bool
	raw    []byte
}

// conversations reads those that are stored: on each line {"server":MESSAGE} or {"client":MESSAGE}, the first
// {"about":"…","modern":…}. The bytes of messages are those that were on the wire.
func conversations(t *testing.T) []*conversation {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "conversations", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*conversation
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := &conversation{name: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
		for line := range bytes.Lines(b) {
			c.read(t, bytes.TrimSpace(line))
		}
		all = append(all, c)
	}
	return all
}

func (c *conversation) read(t *testing.T, line []byte) {
	t.Helper()
	switch key, raw := member(line[1 : len(line)-1]); {
	case key == "about":
		c.about, c.modern = decoded(t, lookup(line, "about")), string(lookup(line, "modern")) == "true"
	case key == "client" && lookup(raw, "method") != nil:
		c.turns = append(c.turns, &turn{ask: raw})
	case (key == "client" || key == "server") && c.turns != nil:
		last := c.turns[len(c.turns)-1]
		last.then = append(last.then, message{key == "server", raw})
	default:
		t.Fatalf("%s: %.80s", c.name, line)
	}
}

// method is a message's; "" for an answer.
func method(raw []byte) string { return strings.Trim(string(lookup(raw, "method")), `"`) }

// hopless is params or a result without what is the hop's own in a conversation of one era. Where _meta stands is no matter.
// docs/conformance.md has the list.
func hopless(raw []byte) string {
	obj := without(compact(raw), func(key string, _ []byte) bool {
		switch key {
		case "progressToken", "requestState", "ttlMs", "cacheScope":
			return true
		}
		return false
	})
	meta := lookup(obj, "_meta")
	if meta == nil {
		return string(obj)
	}
	left := without(meta, func(key string, _ []byte) bool {
		return key == "progressToken" || strings.HasPrefix(key, "io.modelcontextprotocol/")
	})
	rest := without(obj, func(key string, _ []byte) bool { return key == "_meta" })
	if string(left) == "{}" {
		return string(rest)
	}
	return string(rest) + string(left)
}

// said is what a message says, whatever its id.
func (m message) said() string {
	for _, part := range []string{"params", "result"} {
		if raw := lookup(m.raw, part); raw != nil {
			return method(m.raw) + " " + hopless(raw)
		}
	}
	if raw := lookup(m.raw, "error"); raw != nil {
		return "error " + string(compact(raw))
	}
	return method(m.raw)
}
