package command

import (
	"context"
	"io"
	"os"
)

// maxInput bounds what is read from a file or stdin.
const maxInput = 64 << 20

// FileReader reads files, and stdin as "-", in at most maxArguments. A read that
// hangs, as on a terminal, is left behind when ctx ends.
func FileReader(ctx context.Context, in io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		type answer struct {
			b   []byte
			err error
		}
		got := make(chan answer, 1)
		go func() {
			b, err := readFile(name, in)
			got <- answer{b, err}
		}()
		select {
		case a := <-got:
			return a.b, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func readFile(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, AsUsage(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, AsUsage(err)
	}
	if len(b) > maxInput {
		return nil, Usagef("%s holds more than %d MiB", name, maxInput>>20)
	}
	return b, nil
}
