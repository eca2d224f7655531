package audit_test

import (
	"bytes"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/indusagi/indus/control/audit"
)

// FuzzReadLine checks that no line makes the reader panic, and that a record that it accepts can be written again.
func FuzzReadLine(f *testing.F) {
	for _, r := range []audit.Record{full(), call("x"), {}} {
		r.Seq = 7
		f.Add(bytes.TrimSuffix(audit.AppendLine(&r), []byte("\n")))
	}
	for _, text := range []string{"", "{}", `{"event_hash":"`, `{"event_hash":"` + string(make([]byte, 64)) + `",}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := audit.ReadLine(line)
		if err != nil {
			return
		}
		again := audit.AppendLine(&r)
		if second, err := audit.ReadLine(bytes.TrimSuffix(again, []byte("\n"))); err != nil || second.Seq != r.Seq {
			t.Errorf("%q is written as %q: %v", line, again, err)
		}
	})
}

// FuzzTexts checks that every text is written canonically, and read back as it was if it is short and UTF-8.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"", "a", "\u2028x\u2029", "\x00\x1b\"\\", "\xff", "\U0001F512\x7f\u0085"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := audit.Record{Seq: 1, Tool: a, Client: b, Policies: []string{a, b}, Result: []byte(b)}
		line := bytes.TrimSuffix(audit.AppendLine(&r), []byte("\n"))
		if canonical, err := jcs.Transform(line); err != nil || !bytes.Equal(canonical, line) {
			t.Errorf("%v\n%q\nis canonically\n%q", err, line, canonical)
		}
		got, err := audit.ReadLine(line)
		if err != nil || got.Tool != r.Tool || got.Client != r.Client {
			t.Errorf("%q is read as %+v, %v", line, got, err)
		}
	})
}
