package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/schema"
)

func TestProfile(t *testing.T) {
	const raw = ` {"type":"string", "default":1} `
	tests := []struct {
		profile    *schema.Profile
		name, want string
	}{
		{nil, "original", raw},
		{schema.Original, "original", raw},
		{schema.Seed, "seed", `{"type":"string"}`},
	}
	for _, c := range tests {
		if got := c.profile.Name(); got != c.name {
			t.Errorf("name %q, want %q", got, c.name)
		}
		if got := string(c.profile.Apply(json.RawMessage(raw))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestOriginalKeepsWhatIsNoSchema(t *testing.T) {
	for _, raw := range []json.RawMessage{nil, {}, json.RawMessage("{")} {
		if got := schema.Original.Apply(raw); string(got) != string(raw) || (got == nil) != (raw == nil) {
			t.Errorf("%q became %q", raw, got)
		}
	}
}
