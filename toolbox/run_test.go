package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestRunPutsLooseInputRight(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, `{}`},
		{`null`, `{}`},
		{" \n", `{}`},
		{` null `, `{}`},
		{`""`, `{}`},
		{`"  "`, `{}`},
		{`{"a":1}`, `{"a":1}`},
		{` { "b": 2, "a": 9007199254740993 } `, ` { "b": 2, "a": 9007199254740993 } `},
		{`"{\"a\": 9007199254740993}"`, `{"a": 9007199254740993}`},
		{`" [1, 2] "`, ` [1, 2] `},
		{` "{}" `, `{}`},
		{`"\"{}\""`, `"\"{}\""`},
		{`"null"`, `"null"`},
		{`"{torn"`, `"{torn"`},
		{`"{} {}"`, `"{} {}"`},
		{`[1]`, `[1]`},
		{`7`, `7`},
		{`true`, `true`},
		{`"text"`, `"text"`},
	}
	for _, tt := range tests {
		var got string
		box := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true},
			newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
				func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
					got = string(c.Input)
					return nil, nil
				}))
		if out := box.Run(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(tt.in)}); out.IsError ||
			got != tt.want {
			t.Errorf("%q became %q, want %q (%s)", tt.in, got, tt.want, out.Output)
		}
	}
}

func TestRunProjectsResults(t *testing.T) {
	text, data := toolbox.Text, func(s string) toolbox.Block { return toolbox.JSON(json.RawMessage(s)) }
	image := toolbox.Block{Wire: toolbox.Wire{Format: "mcp", JSON: json.RawMessage(`{"type":"image", "data":"aGk="}`)}}
	tests := []struct {
		name   string
		result *toolbox.Result
		want   string
		text   string // if it differs from want
	}{
		{"a lone text", toolbox.NewResult(text("a <b> & \"c\"\n")), `"a <b> & \"c\"\n"`, "a <b> & \"c\"\n"},
		{"a text that looks like JSON", toolbox.NewResult(text(`{"a":1}`)), `"{\"a\":1}"`, `{"a":1}`},
		{"a lone value", toolbox.NewResult(data(`{ "n": 9007199254740993, "x": 1.0e5 }`)), `{ "n": 9007199254740993, "x": 1.0e5 }`, ""},
		{"a lone string", toolbox.NewResult(data(`"a\u0062"`)), `"a\u0062"`, "ab"},
		{"a lone null", toolbox.NewResult(data(`null`)), `null`, ""},
		{"a lone image", toolbox.NewResult(image), `{"type":"image", "data":"aGk="}`, ""},
		{"texts", toolbox.NewResult(text("a\nb"), text("c")), `"a\nb\n\nc"`, "a\nb\n\nc"},
		{"texts, one of them empty", toolbox.NewResult(text(""), text("a"), text(""), text("b")), `"a\n\nb"`, "a\n\nb"},
		{"a mix", toolbox.NewResult(text("a"), data(`[1.50]`), image, text("")),
			`[{"kind":"text","text":"a"},{"kind":"json","value":[1.50]},{"kind":"json","value":{"type":"image", "data":"aGk="}},{"kind":"text","text":""}]`, ""},
		{"nothing", toolbox.NewResult(), `""`, "-"},
		{"a structured value alone", toolbox.StructuredResult(json.RawMessage(`{"a":1}`)), `{"a":1}`, ""},
		{"a structured value beside blocks", toolbox.StructuredResult(json.RawMessage(`{"a":1}`), text("one")), `"one\n\n{\"a\":1}"`, "one\n\n{\"a\":1}"},
		{"bytes that are not UTF-8", toolbox.NewResult(text("a\xffb")), `"a�b"`, "a�b"},
		{"a value that is not JSON", toolbox.NewResult(data(`{"a":`)), `"{\"a\":"`, `{"a":`},
		{"a value that is not UTF-8", toolbox.NewResult(data("[\"\xff\"]")), `["�"]`, ""},
		{"an empty block", toolbox.NewResult(toolbox.Block{}), `null`, ""},
		{"an error", toolbox.ErrorResult("no"), `"no"`, "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("a")}},
				func(context.Context, toolbox.Call) (*toolbox.Result, error) {
					return tt.result, nil
				})
			got := toolbox.NewBox(nil, f).Run(t.Context(), toolbox.Call{ID: "1", Name: "a"})
			want := toolbox.Outcome{ID: "1", Name: "a", Output: json.RawMessage(tt.want), IsError: tt.result.IsError(),
				Result: tt.result}
			if got.Result != tt.result {
				t.Error("the whole result is not there")
			}
			got.Result, want.Result = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			wantText := map[string]string{"": tt.want, "-": ""}
			if s, ok := wantText[tt.text]; ok {
				tt.text = s
			}
			if got.Text() != tt.text {
				t.Errorf("the text is %q, want %q", got.Text(), tt.text)
			}
		})
	}
}

