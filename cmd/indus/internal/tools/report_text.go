package tools

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

const (
	maxPlace  = 80 // of a longer path the end is cut
	maxPlaces = 4  // further places of one thing are counted
	maxHeads  = 4  // further tools with one thing are counted
	manyShare = 3  // what so many tools have in common is said once
	maxLines  = 20 // further lines of one group are counted
)

// toolSection is the tools of one server or file.
type toolSection struct {
	owner string
	tools []ToolReport
}

func sections(all []ToolReport) []toolSection {
	var out []toolSection
	for _, t := range all {
		if n := len(out); n == 0 || out[n-1].owner != t.Server {
			out = append(out, toolSection{owner: t.Server})
		}
		last := &out[len(out)-1]
		last.tools = append(last.tools, t)
	}
	return out
}

// printRemarks prints what there is to say of each tool, and nothing of the others.
func printRemarks(w io.Writer, all []ToolReport, of remarks) error {
	var b strings.Builder
	for _, s := range sections(all) {
		groups := s.groups(of)
		if len(groups) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s  %s\n", show.Clean(s.owner), show.Count(len(s.tools), "tool"))
		for _, g := range groups {
			fmt.Fprintf(&b, "  %s\n", show.Clean(s.heading(g.of)))
			g.write(&b)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// remarkGroup is lines that are said of several tools at once.
type remarkGroup struct {
	of    []int // indices of the section's tools
	lines []string
}

func (g remarkGroup) write(b *strings.Builder) {
	shown := g.lines
	if len(shown) > maxLines+1 {
		shown = shown[:maxLines]
	}
	for _, line := range shown {
		fmt.Fprintf(b, "      %s\n", line)
	}
	if more := len(g.lines) - len(shown); more > 0 {
		fmt.Fprintf(b, "      and %d more; --json has them all\n", more)
	}
}

// groups are first those of what many tools have in common, then one a tool.
func (s toolSection) groups(of remarks) []remarkGroup {
	said := make([][]string, len(s.tools))
	who := map[string][]int{}
	for i := range s.tools {
		for _, m := range of(&s.tools[i]) {
			line := show.Clean(m.String())
			said[i] = append(said[i], line)
			who[line] = append(who[line], i)
		}
	}
	var shared, own []remarkGroup
	for i, lines := range said {
		mine := remarkGroup{of: []int{i}}
		for _, line := range lines {
			switch tools := who[line]; {
			case len(tools) < manyShare:
				mine.lines = append(mine.lines, line)
			case tools[0] == i:
				shared = addLine(shared, tools, line)
			}
		}
		if mine.lines != nil {
			own = append(own, mine)
		}
	}
	slices.SortStableFunc(shared, func(a, b remarkGroup) int { return len(b.of) - len(a.of) })
	return append(shared, own...)
}

// addLine adds a line to the group of those tools.
func addLine(groups []remarkGroup, tools []int, line string) []remarkGroup {
	i := slices.IndexFunc(groups, func(g remarkGroup) bool { return slices.Equal(g.of, tools) })
	if i < 0 {
		i, groups = len(groups), append(groups, remarkGroup{of: tools})
	}
	groups[i].lines = append(groups[i].lines, line)
	return groups
}

// heading names tools.
func (s toolSection) heading(of []int) string {
	if len(of) == len(s.tools) && len(of) > 1 {
		return fmt.Sprintf("all %d tools", len(of))
	}
	names := make([]string, len(of))
	for i, at := range of {
		if names[i] = s.tools[at].Name; names[i] == "" {
			names[i] = "(a row without a name)"
		}
	}
	return show.List(names, maxHeads, "tools")
}
