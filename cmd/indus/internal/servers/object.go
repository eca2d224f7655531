package servers

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// jsonObject is the members of a JSON object in their order.
type jsonObject []string

// add adds a member, unless its value is nil.
func (o *jsonObject) add(name string, value json.RawMessage) {
	if value != nil {
		*o = append(*o, string(text.Quote(name))+":"+string(value))
	}
}

// JSON is the object; nil where it has no member.
func (o jsonObject) JSON() json.RawMessage {
	if len(o) == 0 {
		return nil
	}
	return json.RawMessage("{" + strings.Join(o, ",") + "}")
}

// textOrNone is a text as JSON, and nil where it is "".
func textOrNone(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return text.Quote(s)
}

// listOrNone is texts as JSON, and nil where there are none.
func listOrNone(list []string) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	raw, _ := text.JSON(list) // texts do not fail
	return raw
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
