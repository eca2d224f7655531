package agent

import (
	"cmp"
	"slices"

	"github.com/indusagi/indus/toolbox"
)

// toolOrder keeps the positions of tools during a conversation, because a provider's cache depends on a common prefix.
// A new tool is appended. A tool that returns gets its old position.
type toolOrder map[string]int

// sort puts the tools into this order, in place.
func (p toolOrder) sort(tools []toolbox.Descriptor) []toolbox.Descriptor {
	for _, d := range tools {
		if _, known := p[d.Name]; !known {
			p[d.Name] = len(p)
		}
	}
	slices.SortStableFunc(tools, func(a, b toolbox.Descriptor) int { return cmp.Compare(p[a.Name], p[b.Name]) })
	return tools
}
