package fidelity

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// conversation holds the messages between a client and a real server, directly over stdio: see TestRecord.
type conversation struct {
	name   string
	about  string // the server, its version and the era
	modern bool
	turns  []*turn
}

// turn is one message of the client and all messages until its response.
type turn struct {
	request   []byte    // a request or a notification of the client
	following []message // the following messages; for a request the last one is the response
}

// message is a message of the server, or the client's answer to a question of the server.
type message struct {
	server bool
	raw    []byte
}

// conversations reads the stored conversations. Each line is {"server":MESSAGE} or {"client":MESSAGE}, and the first is
// {"about":"…","modern":…}. Messages have the bytes that were on the wire.
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
		c.turns = append(c.turns, &turn{request: raw})
	case (key == "client" || key == "server") && c.turns != nil:
		last := c.turns[len(c.turns)-1]
		last.following = append(last.following, message{key == "server", raw})
	default:
		t.Fatalf("%s: %.80s", c.name, line)
	}
}

// method returns the method of a message, or "" for a response.
func method(raw []byte) string { return strings.Trim(string(lookup(raw, "method")), `"`) }

// hopless returns params or a result without the members of the hop in a conversation of one era. The place of _meta
// does not matter. docs/conformance.md has the list.
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

// content returns the content of a message without its id.
func (m message) content() string {
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
