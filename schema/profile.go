package schema

import (
	"cmp"
	"slices"

	"github.com/indusagi/indus/schema/rule"
)

// Profile describes, as data, the tool schemas that one consumer accepts: one API of a model provider, or the
// intersection of several. [Adapt] rewrites a schema for it, [Check] finds the parts that the consumer would refuse,
// and [Profile.Rules] returns its rules. A nil Profile is [Original].
type Profile struct {
	name  string
	about string
	rules rule.Set

	// transform is set for Original and Seed, which have no rules. It is nil for every other profile.
	transform func([]byte) []byte
}

// Name returns the name of the profile in configuration and in messages.
func (p *Profile) Name() string { return cmp.Or(p, Original).name }

// About returns the purpose of the profile in one sentence.
func (p *Profile) About() string { return cmp.Or(p, Original).about }

// Rules returns the rules of the profile. Its slices and maps are shared, so do not change them.
func (p *Profile) Rules() rule.Set { return cmp.Or(p, Original).rules }

// checkable returns the rules, or nil if the profile has none.
func (p *Profile) checkable() *rule.Set {
	if p == nil || p.transform != nil {
		return nil
	}
	return &p.rules
}

// Profiles returns every profile, with the general profiles first. The caller owns the slice.
func Profiles() []*Profile { return slices.Clone(profiles) }

// ProfileNamed returns the profile with the name, or nil.
func ProfileNamed(name string) *Profile {
	for _, p := range profiles {
		if p.name == name {
			return p
		}
	}
	return nil
}

var (
	// Original leaves a schema unchanged.
	Original = &Profile{
		name: "original", about: "the schema as its owner wrote it",
		transform: func(raw []byte) []byte { return raw },
	}

	// Seed applies [Normalize].
	Seed = &Profile{
		name: "seed", about: "the normaliser of the first editions of this bridge",
		transform: Normalize,
	}
)
