package show

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	chars "github.com/indusagi/indus/internal/text"
	"golang.org/x/term"
)

// Cut cuts s to at most n runes.
func Cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// Duration formats d, rounded to 1 ms below a second and to 10 ms from there on.
func Duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// ParseDuration parses a duration, also in days such as "90d". It reports false if text is invalid, negative or over
// 36600 days.
func ParseDuration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		const most = 100 * 366
		return time.Duration(n * 24 * float64(time.Hour)), err == nil && n >= 0 && n <= most
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// Count returns a number and a noun, with a plural "s" unless n is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MaxNamed is the number of names in a list before the rest is counted.
const MaxNamed = 3

// TimeFormat is the format of times, which are shown in the local time zone.
const TimeFormat = "2006-01-02 15:04:05"

// Time returns a time for a person, in the local time zone.
func Time(t time.Time) string { return t.Local().Format(TimeFormat) }

// ShellWord quotes an argument for a shell if it needs quotes.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// List joins the first words. If more than one word is left out, it adds their number.
func List(words []string, most int, noun string) string {
	if n := len(words) - most; n > 1 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more %s", n, noun)
	}
	return strings.Join(words, ", ")
}

// Names returns the names of all values, and omits empty names.
func Names[T any](all []T, name func(T) string) (names []string) {
	for _, t := range all {
		if n := name(t); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// GroupBy yields the values of each key. Keys come in the order of their first value.
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

// Where returns the values for which is returns true.
func Where[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !is(t) })
}

// Summary returns the first sentence of a description, with "…" if there is more, so that readers notice the rest.
func Summary(s string) string {
	text := FirstSentence(s)
	if text != strings.Join(strings.Fields(Clean(s)), " ") && !strings.HasSuffix(text, "…") {
		text += " …"
	}
	return text
}

// FirstSentence returns the first sentence of a description on one line, in at most 100 runes.
func FirstSentence(s string) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	for i := range len(s) {
		rest, ok := strings.CutPrefix(s[i:], ". ")
		if next, _ := utf8.DecodeRuneInString(rest); ok && i > 0 && !unicode.IsLower(next) {
			s = s[:i+1] // a lower-case word follows an abbreviation such as "e.g."
			break
		}
	}
	return Cut(s, 100)
}

// Escaped returns text on one line with invisible and control characters as escapes, so that a reviewer sees all of it.
func Escaped(s string) string { return EscapedExcept(s, "") }

// EscapedExcept is like [Escaped], and the characters in keep stay.
func EscapedExcept(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case chars.KindOf(r) != chars.Plain || r == unicode.ReplacementChar || r != ' ' && unicode.IsSpace(r) ||
			unicode.Is(unicode.Co, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Terminal returns the file of a stream if it is a terminal that supports cursor movement.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// IsAttended reports whether a person can be asked: stdin and stderr are terminals.
func (s Streams) IsAttended() bool {
	_, in := Terminal(s.In)
	_, out := Terminal(s.Err)
	return in && out
}

// Clean makes text from a server safe for a terminal: it returns one line without control characters.
func Clean(s string) string {
	return chars.OneLine(s)
}

// CleanLines is like [Clean], and keeps line breaks.
func CleanLines(s string) string { return chars.Lines(s) }

// WriteText writes text to stdout, and ends it with a newline. On a terminal, the text passes through [CleanLines].
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

// WrapTo wraps text into lines of at most width columns, indented by in columns.
func WrapTo(text string, in, width int) []string {
	return fill(strings.Repeat(" ", in), text, in, width)
}

// HardWrap breaks a text at exactly the width.
func HardWrap(s string, width int) (lines []string) {
	start, used := 0, 0
	for i, r := range s {
		n := runeColumns(r)
		if used+n > width {
			lines, start, used = append(lines, s[start:i]), i, 0
		}
		used += n
	}
	return append(lines, s[start:])
}

// beginning returns as much of a text as fits into the width.
func beginning(s string, width int) string {
	for i, r := range s {
		if width -= runeColumns(r); width < 0 {
			return s[:i]
		}
	}
	return s
}

// minTextWidth is the minimum width of the second column. In less space, text continues below the item.
const minTextWidth = 24

// narrowed returns the column at, or a smaller one if a text there has no space.
func narrowed(at, width int) int {
	if width-at < minTextWidth {
		return min(at, 6)
	}
	return at
}

// fill returns head and the words of text in lines of at most width columns. Continuation lines begin at column at. The
// line breaks of text have no meaning.
func fill(head, text string, at, width int) []string {
	return placeUnits(head, strings.FieldsFunc(text, isBlank), narrowed(at, width), width)
}

// placeUnits returns head and units of text in lines of at most width columns, with a blank between units. Continuation
// lines begin at column at, and never with an empty unit.
func placeUnits(head string, units []string, at, width int) (lines []string) {
	line, used := []byte(head), Columns(head)
	hasText := strings.TrimSpace(head) != ""
	for i, unit := range units {
		blanks := min(i, 1)
		n := Columns(unit)
		if hasText && unit != "" && used+blanks+n > width {
			lines = append(lines, strings.TrimRight(string(line), " "))
			line, used, blanks = nil, 0, at
		}
		line = append(append(line, strings.Repeat(" ", blanks)...), unit...)
		used, hasText = used+blanks+n, true
	}
	return append(lines, string(line))
}

// isBlank reports whether a line may be broken at r: at spaces and line breaks, but not at a no-break space.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) && !strings.ContainsRune("\u00a0\u2007\u202f", r)
}
