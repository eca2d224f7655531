package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/wire"
)

func TestReadAll(t *testing.T) {
	broken := errors.New("broken")
	long, full := strings.Repeat("x", 300<<10), memory.Meter{Budget: memory.New(100 << 10)}
	for name, tt := range map[string]struct {
		text    string
		size    int64
		limit   int
		meter   memory.Meter
		failing error // error after the text
		err     error
		over    int64 // TooLong.Size
	}{
		"small":                    {text: "abc", size: 3, limit: 10},
		"of unknown size":          {text: "abc", size: -1, limit: 10},
		"nothing":                  {limit: 10},
		"large":                    {text: long, size: int64(len(long)), limit: 1 << 20},
		"large, of unknown size":   {text: long, size: -1, limit: 1 << 20},
		"cut off":                  {text: "abc", size: 4, limit: 10, err: io.ErrUnexpectedEOF},
		"broken":                   {text: "abc", size: -1, limit: 10, failing: broken, err: broken},
		"large and broken":         {text: long, size: int64(len(long)) + 1, limit: 1 << 20, failing: broken, err: broken},
		"too long by its size":     {text: "abc", size: 11, limit: 10, over: 11},
		"too long":                 {text: "abcdefghijk", size: -1, limit: 10, over: 11},
		"without room":             {text: long, size: int64(len(long)), limit: 1 << 20, meter: full, over: int64(len(long))},
		"without room, as it goes": {text: long, size: -1, limit: 1 << 20, meter: full, over: 128 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := io.Reader(strings.NewReader(tt.text))
			if tt.failing != nil {
				r = io.MultiReader(r, iotest.ErrReader(tt.failing))
			}
			got, err := wire.ReadAll(r, tt.size, tt.limit, tt.meter)
			if tooLong, ok := errors.AsType[*wire.TooLong](err); ok || tt.over > 0 {
				if !ok || tooLong.Size != tt.over || tooLong.Limit != tt.limit ||
					!strings.HasPrefix(tt.text, string(tooLong.Prefix)) {
					t.Errorf("%d bytes, %v; want one of %d bytes that is too long", len(got), err, tt.over)
				}
			} else if string(got) != tt.text || !errors.Is(err, tt.err) {
				t.Errorf("%d bytes, %v; want %d and %v", len(got), err, len(tt.text), tt.err)
			}
		})
	}
}
