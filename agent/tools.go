package agent

import (
	"cmp"
	"slices"

	"github.com/indusagi/indus/toolbox"
)

// places keeps tools where they are for as long as a conversation lasts, because a provider's cache holds for what
// begins alike: one that comes is the last, one that comes again is where it was.
type places map[string]int

// inOrder sorts tools in place.
func (p places) inOrder(tools []toolbox.Descriptor) []toolbox.Descriptor {
	for _, d := range tools {
		if _, known := p[d.Name]; !known {
			p[d.Name] = len(p)
		}
	}
	slices.SortStableFunc(tools, func(a, b toolbox.Descriptor) int { return cmp.Compare(p[a.Name], p[b.Name]) })
	return tools
}