func TestRunMakesAnOutcomeOfWhateverGoesWrong(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	fault := errors.New("weather: connect: connection refused")
	f := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{plainDescriptor("weather")}},
		func(context.Context, toolbox.Call) (*toolbox.Result, error) {
			return nil, fault
		})
	box := toolbox.NewBox(nil, f)
	tests := []struct {
		name string
		ctx  context.Context
		call toolbox.Call
		want string
		is   error
	}{
		{"cancelled", over, toolbox.Call{Name: "weather"}, "Cancelled before weather could begin.", context.Canceled},
		{"cancelled and unknown", over, toolbox.Call{Name: "x"}, "Cancelled before x could begin.", context.Canceled},
		{"unknown", t.Context(), toolbox.Call{Name: "x"}, `no tool named "x" is available`, nil},
		{"a fault", t.Context(), toolbox.Call{Name: "weather"}, fault.Error(), fault},
		{"not JSON", t.Context(), toolbox.Call{Name: "weather", Input: json.RawMessage(`{"a":`)}, "the arguments of weather are not JSON: unexpected end of JSON input", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := box.Run(tt.ctx, tt.call)
			if got.Text() != tt.want || !got.IsError || got.Err == nil || got.Result != nil {
				t.Errorf("%+v, want %q", got, tt.want)
			}
			if tt.is != nil && !errors.Is(got.Err, tt.is) {
				t.Errorf("the error is %v", got.Err)
			}
		})
	}
}

func TestRunCutsTheMiddleToTheBudget(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	array := "[" + strings.Repeat("1, ", 40_000) + "1]"
	tests := []struct {
		name   string
		block  toolbox.Block
		budget int
		bytes  int // at most, in the text
		isCut  bool
		begin  string
		end    string
	}{
		{"by default 64 KiB", toolbox.Text("a" + long + "z"), 0, 64 << 10, true, "axxx", "xxxz"},
		{"what fits is whole", toolbox.Text(long), 100_000, 100_000, false, "xx", "xx"},
		{"negative is no bound", toolbox.Text(long), -1, 100_000, false, "xx", "xx"},
		{"a structured value becomes a string", toolbox.JSON(json.RawMessage(array)), 1000, 1000, true, "[1,1,1", "1,1]"},
		{"without its whitespace it fits", toolbox.JSON(json.RawMessage(array)), 100_000, 100_000, false, "[1,1", "1,1]"},
		{"a string in JSON is cut as a text", toolbox.JSON(json.RawMessage(`"` + strings.Repeat(`\"`, 500) + `"`)), 300, 300, true, `"""`, `"""`},
		{"between characters", toolbox.Text(strings.Repeat("😀", 500)), 101, 101, true, "😀", "😀"},
		{"the note alone", toolbox.Text(long), 5, 30, true, "\n… 100000 bytes cut …\n", "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := toolbox.Tool{Name: "a",
				Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
					return toolbox.NewResult(tt.block), nil
				}}
			out := toolbox.NewBox(&toolbox.BoxOptions{Budget: tt.budget}, registry(tool)).Run(t.Context(),
				toolbox.Call{Name: "a"})
			text := out.Text()
			if len(text) > tt.bytes || (out.Cut > 0) != tt.isCut || !json.Valid(out.Output) {
				t.Errorf("%d bytes, %d cut: %.100s", len(text), out.Cut, out.Output)
			}
			if !strings.HasPrefix(text, tt.begin) || !strings.HasSuffix(text, tt.end) || strings.ContainsRune(text, '�') {
				t.Errorf("%.50q … %.50q", text, text[max(0, len(text)-50):])
			}
		})
	}
}

