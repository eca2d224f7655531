package approvals

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
)

// describeItem returns all about an item for a person. Texts of callers and servers are escaped, and each of their
// lines is indented, also where a terminal of that many columns would wrap it. So none of them looks like a line of
// indus. If columns is 0, lines are not wrapped.
func describeItem(i *approval.Item, columns int) string {
	d := description{columns: columns}
	d.head(i)
	d.line("server", i.Server)
	d.line("runs", i.Program)
	d.line("tool", i.Tool)
	d.line("title", i.Title)
	d.line("does", i.Description)
	d.line("caller", describe.Caller(i.Principal))
	d.line("client", describe.Client(i.Client))
	d.line("view", describe.View(i.View))
	d.line("decides", describe.Deciders[i.Way])
	d.line("rule", i.Rule)
	d.line("asked", show.Time(i.Asked))
	if !i.Decided.IsZero() {
		d.line("decision", i.Verdict())
	}
	if !i.Used.IsZero() {
		d.line("used", show.Time(i.Used))
	}
	d.line("arguments", describe.ArgumentsSize(i))
	d.block(show.IndentJSON(i.Shown))
	if i.Changed != "" {
		d.line("changed", "since the tool was accepted:")
		d.block(i.Changed)
	}
	return d.text.String()
}

// description collects the lines of describeItem.
type description struct {
	columns int
	text    strings.Builder
}

// head adds the state, with the time that is left.
func (d *description) head(i *approval.Item) {
	text := i.ID + " is " + string(i.State)
	if i.State == approval.Waiting || i.State == approval.Allowed {
		text += fmt.Sprintf(", until %s, for another %s", show.Time(i.Expires), describe.Left(i))
	}
	d.text.WriteString(text + "\n")
}

// line adds a text with its label.
func (d *description) line(label, text string) {
	if text != "" {
		d.wrapped("  "+show.Pad(label, 11), show.Escaped(text))
	}
}

// block adds the lines of a text.
func (d *description) block(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		d.wrapped("    ", show.Escaped(line))
	}
}

// minRoom is the minimum number of columns for a text behind its label.
const minRoom = 20

// wrapped adds a line, and continues it below its own beginning.
func (d *description) wrapped(head, text string) {
	lines := []string{text}
	if d.columns > 0 {
		lines = show.HardWrap(text, max(d.columns-show.Columns(head), minRoom))
	}
	for _, line := range lines {
		d.text.WriteString(strings.TrimRight(head+line, " ") + "\n")
		head = strings.Repeat(" ", show.Columns(head))
	}
}
