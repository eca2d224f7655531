package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// BadFrame reports bytes that are not a message: noise, or a broken message. Messages after it may
// be good.
type BadFrame struct {
	ID        json.RawMessage   // the apparent id; nil if unknown
	More      []json.RawMessage // further ids, of a batch of responses
	HasMethod bool              // it has a method, so it is not a response
	Err       error
}

var (
	errBatch = errors.New("wire: a batch, which MCP does not have")
	errMark  = errors.New("wire: a byte order mark before the message")
)

// ReadMessage is [Scan], but its error is a [*BadFrame] with the ids that it can find.
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
		bad.ID, bad.HasMethod = probe(b)
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

// ReadEnvelope returns the next message of a stream of lines. A [*BadFrame] concerns only one line.
// Any other error is the end of the stream.
func ReadEnvelope(lines *Lines) (Envelope, error) {
	line, err := lines.Next()
	if err != nil {
		var tooLong *TooLong
		if errors.As(err, &tooLong) {
			return Envelope{}, tooLong.Frame()
		}
		return Envelope{}, err
	}
	return ReadMessage(line)
}

// EncodeEnvelope encodes a message. Its parts are written as they are.
func EncodeEnvelope(e Envelope) []byte {
	// One extra byte for the end of a line.
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

// Line encodes a message as a line, in new bytes.
func Line(e Envelope) []byte {
	e.Params, e.Result, e.Error = OneLine(e.Params), OneLine(e.Result), OneLine(e.Error)
	return append(EncodeEnvelope(e), '\n')
}

// OneLine returns valid JSON on one line. It replaces line breaks, which are whitespace, because in
// strings they are escaped. If there are none, it returns p itself.
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
