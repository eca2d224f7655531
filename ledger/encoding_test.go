package ledger_test

import (
	"bytes"
	"testing"

	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// Reading any line is safe. An entry that is read and written again reads as the same entry.
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

// Any entry is stored unchanged, or clipped, and can be read back.
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
