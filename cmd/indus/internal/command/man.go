package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// newMan returns the command that writes a manual page for each command. It is for release archives and packagers.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true,
		Long: `Write a manual page for each command into DIR.

Environment:
  SOURCE_DATE_EPOCH  the date of the pages, in seconds since 1970
                     (default: none)

A session:
  $ indus man ./man1`,
		Args: Needs(1, "a directory; see indus man -h", "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			date := ""
			if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				date = time.Unix(s, 0).UTC().Format(time.DateOnly)
			}
			return writeManPages(args[0], date, cmd.Root())
		},
	}
}

func writeManPages(dir, date string, c *cobra.Command) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(ManPage(c, date)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Hidden {
			continue
		}
		if err := writeManPages(dir, date, sub); err != nil {
			return err
		}
	}
	return nil
}

// ManPage returns the manual page of a command, made of the parts of its help text.
func ManPage(c *cobra.Command, date string) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 %q %q indus\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roffText(name)), date,
		"indus "+ModuleVersion(), roffText(name), roffText(c.Short))
	var titles []string
	sections := map[string][]show.Part{}
	for _, p := range show.Parts(wholeHelp(c)) {
		if p.Kind == show.Heading {
			titles = append(titles, p.Section)
		} else {
			sections[p.Section] = append(sections[p.Section], p)
		}
	}
	write := func(heading, title string) {
		fmt.Fprintf(&b, "%s\n%s", heading, roffParts(sections[title]))
		titles = slices.DeleteFunc(titles, func(t string) bool { return t == title })
	}
	isOptions := func(title string) bool {
		i := slices.IndexFunc(sections[title], func(p show.Part) bool { return p.Text != "" })
		return i >= 0 && strings.HasPrefix(strings.TrimSpace(sections[title][i].Head), "-")
	}
	subSections := func(is func(string) bool) {
		for _, title := range slices.Clone(titles) {
			if is(title) {
				write(".SS "+roffText(strings.TrimSuffix(title, ":")), title)
			}
		}
	}
	write(".SH SYNOPSIS", show.UsageTitle)
	write(".SH DESCRIPTION", "")
	isLast := func(title string) bool { return title == show.SessionTitle || title == exitTitle }
	subSections(func(title string) bool { return !isOptions(title) && !isLast(title) })
	options := flagsTitle
	if !slices.Contains(titles, options) {
		options = titles[slices.IndexFunc(titles, isOptions)]
	}
	write(".SH OPTIONS", options)
	subSections(isOptions)
	if slices.Contains(titles, exitTitle) {
		write(".SH EXIT STATUS", exitTitle)
	}
	write(".SH EXAMPLES", show.SessionTitle)
	b.WriteString(".SH SEE ALSO\n" + strings.Join(seeAlso(c), "\n") + "\n")
	return b.String()
}

// seeAlso returns the references of a manual page: the page of the group and of the sub-commands.
func seeAlso(c *cobra.Command) (pages []string) {
	page := func(c *cobra.Command) string {
		return ".BR " + roffText(strings.ReplaceAll(c.CommandPath(), " ", "-")) + " (1)"
	}
	for at := c; at.HasParent(); at = at.Parent() {
		pages = append(pages, page(at.Parent()))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			pages = append(pages, page(sub))
		}
	}
	for i := range pages[:len(pages)-1] {
		pages[i] += " ,"
	}
	return pages
}

// roffParts returns parts of a help text as roff. roff fills the paragraphs.
func roffParts(parts []show.Part) string {
	var b strings.Builder
	verbatim := false
	for i, p := range parts {
		switch isVerbatim := p.Kind == show.Verbatim; {
		case isVerbatim == verbatim || !isVerbatim && p.Text == "":
		case isVerbatim && p.Section == show.SessionTitle: // its lines need the whole width
			b.WriteString(".PP\n.nf\n.in 2n\n")
			verbatim = true
		case isVerbatim:
			b.WriteString(".PP\n.nf\n.in +2n\n")
			verbatim = true
		default:
			b.WriteString(".in\n.fi\n")
			verbatim = false
		}
		text := roffText(p.Text)
		switch {
		case p.Text == "" && (i == 0 || i == len(parts)-1):
		case p.Text == "" && verbatim:
			b.WriteString("\n")
		case p.Text == "":
			b.WriteString(".PP\n")
		case p.Kind == show.Item && strings.TrimLeft(p.Head, " ") == "- ": // "-" in a column of its own is an argument
			b.WriteString(".IP \\(bu 2\n" + text + "\n")
		case p.Kind == show.Item:
			b.WriteString(".TP\n\\fB" + roffText(strings.TrimSpace(p.Head)) + "\\fR\n" + text + "\n")
		case p.Kind == show.Usage:
			b.WriteString(".HP 4\n" + text + "\n")
		case p.Kind == show.Verbatim:
			b.WriteString(roffText(strings.TrimPrefix(p.Text, "  ")) + "\n")
		case i > 0 && parts[i-1].Kind == show.Item:
			b.WriteString(".PP\n" + text + "\n")
		default:
			b.WriteString(text + "\n")
		}
	}
	if verbatim {
		b.WriteString(".in\n.fi\n")
	}
	return b.String()
}

// roffText escapes text for a manual page: backslashes, hyphens, and lines that roff would read as a request.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
