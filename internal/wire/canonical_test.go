package wire_test

import (
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool { return string(wire.Canonical([]byte(a))) == string(wire.Canonical([]byte(b))) }
	const tool = `{"name":"t","inputSchema":{"type":"object","maximum":9007199254740993}}`
	if !same(tool, "{ \"inputSchema\": {\"maximum\":9007199254740993, \"typ\\u0065\":\"object\"},\n\"name\":\"t\" }") {
		t.Error("spaces, order and escapes are a change")
	}
	for _, other := range []string{
		`{"name":"t","inputSchema":{"type":"object","maximum":9007199254740992}}`,
		`{"name":"t","inputSchema":{"type":"object","maximum":9007199254740993.0}}`,
		`{"name":"t","inputSchema":{"type":"object","maximum":9007199254740993,"maximum":9007199254740993}}`,
		`{"name":"t","name":"u","inputSchema":{"type":"object","maximum":9007199254740993}}`,
	} {
		if same(tool, other) {
			t.Errorf("%s is no change", other)
		}
	}
	if same(`{"a":[1,2]}`, `{"a":[2,1]}`) || same("{\"a\":\"\xff\"}", "{\"a\":\"\xfe\"}") {
		t.Error("another value is no change")
	}
}
