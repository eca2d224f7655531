package command

import (
	"context"
	"io"

	"github.com/indusagi/indus/internal/atomicfile"
)

// maxInput bounds what is read from a file or stdin.
const maxInput = 64 << 20

// FileReader reads files, and stdin as "-", in at most maxInput. A read that
// hangs, as on a terminal, is left behind when ctx ends.
func FileReader(ctx context.Context, in io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, err := atomicfile.ReadNamed(ctx, name, in, maxInput)
		if ctx.Err() == nil {
			err = AsUsage(err)
		}
		return text, err
	}
}
