package standard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/toolbox"
)

const (
	// readLines is the default number of lines that read shows.
	readLines = 2000
	// readWidth is the number of bytes of one line that it shows.
	readWidth = 2000
	// readAhead is the number of bytes after the last shown line in which it counts the remaining
	// lines.
	readAhead = 64 << 20
)

// Read returns the tool "read", which shows a text file, or some of its lines, each with its number.
//
// It shows 2,000 lines by default, and 2,000 bytes of each line, within the context's budget. A note
// reports the missing lines and the offset at which to continue. A file that is not text (with a NUL
// byte near its beginning) is only described. Invalid UTF-8 becomes U+FFFD. A file is marked as read
// even if only some lines were shown (see [toolbox.Context.WasRead]), unless the rest is too long to be
// examined.
func Read() toolbox.Tool {
	return define("read",
		"Read a text file. Each line comes with its number and a tab, which are not part of the file. "+
			"Without a limit it shows 2000 lines; for a long file pass offset and limit. "+
			"Lines over 2000 bytes are cut, and it says by how much. A binary file is only described. "+
			"Use ls for directories.",
		runRead)
}

type readInput struct {
	Path   string `json:"path" jsonschema:"minLength=1" jsonschema_description:"The file, relative to the working directory or absolute inside it."`
	Offset *int   `json:"offset,omitempty" jsonschema:"minimum=1,maximum=2147483647" jsonschema_description:"The first line to show; the file's first line is 1."`
	Limit  *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=2147483647" jsonschema_description:"How many lines to show, 2000 by default."`
}

func runRead(ctx context.Context, tc *toolbox.Context, in readInput) (*toolbox.Result, error) {
	file, err := openPath(tc, in.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: use ls to see what is in it", show(file.name))
	}
	all := sha256.New()
	r := &readRun{page: newPage(tc), offset: valueOr(in.Offset, 1), limit: valueOr(in.Limit, readLines)}
	r.lines = &lines{bufio.NewReaderSize(ctxReader{ctx, io.TeeReader(file, all)}, 64<<10)}
	head, err := r.lines.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(tc, file.name, err)
	}
	if isBinary(head) {
		return textResult("%s is not text: %s, %d bytes. Its content is not shown.",
			show(file.name), http.DetectContentType(head), file.info.Size()), nil
	}
	if bytes.HasPrefix(head, []byte("\uFEFF")) {
		_, _ = r.lines.Discard(len("\uFEFF"))
	}
	if err := r.show(); err != nil {
		return nil, fmt.Errorf("%s: %w", show(file.name), err)
	}
	if r.whole { // a later change in an unread part could not be detected
		tc.MarkRead(file.name, [sha256.Size]byte(all.Sum(nil)))
	}
	return r.page.result(), nil
}

// readRun is one run of the tool.
type readRun struct {
	offset, limit int
	lines         *lines
	page          *page

	last          int  // the last line on the page
	whole         bool // the whole file was read
	crlf, notUTF8 bool
}

// show puts the requested lines on the page, and adds notes about the others.
func (r *readRun) show() error {
	skipped, err := r.lines.skip(r.offset-1, math.MaxInt64)
	if err == nil && r.offset > 1 {
		_, err = r.lines.Peek(1)
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("offset %d is past the end: there are %d lines", r.offset, skipped)
	}
	for r.last = skipped; err == nil && r.last-skipped < r.limit; r.last++ {
		var line []byte
		var cut int
		line, cut, err = r.lines.next(min(readWidth, r.page.room/2))
		if err != nil || !r.page.add(r.text(line, cut)) {
			break
		}
	}
	total, more := r.last, false
	if err == nil {
		total, more, err = r.rest()
	}
	if r.whole = errors.Is(err, io.EOF); err != nil && !r.whole {
		return err
	}
	r.notes(total, more)
	return nil
}

// rest counts the lines of the file. more reports whether there are further lines.
func (r *readRun) rest() (total int, more bool, err error) {
	total = r.last
	if r.page.full {
		total++ // the line that did not fit
	}
	n, err := r.lines.skip(math.MaxInt, readAhead)
	return total + n, err == nil, err
}

// text returns one line in the form in which it is shown.
func (r *readRun) text(line []byte, cut int) string {
	if cut == 0 && bytes.HasSuffix(line, []byte("\r")) {
		line, r.crlf = line[:len(line)-1], true
	}
	text := string(line)
	if !utf8.Valid(line) {
		text, r.notUTF8 = strings.ToValidUTF8(text, "\uFFFD"), true
	}
	text = strconv.Itoa(r.last+1) + "\t" + text
	if cut > 0 {
		text += fmt.Sprintf(" …%d bytes…", cut)
	}
	return text
}

func (r *readRun) notes(total int, more bool) {
	switch {
	case total == 0:
		r.page.note("the file is empty")
	case more:
		r.page.note("lines %d to %d of more than %d; go on with offset %d", r.offset, r.last, total, r.last+1)
	case r.last < total:
		r.page.note("lines %d to %d of %d; go on with offset %d", r.offset, r.last, total, r.last+1)
	case r.offset > 1:
		r.page.note("lines %d to %d of %d", r.offset, r.last, total)
	}
	if r.crlf {
		r.page.note("lines end in CRLF")
	}
	if r.notUTF8 {
		r.page.note("not all of it is UTF-8; other bytes are shown as U+FFFD")
	}
}
