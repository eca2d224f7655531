package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/internal/text"
)

const (
	maxFile   = 64 << 20 // bytes of the file: more than Options.Max items of the default take
	maxPast   = 1000
	pastBytes = 2 << 20
	pastAge   = 7 * 24 * time.Hour
)

// fileHead is the first line of the file. Each further line is an item.
const fileHead = `{"approvals":1}`

// record is an item in memory. Records of a content are not changed: a step replaces them.
type record struct {
	Item
	key  Digest // of the subject and the way
	line string // the item as the file has it; "" if it is not encoded yet
}

// content is the content of the file: items in the order in which they were asked.
type content []*record

// newFile returns the file at path.
func newFile(path string) *statefile.File[content] {
	var lines lineCache
	return &statefile.File[content]{
		Path: path,
		Load: func(path string) ([]byte, error) { return atomicfile.ReadPrivate(path, maxFile) },
		Decode: func(_ context.Context, text []byte) (content, error) {
			all, err := lines.decode(text)
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			return all, err
		},
		Encode: func(_ context.Context, all content) ([]byte, error) { return encode(all) },
	}
}

// lineCache holds the records of the last decoded text by their lines. A step changes few of up to 2,000 lines, and
// only these are decoded.
type lineCache struct {
	mu    sync.Mutex
	known map[string]*record
}

func (c *lineCache) decode(text []byte) (content, error) {
	if text == nil {
		return nil, nil
	}
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	if string(head) != fileHead {
		return nil, fmt.Errorf("it is no file of approvals that this program knows: its first line is not %s", fileHead)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all, known := content{}, map[string]*record{}
	for n := 2; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 {
			continue
		}
		r := c.known[string(line)]
		if r == nil {
			r = &record{line: string(line)}
			if err := json.Unmarshal(line, &r.Item); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			r.key = r.Subject.digest(r.Way)
		}
		known[r.line] = r
		all = append(all, r)
	}
	c.known = known
	return all, nil
}

func encode(all content) ([]byte, error) {
	size := len(fileHead) + 1 // of the file with its last line break
	for _, r := range all {
		if r.line == "" {
			line, err := text.JSON(r.Item)
			if err != nil {
				return nil, err
			}
			r.line = string(line)
		}
		size += len(r.line) + 1
	}
	out := append(make([]byte, 0, size), fileHead...)
	for _, r := range all {
		out = append(append(out, '\n'), r.line...)
	}
	return out, nil
}

// swept returns the items with expired ones marked, and without past items over the bounds.
func (c content) swept(now time.Time) content {
	var past, pastSize int
	kept := make(content, 0, len(c)+1)
	for _, r := range slices.Backward(c) { // from the newest
		if is := r.at(now); is.State != r.State {
			r = &record{Item: is, key: r.key}
		}
		if !r.isOpen() {
			past, pastSize = past+1, pastSize+len(r.Shown)+len(r.Changed)+len(r.Description)+overhead
			if past > maxPast || pastSize > pastBytes || now.Sub(r.Expires) > pastAge {
				continue
			}
		}
		kept = append(kept, r)
	}
	slices.Reverse(kept)
	return kept
}

// overhead is about the size of a line without its long texts.
const overhead = 600
