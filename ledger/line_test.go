package ledger_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// Whatever a line says, reading it is safe, and what is read and written again is
// read as the same.
func FuzzReadLine(f *testing.F) {
	c := capability("fs", "read", "Reads.", anyObject)
	f.Add(bytes.TrimSpace(ledger.AppendLine(enrolled("A", 1, c))))
	f.Add([]byte(`{"seq":1,"at":"2026-03-01T12:00:00.000Z","op":"end","hash":"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, body, err := ledger.ReadLine(line)
		if err != nil {
			return
		}
		if body != nil {
			e.Capability = &ledger.Capability{Wire: toolbox.Wire{JSON: body}}
		}
		again, _, err := ledger.ReadLine(bytes.TrimSpace(ledger.AppendLine(e)))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if again.Seq != e.Seq || again.Op != e.Op || again.Server != e.Server || !again.At.Equal(e.At) || again.Prev != e.Prev {
			t.Errorf("%+v came back as %+v", e, again)
		}
	})
}

// Whatever an entry says is kept as it is, or clipped, and reads back.
func FuzzAppendLine(f *testing.F) {
	f.Add("fs", "read", `{"name":"read"}`)
	f.Add(`","hash":"`, "\xff", "{\n}")
	f.Fuzz(func(t *testing.T, server, tool, raw string) {
		c := ledger.Capability{Server: server, Tool: tool, Wire: toolbox.Wire{JSON: []byte(raw)}}
		e := enrolled("A", 1, c)
		e.Seq = 1
		line := ledger.AppendLine(e)
		if bytes.IndexByte(line, '\n') != len(line)-1 || len(line) > ledger.MaxLine {
			t.Fatalf("%q is no line", line)
		}
		got, body, err := ledger.ReadLine(line[:len(line)-1])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if len(raw) > 0 && len(raw) <= ledger.MaxBody && string(body) != raw {
			t.Errorf("%q came back as %q", raw, body)
		}
		if len(server) < 1000 && bytes.Equal(bytes.ToValidUTF8([]byte(server), nil), []byte(server)) && got.Server != server {
			t.Errorf("%q came back as %q", server, got.Server)
		}
	})
}

// The short way to read a head gives what the long one gives, or nothing.
func FuzzReadHead(f *testing.F) {
	c := capability("fs", "read", "Reads.", anyObject)
	e := enrolled("A", 1, c)
	e.Changed, e.Note, e.Prev = true, "held", "0abc"
	line := ledger.AppendLine(e)
	f.Add(bytes.Clone(line[:bytes.Index(line, []byte(`,"hash"`))]))
	for _, head := range []string{
		`{"seq":1,"at":"2026-03-01T12:00:00.000Z","op":"end"`, `{"seq":01,"op":"end"`, `{"seq":1 ,"op":"end"`, `{"seq":1,"op":"e\u0041"`,
		`{"seq":1,"op":"a","op":"b"`, `{"seq":1,"new":"x"`, `{"seq":1,"changed":true,"changed":false`, `{"seq":1,"a:":"b"`, `{"seq":1,"a\":":"b"`,
		"{\"seq\":1,\"op\":\"\xff\"", `{"seq":+1,"op":"a"`, `{"seq":9007199254740992,"op":"a"`, `{"seq":1,"at":"2026-03-01T12:00:00,000Z"`,
	} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		quick, thorough, formats, isPlain, err := ledger.ReadHead(head)
		if !isPlain {
			return
		}
		if diff := cmp.Diff(thorough, quick, sameEntries); err != nil || diff != "" || formats[0] != formats[1] {
			t.Errorf("%q: formats %q, %v (-thorough +quick):\n%s", head, formats, err, diff)
		}
	})
}
