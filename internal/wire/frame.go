package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// BadFrame is what came where a message should have: noise, or a broken
// message. What comes after it may be good.
type BadFrame struct {
	ID   json.RawMessage   // the id that it seems to have; nil where none can be told
	More []json.RawMessage // the further ones, of a batch of responses
	Asks bool              // it has a method, and so answers nothing
	Err  error
}

var (
	errBatch = errors.New("wire: a batch, which MCP does not have")
	errMark  = errors.New("wire: a byte order mark before the message")
)

// ReadMessage is [Scan], whose error it makes a [*BadFrame] with all that can be told of
// whom it concerns.
func ReadMessage(b []byte) (Envelope, error) {
	env, err := Scan(b)
	if err == nil {
		return env, nil
	}
	bad := &BadFrame{Err: err}
	if rest, marked := bytes.CutPrefix(b, []byte("\ufeff")); marked {
		b, bad.Err = rest, errMark
	}
	parts, noBatch := Elements(b)
	if noBatch != nil || !Valid(b) {
		bad.ID, bad.Asks = probe(b)
		return Envelope{}, bad
	}
	bad.Err = errBatch
	for _, part := range parts {
		if env, err := Scan(part); err == nil && env.Kind() == Response {
			bad.More = append(bad.More, env.ID)
		}
	}
	if len(bad.More) > 0 {
		bad.ID, bad.More = bad.More[0], bad.More[1:]
	}
	return Envelope{}, bad
}

func (b *BadFrame) Error() string { return b.Err.Error() }
func (b *BadFrame) Unwrap() error { return b.Err }

// ReadEnvelope takes the next message of a stream of lines. A [*BadFrame]
// concerns one line alone, any other error is the stream's end.
func ReadEnvelope(lines *Lines) (Envelope, error) {
	line, err := lines.Next()
	if err != nil {
		var long *TooLong
		if errors.As(err, &long) {
			return Envelope{}, long.Frame()
		}
		return Envelope{}, err
	}
	return ReadMessage(line)
}

// EncodeEnvelope encodes a message. Its parts go in as they are.
func EncodeEnvelope(e Envelope) []byte {
	// One byte more than the parts need, for the end of a line.
	size := 65 + len(e.ID) + len(e.Method) + len(e.Params) + len(e.Result) + len(e.Error)
	b := append(make([]byte, 0, size), `{"jsonrpc":"2.0"`...)
	for _, part := range [...]struct {
		key   string
		value []byte
	}{
		{`,"id":`, e.ID}, {`,"method":`, e.Method}, {`,"params":`, e.Params},
		{`,"result":`, e.Result}, {`,"error":`, e.Error},
	} {
		if part.value != nil {
			b = append(append(b, part.key...), part.value...)
		}
	}
	return append(b, '}')
}

// Line encodes a message on a line of its own, in new bytes.
func Line(e Envelope) []byte {
	e.Params, e.Result, e.Error = OneLine(e.Params), OneLine(e.Result), OneLine(e.Error)
	return append(EncodeEnvelope(e), '\n')
}

// OneLine is valid JSON on one line: a line break within it is whitespace, for
// in strings they are escaped. Without one it is p itself.
func OneLine(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return p
	}
	line := bytes.Clone(p)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
