package conn

import (
	"bytes"
	"io"

	"github.com/indusagi/indus/internal/protocol"
)

// maxNoise is how much of a line is reported, in bytes.
const maxNoise = 200

// stdout is r; the lines that pass and are no JSON object are reported to Trace.Noise.
func (o *Options) stdout(r io.Reader) io.Reader {
	if o.Trace.Noise == nil {
		return r
	}
	return &noiseReader{r: r, opts: o}
}

type noiseReader struct {
	r    io.Reader
	opts *Options
	line []byte // the beginning of the line that is passing
}

func (n *noiseReader) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	for rest := p[:k]; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		n.line = append(n.line, part[:min(len(part), maxNoise-len(n.line))]...)
		if rest = after; ended {
			n.end()
		}
	}
	if err != nil {
		n.end()
	}
	return k, err
}

// end is the end of a line.
func (n *noiseReader) end() {
	line := bytes.TrimSpace(n.line)
	if len(line) > 0 && line[0] != '{' {
		n.opts.Trace.Noise(protocol.Printable(n.opts.Secrets.Mask(string(line)), maxNoise))
	}
	n.line = n.line[:0]
}
