package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/filelock"
)

// ErrInUse is returned if another session has the transcript open, in this process or another one.
var ErrInUse = errors.New("the conversation is open in another session")

// transcriptVersion increases when older readers would misread the format.
const transcriptVersion = 1

// headerStart begins every transcript. A file that begins otherwise is not a transcript and is left unchanged.
const headerStart = `{"transcript":`

// Header is the first line of a transcript.
type Header struct {
	// At is the time at which the transcript was created. For a new transcript, the zero Time means now.
	At time.Time `json:"at"`
	// Dir is the session's working directory, and Model the session's first model.
	Dir   string `json:"dir,omitempty"`
	Model string `json:"model,omitempty"`
}

type headerLine struct {
	Version int `json:"transcript"`
	Header
}

// Transcript is a [Journal] in a file of JSON Lines. All methods are safe for concurrent use.
type Transcript struct {
	header  Header
	entries []Entry

	mu     sync.Mutex
	file   *os.File
	size   int64
	broken error // set when it is unknown which part of the last line is on the disk
}

var _ Journal = (*Transcript)(nil)

// OpenTranscript opens the transcript at path for one session. If there is none, it creates the file and its directory
// with access only for the owner, and writes h as the header. Until Close, other sessions get [ErrInUse].
//
// An incomplete last line is removed: no Append has returned for it. Damage in any other line is an error that contains
// the line number.
func OpenTranscript(ctx context.Context, path string, h Header) (*Transcript, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	t := &Transcript{file: file}
	if err := t.load(h); err != nil {
		file.Close()
		return nil, fmt.Errorf("transcript %s: %w", path, err)
	}
	return t, nil
}

// load locks the file, reads it, and removes an incomplete last line.
func (t *Transcript) load(h Header) error {
	info, err := t.file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	}
	if err := filelock.Try(t.file); errors.Is(err, filelock.ErrHeld) {
		return ErrInUse
	} else if err != nil {
		return err
	}
	all, err := io.ReadAll(t.file)
	if err != nil {
		return err
	}
	t.header, t.entries, t.size, err = parseTranscript(all)
	if err != nil {
		return err
	}
	if t.size < int64(len(all)) {
		if err := t.file.Truncate(t.size); err != nil {
			return err
		}
	}
	if t.size > 0 {
		return nil
	}
	return t.writeHeader(h)
}

// writeHeader writes the header of a new transcript.
func (t *Transcript) writeHeader(h Header) error {
	if h.At.IsZero() {
		h.At = time.Now()
	}
	t.header = h
	if err := t.write(headerLine{transcriptVersion, h}); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(t.file.Name())); err == nil {
		_ = dir.Sync() // not every system supports this
		dir.Close()
	}
	return nil
}

// ReadTranscript reads a transcript without opening it, for example to list it. It ignores an incomplete last line. For
// a file without a complete line it returns io.ErrUnexpectedEOF.
func ReadTranscript(r io.Reader) (Header, []Entry, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return Header{}, nil, fmt.Errorf("transcript: %w", err)
	}
	h, entries, size, err := parseTranscript(all)
	if err == nil && size == 0 {
		err = fmt.Errorf("it has no header: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return h, entries, fmt.Errorf("transcript: %w", err)
	}
	return h, entries, nil
}

// parseTranscript reads all complete lines and returns their size. With an error, it returns the entries before the
// damage.
func parseTranscript(all []byte) (h Header, entries []Entry, size int64, err error) {
	if start := []byte(headerStart); !bytes.HasPrefix(all, start[:min(len(start), len(all))]) {
		return h, nil, 0, errors.New("it is no transcript of indus")
	}
	for number := 1; ; number++ {
		line, _, whole := bytes.Cut(all[size:], []byte("\n"))
		if !whole {
			return h, entries, size, nil
		}
		if number == 1 {
			h, err = readHeader(line)
		} else {
			var e Entry
			err = json.Unmarshal(line, &e)
			entries = append(entries, e)
		}
		if err != nil {
			return h, entries[:max(0, number-2)], size, fmt.Errorf("line %d is damaged: %w", number, err)
		}
		size += int64(len(line)) + 1
	}
}

func readHeader(line []byte) (Header, error) {
	var h headerLine
	if err := json.Unmarshal(line, &h); err != nil {
		return Header{}, err
	}
	if h.Version != transcriptVersion {
		return Header{}, fmt.Errorf("it has version %d, and this program knows version %d", h.Version, transcriptVersion)
	}
	return h.Header, nil
}

// Header returns the header of the transcript.
func (t *Transcript) Header() Header { return t.header }

// Entries returns the entries from when the transcript was opened, for Options.History. They are shared: do not change
// them.
func (t *Transcript) Entries() []Entry { return t.entries }

// Append implements [Journal] with one write and one sync. If the write is incomplete, Append removes it.
func (t *Transcript) Append(ctx context.Context, e Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(e)
}

func (t *Transcript) write(v any) error {
	if t.broken != nil {
		return t.broken
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := t.file.WriteAt(append(line, '\n'), t.size)
	if err == nil {
		err = t.file.Sync()
		if err == nil {
			t.size += int64(n)
			return nil
		}
		t.broken = err // a second sync would succeed even if the data is not on the disk
	}
	if undo := t.file.Truncate(t.size); undo != nil {
		t.broken = err
	}
	return err
}

// Close closes the transcript, so that another session can open it. It may be called twice.
func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(t.broken, os.ErrClosed) {
		return nil
	}
	t.broken = fmt.Errorf("the transcript is closed: %w", os.ErrClosed)
	return t.file.Close()
}
