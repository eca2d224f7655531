package show

import (
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	chars "github.com/indusagi/indus/internal/text"
	"golang.org/x/term"
)

// Cut is s in at most n runes.
func Cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// Duration is d to a person's precision.
func Duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// ParseDuration reads a duration, in days too: "90d". It reports false for what is none, is below 0, or takes more than a date holds.
func ParseDuration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		const most = 100 * 366
		return time.Duration(n * 24 * float64(time.Hour)), err == nil && n >= 0 && n <= most
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// Count is a number of things, in the plural where it is not one.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// MaxNamed is how many names a line has.
const MaxNamed = 3

// TimeFormat is how times are shown, in the zone of who looks.
const TimeFormat = "2006-01-02 15:04:05"

// ShellWord is an argument as one types it in a shell.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// List is the first of words, and how many there are beside them.
func List(words []string, most int, what string) string {
	if n := len(words) - most; n > 1 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more %s", n, what)
	}
	return strings.Join(words, ", ")
}

// Names are the names of things; what has none is left out.
func Names[T any](all []T, name func(T) string) (names []string) {
	for _, t := range all {
		if n := name(t); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// GroupBy yields the values that have one key, in the order in which the keys come.
func GroupBy[K comparable, T any](all []T, key func(T) K) iter.Seq2[K, []T] {
	var keys []K
	of := map[K][]T{}
	for _, t := range all {
		k := key(t)
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], t)
	}
	return func(yield func(K, []T) bool) {
		for _, k := range keys {
			if !yield(k, of[k]) {
				return
			}
		}
	}
}

// Where is the values of which a condition holds.
func Where[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !is(t) })
}

// Summary is the first sentence of a description, with "…" where there is more: who looks at a
// tool must see that there is.
func Summary(s string) string {
	text := FirstSentence(s)
	if text != strings.Join(strings.Fields(Clean(s)), " ") && !strings.HasSuffix(text, "…") {
		text += " …"
	}
	return text
}

// FirstSentence is what a list has room for of a description.
func FirstSentence(s string) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	for i := range len(s) {
		rest, ok := strings.CutPrefix(s[i:], ". ")
		if next, _ := utf8.DecodeRuneInString(rest); ok && i > 0 && !unicode.IsLower(next) {
			s = s[:i+1] // not after "e.g."
			break
		}
	}
	return Cut(s, 100)
}

// Escaped is text on one line in which nothing hides: what a terminal would obey or
// not show is written as an escape. Who judges it must see all of it.
func Escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case chars.KindOf(r) != chars.Plain || r == unicode.ReplacementChar || r != ' ' && unicode.IsSpace(r) || unicode.Is(unicode.Co, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Terminal returns the file behind a stream if it is a terminal that can be drawn on.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// Clean makes text from a server harmless for a terminal: one line without control characters.
func Clean(s string) string {
	return chars.OneLine(s)
}

// CleanLines is clean for text of several lines.
func CleanLines(s string) string { return chars.Lines(s) }

// WriteText writes text and a newline. On a terminal the text is made harmless.
func (s Streams) WriteText(text string) error {
	if _, ok := Terminal(s.Out); ok {
		text = CleanLines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// Reflow breaks the lines of a help text anew that are wider than a terminal: prose,
// and what is in the second column. Sessions stay as they are.
func Reflow(text string, width int) string {
	var out []string
	section := ""
	for lines := strings.Split(text, "\n"); len(lines) > 0; {
		first, n := lines[0], 1
		if strings.HasSuffix(first, ":") && !strings.HasPrefix(first, " ") {
			section = first
		}
		at, item := textColumn(first)
		loose := section != "A session:" && (item || section != "Usage:")
		for loose && n < len(lines) && first != "" {
			if next, another := textColumn(lines[n]); another || next != at || lines[n] == "" {
				break
			}
			n++
		}
		group := lines[:n]
		lines = lines[n:]
		if loose && slices.ContainsFunc(group, func(line string) bool { return Columns(line) > width }) {
			group = refill(group, at, width)
		}
		out = append(out, group...)
	}
	return strings.Join(out, "\n")
}

var secondColumn = regexp.MustCompile(`^ +\S.*?   *`)

// textColumn is where the text of a line begins, after the item that it explains if there is one.
func textColumn(line string) (at int, item bool) {
	if head := secondColumn.FindString(line); head != "" && len(head) < len(line) {
		return len(head), true
	}
	return len(line) - len(strings.TrimLeft(line, " ")), false
}

// Wrap is text in lines of at most 80 columns, so many columns in.
func Wrap(text string, in int) string {
	return strings.Join(WrapTo(text, in, 80), "\n")
}

// WrapTo is text in lines of at most so many columns, in columns in.
func WrapTo(text string, in, width int) []string {
	return WrapColumn(strings.Repeat(" ", in)+text, in, width)
}

// WrapColumn is a line whose text begins at a column, with what does not fit below that text.
func WrapColumn(line string, at, width int) []string { return refill([]string{line}, at, width) }

// leastText is the narrowest second column; else the text goes on below the item.
const leastText = 24

func refill(lines []string, at, width int) []string {
	head := lines[0][:at]
	text := lines[0][at:] + " " + strings.Join(lines[1:], " ")
	if width-at < leastText {
		at = min(at, 6)
	}
	var out []string
	line := head
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case Columns(line)+1+Columns(word) > width:
			out = append(out, line)
			line = strings.Repeat(" ", at) + word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}
