package agent

import (
	"cmp"
	"slices"

	"github.com/indusagi/indus/toolbox"
)

// places keeps the positions of tools during a conversation, because a provider's cache depends on a common prefix. A
// new tool is appended. A tool that returns gets its old position.
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
