package standard

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// Write returns the tool "write", which creates a text file or replaces its whole content.
//
// It makes missing directories. An existing file must have been read in the same [toolbox.Context], and must not have
// changed since. The file keeps its permissions and its byte order mark, and CRLF if all its lines end in it. The
// result is a unified diff, or the length of a new file. Write writes at most 8 MiB. It refuses the files of version
// control (.git), where a file may be a command that is run.
func Write() toolbox.Tool {
	t := define("write",
		"Create a text file, or replace all of one; directories above it are made. "+
			"A file that exists must have been read before, and must not have changed since. "+
			"Returns a unified diff. Use edit to change parts of a file.",
		runWrite)
	t.Annotations = &toolbox.Annotations{Idempotent: true, OpenWorld: new(bool)}
	return t
}

type writeInput struct {
	Path    string `json:"path" jsonschema:"minLength=1" jsonschema_description:"The file, relative to the working directory or absolute inside it."`
	Content string `json:"content" jsonschema_description:"All that the file is to hold."`
}

func runWrite(ctx context.Context, tc *toolbox.Context, in writeInput) (*toolbox.Result, error) {
	defer tc.Change()()
	c, data, err := in.prepare(ctx, tc)
	switch {
	case err != nil:
		return nil, err
	case !c.isNew && bytes.Equal(data, c.old):
		return textResult("%s is as it was: it held just that", show(c.name)), nil
	}
	if err := c.commit(ctx, data); err != nil {
		return nil, err
	}
	if c.isNew {
		return textResult("%s is new: %s, %s", show(c.name),
			pluralize(countLines(in.Content), "line", "lines"), pluralize(len(in.Content), "byte", "bytes")), nil
	}
	return c.result(data), nil
}

// prepare opens the file to be written and returns its new content, or the error with which the call is refused.
func (in writeInput) prepare(ctx context.Context, tc *toolbox.Context) (c *change, data []byte, err error) {
	c, err = openChange(ctx, tc, in.Path)
	switch {
	case err != nil:
		return nil, nil, err
	case strings.Contains(in.Content, "\x00"):
		return nil, nil, errors.New("the content has a NUL character: only text can be written")
	case c.isNew:
		return c, []byte(in.Content), nil
	}
	return c, newPlainText(c.old).encode(in.Content), nil
}
