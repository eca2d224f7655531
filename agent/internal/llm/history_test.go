package llm_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/internal/testkit/modelserver"
)

// TestEveryHistoryIsAccepted sends calls and results as a model and a tool may write them. A provider that refuses one
// of them would refuse every later request of the conversation.
func TestEveryHistoryIsAccepted(t *testing.T) {
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	picture := agent.Image{MIME: "image/png", Data: dot.Bytes()}
	failed := func(output string, images ...agent.Image) agent.Result {
		return agent.Result{Output: json.RawMessage(output), IsError: true, Images: images}
	}
	results := map[string]agent.Result{
		"empty":             failed(`""`),
		"a space":           failed(`" "`),
		"blank lines":       failed(`"\n\n\t"`),
		"an image alone":    failed(`""`, picture),
		"a text and images": failed(`"no"`, picture, picture),
		"an odd image":      failed(`""`, agent.Image{MIME: "image/svg+xml", Data: []byte("<svg/>")}),
		"half a pair":       failed(`{"a":"\ud83d"}`),
		"no UTF-8":          failed("\"a\xff\""),
		"fine and empty":    {Output: json.RawMessage(`""`)},
	}
	inputs := map[string]string{
		"half a pair":         `{"q":"cut \ud83d"}`,
		"half a pair as name": `{"\udc00":1}`,
		"two halves":          `{"q":"\udc00\ud83d"}`,
		"no UTF-8":            "{\"q\":\"\xff\"}",
		"a large number":      `{"q":1e999}`,
		"many digits":         `{"q":` + strings.Repeat("9", 400) + `}`,
		"deep":                `{"q":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"no JSON":             `{"q":`,
		"a list":              `[1]`,
	}
	ids := []string{"a.1", "a_1", "a 1", "", strings.Repeat("x", 100), strings.Repeat("x", 101)}
	each(t, func(t *testing.T, provider func(string) agent.Provider) {
		s := modelserver.New(t)
		s.Func(func(modelserver.Request) modelserver.Turn { return modelserver.Turn{Text: "ok"} })
		p := provider(s.URL)
		send := func(what string, calls []agent.Call, result agent.Result) {
			asked, answered := agent.Message{Role: agent.Assistant}, agent.Message{Role: agent.User}
			for _, c := range calls {
				r := result
				r.ID, r.Name = c.ID, c.Name
				asked.Parts = append(asked.Parts, agent.Part{Call: &c})
				answered.Parts = append(answered.Parts, agent.Part{Result: &r})
			}
			answered.Parts = append(answered.Parts, agent.Part{Text: "go on"})
			r := agent.Request{Messages: []agent.Message{userMessage("go"), asked, answered}}
			if _, err := p.Generate(t.Context(), r, nil); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			for _, got := range s.Requests()[len(s.Requests())-1].Results() {
				if result.IsError && strings.TrimSpace(got.Text) == "" {
					t.Errorf("%s: the model reads no failure", what)
				}
			}
		}
		for what, r := range results {
			send(what, []agent.Call{{ID: "1", Name: "t"}, {ID: "2", Name: "t"}}, r)
		}
		for what, input := range inputs {
			send(what, []agent.Call{{ID: "1", Name: "t", Input: json.RawMessage(input)}}, failed(`"no"`))
		}
		var calls []agent.Call
		for _, id := range ids {
			if id != "" || p.Name() == "anthropic/m" {
				calls = append(calls, agent.Call{ID: id, Name: "my tool!"})
			}
		}
		send("odd ids", calls, failed(`"no"`))
	})
}
