package standard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/toolbox"
)

// maxPlaces is the number of places that are listed if a text occurs more than once.
const maxPlaces = 10

// Edit returns the tool "edit", which replaces a text in a file.
//
// The text must occur exactly once, unless all is true. It is searched in the text as read shows it: lines end in a
// line feed alone, and there is no byte order mark. The file keeps its own line ends and mark. As with [Write], the
// file must have been read, must not have changed since, and has at most 8 MiB. It must also be UTF-8. The result is a
// unified diff.
func Edit() toolbox.Tool {
	t := define("edit",
		"Replace a text in a file that was read before and has not changed since. "+
			"old must be exactly what is in the file, white space included, without the line numbers that read shows, "+
			"and must be there once: give enough of the lines around it, or pass all to replace it everywhere. "+
			"Lines end in \\n whatever the file has. Returns a unified diff.",
		runEdit)
	t.Annotations = &toolbox.Annotations{OpenWorld: new(bool)}
	return t
}

type editInput struct {
	Path string `json:"path" jsonschema:"minLength=1" jsonschema_description:"The file, relative to the working directory or absolute inside it."`
	Old  string `json:"old" jsonschema:"minLength=1" jsonschema_description:"The text to replace, exactly as it is in the file."`
	New  string `json:"new" jsonschema_description:"What is to stand in its place; may be empty."`
	All  bool   `json:"all,omitempty" jsonschema_description:"Replace old wherever it is; false by default."`
}

func runEdit(ctx context.Context, tc *toolbox.Context, in editInput) (*toolbox.Result, error) {
	defer tc.Change()()
	c, data, err := in.prepare(ctx, tc)
	if err == nil {
		err = c.commit(ctx, data)
	}
	if err != nil {
		return nil, err
	}
	return c.result(data), nil
}

// prepare opens the file to be edited and returns its new content, or the error with which the call is refused.
func (in editInput) prepare(ctx context.Context, tc *toolbox.Context) (c *change, data []byte, err error) {
	c, err = openChange(ctx, tc, in.Path)
	switch {
	case err != nil:
		return nil, nil, err
	case c.isNew:
		return nil, nil, explain(tc, c.name, fs.ErrNotExist)
	case !utf8.Valid(c.old):
		return nil, nil, fmt.Errorf("%s is not UTF-8: it cannot be edited here", show(c.name))
	case strings.Contains(in.New, "\x00"):
		return nil, nil, errors.New("new has a NUL character: only text can be written")
	}
	data, err = in.replace(c)
	return c, data, err
}

// replace returns the new content of the file. The rest of the file stays unchanged, byte for byte.
func (in editInput) replace(c *change) ([]byte, error) {
	t := newPlainText(c.old)
	old, replacement := strings.ReplaceAll(in.Old, "\r\n", "\n"), t.withLineEnds(strings.ReplaceAll(in.New, "\r\n", "\n"))
	n := strings.Count(t.text, old)
	switch {
	case n == 0:
		return nil, fmt.Errorf("old is not in %s%s", show(c.name), nearestLines(t.text, old))
	case old == strings.ReplaceAll(in.New, "\r\n", "\n"):
		return nil, errors.New("old and new are the same")
	case len(c.old)+n*(len(replacement)-len(old)) > maxChange && (in.All || n == 1):
		return nil, fmt.Errorf("%s would have more than %d MiB", show(c.name), maxChange>>20)
	}
	if places := occurrences(t.text, old); !in.All && len(places) > 1 {
		return nil, fmt.Errorf("old is in %s at %s: give more of the lines around the one that is meant, or pass all",
			show(c.name), lineNumbers(t.text, places))
	}
	var out []byte
	done, from := 0, 0 // in the file, in the text
	for range n {
		from += strings.Index(t.text[from:], old)
		out = append(append(out, c.old[done:t.fileOffset(from)]...), replacement...)
		from += len(old)
		done = t.fileOffset(from)
	}
	return append(out, c.old[done:]...), nil
}

// occurrences returns the first places of part in s, which may overlap.
func occurrences(s, part string) (at []int) {
	for from := 0; len(at) <= maxPlaces; from++ {
		i := strings.Index(s[from:], part)
		if i < 0 {
			break
		}
		from += i
		at = append(at, from)
	}
	return at
}

// lineNumbers lists the line numbers of places.
func lineNumbers(s string, places []int) string {
	var list []string
	for _, at := range places[:min(len(places), maxPlaces)] {
		list = append(list, strconv.Itoa(1+strings.Count(s[:at], "\n")))
	}
	last := len(list) - 1
	if len(places) > maxPlaces {
		return "lines " + strings.Join(list, ", ") + " and more"
	}
	return "lines " + strings.Join(list[:last], ", ") + " and " + list[last]
}
