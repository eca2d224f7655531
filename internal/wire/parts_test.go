package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestMapParts(t *testing.T) {
	edit := func(key string, v json.RawMessage) json.RawMessage {
		switch {
		case key == "drop" || string(v) == "0":
			return nil
		case string(v) == "2":
			return json.RawMessage(`[2,2]`)
		}
		return v
	}
	for raw, want := range map[string]string{
		`[]`: `[]`, ` [ 1 , "2" ] `: ` [ 1 , "2" ] `, `[2]`: `[[2,2]]`, `[0]`: `[]`,
		`[ 1, 0 ,{"a":2},2 ]`: `[1,{"a":2},[2,2]]`,
		`{}`:                  `{}`, ` { "a" : 1 } `: ` { "a" : 1 } `, `{"drop":1}`: `{}`,
		`{ "\u0064rop" : 1, "a" :2 , "a": 3 }`: `{"a":[2,2],"a":3}`,
	} {
		if got, err := wire.MapParts(json.RawMessage(raw), edit); err != nil || string(got) != want {
			t.Errorf("%s: %s %v", raw, got, err)
		}
	}
	for _, raw := range []string{``, `1`, `[1`, `{"a":1`, `"a"`} {
		if got, err := wire.MapParts(json.RawMessage(raw), edit); err == nil {
			t.Errorf("%s: %s", raw, got)
		}
	}
	many := "[" + strings.Repeat("1,", wire.MaxParts) + "1]"
	if _, err := wire.MapParts(json.RawMessage(many), edit); !errors.Is(err, wire.ErrTooManyParts) {
		t.Error(err)
	}
}
