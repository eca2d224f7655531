package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// newMan writes a manual page for each command, for release archives and packagers.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Long:   "Write a manual page for each command into DIR.\n\nUsage:\n  indus man DIR\n\nEnvironment:\n  SOURCE_DATE_EPOCH  the date of the pages, in seconds since 1970\n                     (default: none)\n\nA session:\n  $ indus man ./man1",
		Args:   AtMost(1, "DIR"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("man needs a directory; see indus man -h")
			}
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
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(name, date, c)), 0o644); err != nil {
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

// manPage is a command's help text as it stands, for it is laid out already.
func manPage(name, date string, c *cobra.Command) string {
	return fmt.Sprintf(".TH %s 1 %q %q\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n%s\n.fi\n.SH SEE ALSO\n.BR indus (1)\n",
		strings.ToUpper(roffText(name)), date, "indus "+moduleVersion(), roffText(name), roffText(c.Short), roffText(c.Long))
}

// roffText escapes text for a manual page: backslashes, hyphens that are to be copied as such, and
// periods and quotes that begin a line, which would begin a request.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
