package schema

import "encoding/json"

// Profile is one way of showing a tool's schema to a model. A nil Profile is [Original].
type Profile struct {
	name  string
	shape func([]byte) []byte // nil: as it is
}

var (
	// Original shows a schema as its owner wrote it.
	Original = &Profile{name: "original"}

	// Seed shows what [Normalize] makes of a schema.
	Seed = &Profile{name: "seed", shape: Normalize}
)

// Name is how the profile is called in configuration and in messages.
func (p *Profile) Name() string {
	if p == nil {
		return Original.name
	}
	return p.name
}

// Apply returns the schema as a model is to see it. Original returns raw itself, whatever is in it, and every other
// profile new bytes; so the result is to be read only.
func (p *Profile) Apply(raw json.RawMessage) json.RawMessage {
	if p == nil || p.shape == nil {
		return raw
	}
	return p.shape(raw)
}
