package wire

import (
	"bytes"
	"io"

	"github.com/indusagi/indus/internal/memory"
)

// Lines reads newline-delimited messages.
type Lines struct {
	feed      feed
	collected collector
	cr        bool // a fragment ended with a CR that may belong to the line end
}

// NewLines returns a reader of lines of up to max bytes. It reads ahead.
func NewLines(r io.Reader, max int) *Lines {
	return &Lines{feed: feed{src: r}, collected: collector{limit: max}}
}

// Within makes the messages take their bytes from a budget. Call it before the first Next.
func (l *Lines) Within(b *memory.Budget) *Lines {
	l.collected.meter.Budget = b
	return l
}

// Next returns the next line that is not empty, without its LF or CRLF. The caller owns the line. A
// longer line is discarded and returned as a [TooLong], and the next call continues after it. At
// the end of the stream an unterminated line is returned as a line, and then io.EOF. At any other
// error it is dropped. Such errors are final.
func (l *Lines) Next() ([]byte, error) {
	defer l.feed.shrink()
	for {
		p, end, err := l.feed.fragment()
		if err != nil && (err != io.EOF || l.collected.size == 0) {
			l.collected.drop()
			return nil, err
		}
		if end && l.collected.size == 0 && !l.cr {
			line := bytes.TrimSuffix(p, []byte("\r"))
			if len(line) == 0 {
				continue
			}
			if len(line) <= l.collected.limit {
				return append([]byte(nil), line...), nil
			}
		}
		l.add(p)
		if end || err != nil {
			l.cr = false
			if line, err := l.collected.take(); err != nil || len(line) > 0 {
				return line, err
			}
		}
	}
}

// add adds a fragment without a CR at its end. The CR waits for the next byte.
func (l *Lines) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if l.cr {
		l.collected.add([]byte("\r"))
	}
	p, l.cr = bytes.CutSuffix(p, []byte("\r"))
	l.collected.add(p)
}
