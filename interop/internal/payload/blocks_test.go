package payload_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/interop/internal/payload"
	"github.com/indusagi/indus/toolbox"
)

// TestTextsOfTheWrongForm checks texts that servers write without their block, or without its type.
func TestTextsOfTheWrongForm(t *testing.T) {
	for content, want := range map[string]string{
		`{"type":"text","text":"a\nb"}`: "a\nb", `{"text":"a\nb"}`: "a\nb", `"a\nb"`: "a\nb", `{"type":"image","text":"a"}`: "", `7`: "", `null`: "",
		`{"text":7}`: "", `{"type":7,"text":"a"}`: "a",
	} {
		d := payload.DecodeResult(toolbox.Wire{Format: toolbox.FormatMCP, JSON: json.RawMessage(`{"content":[` + content + `]}`)})
		if len(d.Blocks) != 1 || (d.Blocks[0].Text != nil) != (want != "") || want != "" && *d.Blocks[0].Text != want {
			t.Errorf("%s: %+v", content, d.Blocks)
		}
	}
}
