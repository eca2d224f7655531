package llm

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// maxEvent limits one event, in bytes. Some servers send a whole call in one event.
	maxEvent = 16 << 20
	// maxStream limits a whole answer, in bytes. Its events repeat some 400 bytes for each few characters.
	maxStream = 128 << 20
)

// Progress is the state of a message that is being received.
type Progress int

const (
	// More means that the message is incomplete.
	More Progress = iota
	// Whole means that the message is complete. Later events only add facts about it.
	Whole
	// Last means that the stream has ended.
	Last
)

// stream reads the events of an answer until the last one. If the answer ends before the message is complete, stream
// returns io.ErrUnexpectedEOF. If it breaks off after the message, stream returns nil.
func stream(answer io.Reader, handle func(data []byte) (Progress, error)) error {
	body := &io.LimitedReader{R: answer, N: maxStream}
	events := wire.NewEvents(body, maxEvent)
	events.AtOnce = true
	for progress := More; progress < Last; {
		e, err := events.Next()
		switch {
		case body.N <= 0:
			return Malformed("the answer has more than %d MiB", maxStream>>20)
		case errors.As(err, new(*wire.TooLong)):
			return Malformed("an event of the answer has more than %d MiB", maxEvent>>20)
		case err != nil && progress == Whole:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(e.Data) == 0:
			continue
		}
		progress, err = handle(e.Data)
		if err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the JSON object of an event. It skips fields of an unexpected type, because compatible servers differ in
// fields that are rarely needed.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); err == nil || ok && other.Field != "" {
		return nil
	}
	return Malformed("an event of the answer is no JSON object: %s", text.Clip(string(data), 200))
}

// Present reports whether a field exists and is not null.
func Present(member json.RawMessage) bool { return len(member) > 0 && string(member) != "null" }
