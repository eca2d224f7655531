package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/toolbox"
)

// FuzzCoerce checks that a tool receives JSON, that an object or an array stays unchanged, and that
// coercion is idempotent.
func FuzzCoerce(f *testing.F) {
	for _, seed := range []string{``, `null`, `{"a":1}`, `"{\"a\":1}"`, `"[1]"`, `"{"`, `" "`, `[1,2]`, `7`, `"a"`,
		"\"\xff\"", `"\ud800"`, `{"a":`} {
		f.Add([]byte(seed))
	}
	var got json.RawMessage
	box := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true},
		newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
			func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
				got = c.Input
				return nil, nil
			}))
	run := func(in []byte) (out json.RawMessage, isError bool) {
		got = nil
		o := box.Run(context.Background(), toolbox.Call{Name: "a", Input: in})
		return got, o.IsError
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, isError := run(bytes.Clone(in))
		trimmed := bytes.TrimSpace(in)
		switch {
		case isError && json.Valid(in):
			t.Fatalf("%q was refused", in)
		case isError:
			return
		case !json.Valid(once):
			t.Fatalf("%q became %q, which is not JSON", in, once)
		case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && !bytes.Equal(in, once):
			t.Fatalf("%q became %q", in, once)
		}
		if twice, _ := run(bytes.Clone(once)); !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, and that %q", in, once, twice)
		}
	})
}

// FuzzProject checks that a model gets JSON in UTF-8 within the budget, whatever a tool returns.
func FuzzProject(f *testing.F) {
	f.Add("text", []byte(`{"n":9007199254740993}`), []byte(`{"type":"image"}`), byte(7), 0)
	f.Add("a\xff", []byte(`{"a":`), []byte(nil), byte(3), 40)
	f.Add(strings.Repeat("é", 100), []byte(`"\ud800"`), []byte("\"\xff\""), byte(5), 60)
	f.Fuzz(func(t *testing.T, text string, data, wire []byte, which byte, budget int) {
		var blocks []toolbox.Block
		if which&1 != 0 {
			blocks = append(blocks, toolbox.Text(text))
		}
		if which&2 != 0 {
			blocks = append(blocks, toolbox.JSON(data))
		}
		if which&4 != 0 {
			blocks = append(blocks, toolbox.Block{Wire: toolbox.Wire{Format: "x", JSON: wire}})
		}
		r := toolbox.NewResult(blocks...)
		if which&8 != 0 {
			r = toolbox.StructuredResult(data, blocks...)
		}
		source := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
			func(context.Context, toolbox.Call) (*toolbox.Result, error) { return r, nil })
		out := toolbox.NewBox(&toolbox.BoxOptions{Budget: budget}, source).Run(context.Background(), toolbox.Call{Name: "a"})
		if !json.Valid(out.Output) || !utf8.Valid(out.Output) || !utf8.ValidString(out.Text()) {
			t.Fatalf("not JSON in UTF-8: %q", out.Output)
		}
		if out.Cut == 0 && which&15 == 2 && json.Valid(data) && utf8.Valid(data) && !bytes.Equal(data, out.Output) &&
			(budget < 0 || len(data) <= budget) {
			t.Fatalf("%q became %q", data, out.Output)
		}
	})
}

// FuzzCut checks that the cut text consists of both ends of the text and the note, in whole
// characters, and that the numbers add up.
func FuzzCut(f *testing.F) {
	f.Add(strings.Repeat("x", 100), 40)
	f.Add(strings.Repeat("😀", 50), 41)
	f.Add("\n… 5 bytes cut …\n"+strings.Repeat("é", 99), 60)
	f.Fuzz(func(t *testing.T, text string, budget int) {
		if !utf8.ValidString(text) || budget == 0 {
			return
		}
		out := toolbox.NewBox(&toolbox.BoxOptions{Budget: budget}, registry(textTool("a", text))).Run(context.Background(),
			toolbox.Call{Name: "a"})
		got := out.Text()
		if out.Cut == 0 {
			if got != text || budget > 0 && len(text) > budget {
				t.Fatalf("%q became %q", text, got)
			}
			return
		}
		const longestNote = 60
		if !utf8.ValidString(got) || len(got) > max(budget, longestNote) {
			t.Fatalf("%d bytes of %d: %q", len(got), budget, got)
		}
		for head := 0; head <= len(got) && strings.HasPrefix(text, got[:head]); head++ {
			tail := len(text) - out.Cut - head
			if tail >= 0 && strings.HasSuffix(text, got[len(got)-tail:]) &&
				strings.Contains(got[head:len(got)-tail], "bytes cut") {
				return
			}
		}
		t.Fatalf("%q with %d bytes cut is not the ends of %q", got, out.Cut, text)
	})
}
