package interop

import (
	"bytes"
	"io"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
)

// Trace hears of the steps by which an endpoint connects over stdio, for who wants
// to know where one failed. (Of a server at a URL EndpointOptions.HTTPClient shows
// as much.) nil functions are not called; the others may be called from several
// goroutines at once and must not block.
type Trace struct {
	// Started is the server's process, once it runs: a second one where the first
	// failed after it was asked for its era. stderr is the end of what that process has
	// written there so far, at most 8 KiB, fit for a terminal; it may be called at any
	// time, also when the process is over.
	Started func(pid int, stderr func() string)
	// Answered is what came of server/discover or initialize, and how long it took. An
	// answer that nobody waits for any more is err too.
	Answered func(method string, took time.Duration, err error)
	// Noise is a line on stdout that is no JSON object, and so no message: its
	// beginning, fit for a terminal. [EndpointStatus.Noise] counts JSON objects that are
	// no messages too.
	Noise func(line string)
}

// started tells of a process.
func (t *Trace) started(pid int, stderr func() string) {
	if t != nil && t.Started != nil {
		t.Started(pid, stderr)
	}
}

// answered tells of an opening question that was put at a time.
func (t *Trace) answered(method string, at time.Time, err error) {
	if t != nil && t.Answered != nil {
		t.Answered(method, time.Since(at), err)
	}
}

// stdout is r, with an ear for noise.
func (t *Trace) stdout(r io.Reader, secrets *secret.Set) io.Reader {
	if t == nil || t.Noise == nil {
		return r
	}
	return &noiseReader{r: r, tell: t.Noise, secrets: secrets}
}

// maxNoise is how much of a line is told, in bytes.
const maxNoise = 200

// noiseReader tells of the lines that pass and are no JSON object.
type noiseReader struct {
	r       io.Reader
	tell    func(line string)
	secrets *secret.Set
	line    []byte // the beginning of the line that is passing
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
		n.tell(protocol.Printable(n.secrets.Mask(string(line)), maxNoise))
	}
	n.line = n.line[:0]
}
