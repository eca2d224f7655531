package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/sdkwire"
	"github.com/indusagi/indus/internal/wire"
)

// smallFrame is up to which size a frame is gathered for a single write: a
// pipe takes so much at once.
const smallFrame = 64 << 10

// lineWire is a client on a pair of byte streams, with a message on each line.
type lineWire struct {
	lines *wire.Lines
	r     io.Reader
	w     io.Writer
	buf   []byte

	once     sync.Once
	unblocks bool
}

func newLineWire(r io.Reader, w io.Writer, o *Options) *lineWire {
	return &lineWire{lines: wire.NewLines(r, int(o.MaxMessage)).Within(o.Memory), r: r, w: w}
}

func (l *lineWire) read() (wire.Envelope, error) {
	line, err := l.lines.Next()
	if err != nil {
		var long *wire.TooLong
		if errors.As(err, &long) {
			id, _ := long.ID()
			return wire.Envelope{}, &wire.BadFrame{ID: id, Err: err}
		}
		return wire.Envelope{}, err
	}
	env, bad := readMessage(line)
	if bad != nil {
		return wire.Envelope{}, bad
	}
	return env, nil
}

func (l *lineWire) answer(id json.RawMessage, a frontAnswer) error {
	return l.write(answerFrame(id, a))
}

func (l *lineWire) note(method string, params [][]byte) error {
	return l.write(noteFrame(method, params))
}

// write sends a frame as one line: a small one in one write, of a large one
// nothing is copied.
func (l *lineWire) write(frame [][]byte) error {
	size := 1
	for i, p := range frame {
		frame[i] = wire.OneLine(p)
		size += len(p)
	}
	if size <= smallFrame {
		l.buf = l.buf[:0]
		for _, p := range frame {
			l.buf = append(l.buf, p...)
		}
		_, err := l.w.Write(append(l.buf, '\n'))
		return err
	}
	for _, p := range frame {
		if _, err := l.w.Write(p); err != nil {
			return err
		}
	}
	_, err := l.w.Write([]byte("\n"))
	return err
}

func (l *lineWire) close() bool {
	l.once.Do(func() {
		if c, ok := l.w.(io.Closer); ok {
			_ = c.Close()
		}
		c, ok := l.r.(io.Closer)
		if f, file := l.r.(*os.File); file { // closing does not end a read of a terminal
			ok = f.SetReadDeadline(time.Now()) == nil
		}
		if c != nil {
			_ = c.Close()
		}
		l.unblocks = ok
	})
	return l.unblocks
}

// sdkWire is a client on a connection of the SDK's.
type sdkWire struct{ c sdkwire.Conn }

func (s sdkWire) read() (wire.Envelope, error) {
	env, err := s.c.Read()
	if bad := wire.CheckUTF8(env.Params); err == nil && bad != nil {
		return wire.Envelope{}, &wire.BadFrame{Err: bad}
	}
	return env, err
}

func (s sdkWire) answer(id json.RawMessage, a frontAnswer) error {
	e := wire.Envelope{ID: id}
	if a.err != nil {
		e.Error = errorJSON(a.err)
	} else {
		e.Result = join(a.result)
	}
	if id == nil { // which the SDK cannot send
		return nil
	}
	return s.c.Write(context.Background(), e)
}

func (s sdkWire) note(method string, params [][]byte) error {
	return s.c.Write(context.Background(), wire.Envelope{Method: wire.Quote(method), Params: join(params)})
}

func (s sdkWire) close() bool {
	s.c.Close()
	return true
}

// join is pieces as one, nil where there are none.
func join(pieces [][]byte) json.RawMessage {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return bytes.Join(pieces, nil)
}

// endOfStream reports whether a read's error says no more than that the other
// side, or this one, has closed.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, fs.ErrClosed) || errors.Is(err, context.Canceled)
}
