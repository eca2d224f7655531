package llm

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

const (
	// maxEvent bounds one event: some servers send a whole call in one.
	maxEvent = 16 << 20
	// maxStream bounds a whole answer. Its events repeat some 400 bytes for each few characters.
	maxStream = 128 << 20
)

// Progress is how far a message has come.
type Progress int

const (
	// More: more of the message is to come.
	More Progress = iota
	// Whole: the message is complete. Events that follow add facts about it.
	Whole
	// Last: nothing follows.
	Last
)

// stream reads the events of an answer until the last one. It returns io.ErrUnexpectedEOF if the answer ends before the
// message is whole. An answer that breaks off behind the message is no error.
func stream(answer io.Reader, each func(data []byte) (Progress, error)) error {
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
		if progress, err = each(e.Data); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the JSON object of an event. It leaves a member out that has another type than its field: compatible servers
// differ in the members that a client hardly needs.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); err == nil || ok && other.Field != "" {
		return nil
	}
	return Malformed("an event of the answer is no JSON object: %s", text.Clip(string(data), 200))
}

// Present reports whether a member exists and is not null.
func Present(member json.RawMessage) bool { return len(member) > 0 && string(member) != "null" }
