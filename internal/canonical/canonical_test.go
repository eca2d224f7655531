package canonical_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/internal/canonical"
)

// Spaces, the order of members and the spelling of a string do not make another value. Everything else does.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":{"c":2,"d":3}}`, `{ "b": {"d":3, "c":2}, "a":1 }`, true},
		{`{"a":"\u0065"}`, `{"a":"e"}`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":"b"}`, `{"a":"B"}`, false},
		{`{"a":"b"}`, `{"a":"b "}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":0.1}`, `{"a":0.10000000000000000001}`, false},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, false},
		{`{"a":1`, `{ "a":1`, false},
	} {
		same := canonical.Equal(json.RawMessage(c.a), json.RawMessage(c.b))
		if same != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, same)
		}
	}
}
