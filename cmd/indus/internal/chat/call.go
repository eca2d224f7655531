package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	chars "github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// resultLines is the number of displayed lines of a result. leastArguments is the minimum width of arguments, in
	// columns.
	resultLines    = 2
	leastArguments = 20
)

// callHead returns a call as one line of about width columns: its tool, and as much of the arguments as fits.
func (u *turn) callHead(c agent.Call, width int) string {
	name := show.Clean(c.Name)
	arguments := shortArguments(c.Input)
	return u.Bold(name) + " " + u.Dim(show.CutColumns(arguments, max(leastArguments, width-show.Columns(name))))
}

// callLines returns the lines that remain on the screen after a call: its head and the beginning of its result.
func (u *turn) callLines(e agent.Event) []string {
	width, _ := u.Editor.Size()
	mark := u.styled("✓", green)
	if e.Result.IsError {
		mark = u.styled("✗", red)
	}
	lines := []string{mark + " " + u.callHead(*e.Call, width-14) + "  " + u.Dim(show.Duration(e.Took))}
	text := show.Where(ResultLines(e.Result), func(line string) bool { return line != "" })
	for i, line := range text {
		if i == resultLines {
			lines = append(lines, u.Dim(fmt.Sprintf("  … %s more", show.Count(len(text)-i, "line"))))
			break
		}
		lines = append(lines, u.Dim("  "+show.CutColumns(line, width-3)))
	}
	return lines
}

// ResultLines returns the lines of a result without characters that control a terminal.
func ResultLines(r *agent.Result) (lines []string) {
	var text string
	if json.Unmarshal(r.Output, &text) != nil {
		text = show.CompactJSON(r.Output)
	}
	text, _ = chars.Visible(chars.Lines(text))
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	for _, image := range r.Images {
		lines = append(lines, fmt.Sprintf("[%s, %s]", show.Clean(image.MIME), show.Count(len(image.Data), "byte")))
	}
	return lines
}

// argument is one argument of a call. text is the value of a string, or JSON for any other value.
type argument struct {
	name, text string
}

// argumentsOf returns the arguments in order, with duplicates. An input that is not an object is one argument without a
// name.
func argumentsOf(input json.RawMessage) (out []argument) {
	members, err := wire.Members(input)
	if err != nil || !wire.Valid(input) {
		return []argument{{"", string(input)}}
	}
	for _, m := range members {
		text, isText := wire.Unquote(m.Value)
		if !isText {
			text = string(m.Value)
		}
		out = append(out, argument{m.Key, text})
	}
	return out
}

// shortArguments formats the arguments on one line. A single argument has no name.
func shortArguments(input json.RawMessage) string {
	var out []string
	all := argumentsOf(input)
	for _, a := range all {
		text := show.Clean(a.text)
		if len(all) > 1 {
			text = show.Clean(a.name) + "=" + text
		}
		out = append(out, text)
	}
	text, _ := chars.Visible(strings.Join(out, " "))
	return text
}
