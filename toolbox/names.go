package toolbox

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// OwnName returns the owner's name for the tool if Name was made from it, because models could not use it. Such a name
// ends with a hash. If Name ends with the owner's name, or a rule of the configuration has renamed the tool, it returns
// "".
func (d Descriptor) OwnName() string {
	if d.Server == "" || strings.HasSuffix(d.Name, d.Tool) || !hasHash(d.Name) {
		return ""
	}
	return d.Tool
}

// hasHash reports whether a name ends with "_" and eight hexadecimal digits.
func hasHash(name string) bool {
	const length = 1 + 8
	at := len(name) - length
	return at > 0 && name[at] == '_' && strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// qualified returns the own name of a tool with its server in front, or "" if Name is that already.
func (d Descriptor) qualified() string {
	if d.OwnName() == "" {
		return ""
	}
	return d.Server + "__" + d.Tool
}

// Named returns the tool with a name: its Name, or SERVER__OWN-NAME if that belongs to one tool alone.
func (s *Snapshot) Named(name string) (Descriptor, bool) {
	var found []Descriptor
	for _, d := range s.Tools {
		switch name {
		case d.Name:
			return d, true
		case d.qualified():
			found = append(found, d)
		}
	}
	if name == "" || len(found) != 1 {
		return Descriptor{}, false
	}
	return found[0], true
}

// Nearest returns the names of at most three tools that resemble the unknown name. Tools with a similar own name are
// first.
func (e *UnknownTool) Nearest(tools []Descriptor) (names []string) {
	byOwn := map[string]string{}
	var own, all []string
	for _, d := range tools {
		all = append(all, d.Name)
		if q := d.qualified(); q != "" {
			own = append(own, q)
			byOwn[q] = d.Name
		}
	}
	for _, q := range text.Nearest(e.Name, own, 3) {
		names = append(names, byOwn[q])
	}
	for _, name := range text.Nearest(e.Name, all, 3) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names[:min(len(names), 3)]
}
