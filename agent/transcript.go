package agent

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrInUse: another process, or another session of this one, has the transcript open.
var ErrInUse = errors.New("the conversation is open in another session")

// Header is what a transcript says of itself in its first line.
type Header struct {
	// At is when it was begun. The zero Time: now.
	At time.Time `json:"at"`
	// Dir is the directory that the session worked in, and Model the model that it began with.
	Dir   string `json:"dir,omitempty"`
	Model string `json:"model,omitempty"`
}

// Transcript is a [Journal] in a file of JSON Lines.
type Transcript struct{}

// OpenTranscript opens the transcript at path for one session, and makes it where there is none, with its directory, for
// nobody but its owner; h is the header of a new one. Until Close no other session can open it: they get [ErrInUse].
//
// A last line that was cut off is removed: no Append has returned for it. Damage anywhere else is an error that says in which
// line.
func OpenTranscript(ctx context.Context, path string, h Header) (*Transcript, error) {
	return nil, errors.ErrUnsupported
}

// ReadTranscript reads a transcript without opening it, to list it for example. A line that is being written is not there yet.
func ReadTranscript(r io.Reader) (Header, []Entry, error) {
	return Header{}, nil, errors.ErrUnsupported
}

// Header is the first line's.
func (t *Transcript) Header() Header { return Header{} }

// Entries are what it held when it was opened, for Options.History.
func (t *Transcript) Entries() []Entry { return nil }

// Append implements [Journal]: one write, and one sync of the disk.
func (t *Transcript) Append(ctx context.Context, e Entry) error { return errors.ErrUnsupported }

// Close lets others open it. It may be called twice.
func (t *Transcript) Close() error { return nil }
