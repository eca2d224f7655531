package show

import (
	"fmt"
	"io"
)

// Streams is where a command reads and writes, and what its run comes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	*state
}

// state is what all parts of one run share.
type state struct {
	Log       logFlag
	WroteJSON bool  // JSON, on stdout
	Failed    error // in a help text, for which cobra has no error
}

// New is the streams of one run.
func New(in io.Reader, out, err io.Writer) Streams { return Streams{in, out, err, &state{}} }

// Reportf writes a line for the person.
func (s Streams) Reportf(format string, args ...any) {
	fmt.Fprintf(s.Err, "indus: "+format+"\n", args...)
}