func TestRunSaysHowMuchItCut(t *testing.T) {
	out := toolbox.NewBox(&toolbox.BoxOptions{Budget: 40},
		registry(textTool("a", strings.Repeat("0123456789", 10)))).Run(t.Context(), toolbox.Call{Name: "a"})
	if want := "012345678\n… 83 bytes cut …\n23456789"; out.Cut != 83 || out.Text() != want {
		t.Errorf("cut %d: %q, want %q", out.Cut, out.Text(), want)
	}
}

func TestAnOutcomeIsCutFurther(t *testing.T) {
	box := toolbox.NewBox(&toolbox.BoxOptions{Budget: 100},
		registry(textTool("long", strings.Repeat("é", 100)), echoTool("json")))
	long := box.Run(t.Context(), toolbox.Call{Name: "long"})
	if short := long.Within(60); len(short.Text()) > 60 || short.Cut <= long.Cut ||
		!strings.Contains(short.Text(), "cut") {
		t.Errorf("%d bytes, %d cut: %s", len(short.Text()), short.Cut, short.Output)
	}
	if same := long.Within(100); string(same.Output) != string(long.Output) || same.Cut != long.Cut {
		t.Errorf("it fits: %s", same.Output)
	}
	object := box.Run(t.Context(), toolbox.Call{Name: "json", Input: json.RawMessage(`{"a": 12345678901234567890}`)})
	if got := object.Within(-1); string(got.Output) != `{"a": 12345678901234567890}` {
		t.Errorf("%s", got.Output)
	}
}

func TestAnOutcomeShowsOtherBlocks(t *testing.T) {
	box := toolbox.NewBox(nil, registry(textTool("a", "one")))
	out := box.Run(t.Context(), toolbox.Call{Name: "a"}).Showing(100, toolbox.Text("an image"),
		toolbox.JSON(json.RawMessage(`1`)))
	if string(out.Output) != `[{"kind":"text","text":"an image"},{"kind":"json","value":1}]` || out.Result == nil {
		t.Error(out)
	}
}

// TestRunCorrectsArguments checks the arguments that a server receives. Do leaves them alone.
func TestRunCorrectsArguments(t *testing.T) {
	d := plainDescriptor("a")
	d.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"o":{"type":"object","additionalProperties":{"type":"integer"}},"q":{"type":"string"}},"required":["q"]}`)
	var got string
	source := newFleet(&toolbox.Snapshot{Tools: []toolbox.Descriptor{d}}, func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		got = string(c.Input)
		return nil, nil
	})
	for _, p := range []*schema.Profile{schema.Original, schema.Universal, schema.OpenAI, schema.OpenAIStrict, schema.AnthropicStrict} {
		box := toolbox.NewBox(&toolbox.BoxOptions{Profile: p}, source)
		for in, want := range map[string]string{
			`{"q":"1","n":"9007199254740993"}`: `{"q":"1","n":9007199254740993}`,
			`{"q":"1","n":null}`:               `{"q":"1"}`,
			`{"q":"1","n":"x"}`:                "/n: expected integer",
			`{"q":"1","n":3}`:                  `{"q":"1","n":3}`,
		} {
			got = ""
			out := box.Run(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(in)})
			if got != want && (got != "" || !strings.Contains(out.Text(), want)) {
				t.Errorf("%s: %s became %q, want %q: %s", p.Name(), in, got, want, out.Text())
			}
			if _, err := box.Do(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(in)}); err != nil || got != in {
				t.Errorf("Do changed %s to %s: %v", in, got, err)
			}
		}
	}
	strict := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.OpenAIStrict}, source)
	entries := strict.Descriptors()[0].Parameters
	in := `{"q":"1","n":null,"o":"[{\"key\":\"k\",\"value\":\"5\"}]"}`
	if out := strict.Run(t.Context(), toolbox.Call{Name: "a", Input: json.RawMessage(in)}); got != `{"q":"1","o":{"k":5}}` {
		t.Errorf("%s became %s by %s: %s", in, got, entries, out.Text())
	}
}
