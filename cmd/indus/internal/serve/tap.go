package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
)

const (
	maxTapFile    = 64 << 20 // bytes of the file; above this, it is renamed to FILE.1
	maxTapMessage = 1 << 20  // bytes of a message; of a larger message only the size is written
	maxTapQueue   = 1024     // messages in the queue
	maxTapWaiting = 32 << 20 // bytes in the queue
)

// tap writes the messages through the gateway to a file, one JSON document per line. It never waits for the disk:
// messages that do not fit into the queue are counted and left out.
type tap struct {
	path    string
	s       show.Streams
	queue   chan tapLine
	waiting atomic.Int64 // bytes in the queue
	dropped atomic.Int64
	writer  sync.WaitGroup

	mu     sync.Mutex
	closed bool

	file    *os.File // this and the next fields belong to the writing goroutine
	size    int64
	maxSize int64 // limit of size
}

type tapLine struct {
	at      time.Time
	leftOut int64 // bytes of a message that is too large
	gateway.Tapped
}

// openTap creates a file or appends to it. It returns nil if path is empty.
func openTap(path string, s show.Streams) (*tap, error) {
	if path == "" {
		return nil, nil
	}
	t := &tap{path: path, s: s, queue: make(chan tapLine, maxTapQueue), maxSize: maxTapFile}
	if err := t.open(); err != nil {
		return nil, command.Usagef("--tap: %w", err)
	}
	s.Reportf("all that goes over the gateway is written to %s, with secrets masked", path)
	t.writer.Go(t.write)
	return t, nil
}

func (t *tap) open() error {
	if info, err := os.Stat(t.path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its reader
		return fmt.Errorf("%s is no file", t.path)
	}
	file, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		err = file.Chmod(0o600) // an existing file may be readable by other users
	}
	if err != nil {
		file.Close()
		return err
	}
	t.file, t.size = file, info.Size()
	return nil
}

// record implements gateway.Options.Tap.
func (t *tap) record(m gateway.Tapped) {
	if m.Answer {
		m.Message.Params = nil // the request already contained them
	}
	line := tapLine{at: time.Now(), Tapped: m}
	size := int64(len(m.Message.Params) + len(m.Result))
	if size > maxTapMessage {
		line.leftOut, line.Message.Params, line.Result = size, nil, nil
		size = 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if t.waiting.Add(size) > maxTapWaiting {
		t.waiting.Add(-size)
		t.dropped.Add(1)
		return
	}
	select {
	case t.queue <- line:
	default:
		t.waiting.Add(-size)
		t.dropped.Add(1)
	}
}

// close writes the queued messages and closes the tap.
func (t *tap) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	close(t.queue)
	t.writer.Wait()
}

// write writes queued messages until the queue is closed.
func (t *tap) write() {
	var failed error
	for m := range t.queue {
		t.waiting.Add(-int64(len(m.Message.Params) + len(m.Result)))
		if failed != nil {
			continue
		}
		failed = t.writeLine(m)
		if failed != nil {
			t.s.Reportf("--tap: %v; nothing more is written there", failed)
		}
	}
	if failed == nil {
		failed = errors.Join(t.writeDropped(time.Now()), t.file.Close())
		if failed != nil {
			t.s.Reportf("--tap: %v; the end of it is missing", failed)
		}
	}
}

// writeDropped writes the number of messages dropped since the last such line.
func (t *tap) writeDropped(at time.Time) error {
	n := t.dropped.Swap(0)
	if n == 0 {
		return nil
	}
	return t.append(fmt.Appendf(nil, `{"time":%q,"dropped":%d}`, at.Format(time.RFC3339Nano), n))
}

func (t *tap) writeLine(m tapLine) error {
	if err := t.writeDropped(m.at); err != nil {
		return err
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(m.encoded()); err != nil {
		return t.append(fmt.Appendf(nil, `{"time":%q,"dropped":1}`, m.at.Format(time.RFC3339Nano))) // it is not valid JSON
	}
	return t.append(t.s.Masked(bytes.TrimRight(line.Bytes(), "\n")))
}

func (t *tap) append(line []byte) error {
	if t.size > 0 && t.size+int64(len(line))+1 > t.maxSize {
		t.file.Close()
		if err := os.Rename(t.path, t.path+".1"); err != nil {
			return err
		}
		if err := t.open(); err != nil {
			return err
		}
	}
	n, err := io.WriteString(t.file, string(line)+"\n")
	t.size += int64(n)
	return err
}

// tapJSON is one line of the file.
type tapJSON struct {
	Time    string         `json:"time"`
	Goes    string         `json:"goes"`
	Server  string         `json:"server,omitempty"`
	Session string         `json:"session,omitempty"`
	Method  string         `json:"method"`
	LeftOut int64          `json:"leftOut,omitempty"` // bytes of params or result
	Message tapMessageJSON `json:"message"`
}

// tapMessageJSON is a JSON-RPC message with an id assigned by the tap.
type tapMessageJSON struct {
	Version string          `json:"jsonrpc"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func (m *tapLine) encoded() tapJSON {
	from, to := "client", "indus"
	if !m.Client {
		from = "server"
	}
	if m.Sent {
		from, to = to, from
	}
	out := tapJSON{
		Time: m.at.Format(time.RFC3339Nano), Goes: from + "->" + to, Server: m.Server, Method: m.Message.Method,
		LeftOut: m.leftOut,
		Message: tapMessageJSON{Version: "2.0", ID: m.Exchange},
	}
	if m.Session != "" { // the session id works like a credential
		sum := sha256.Sum256([]byte(m.Session))
		out.Session = hex.EncodeToString(sum[:6])
	}
	err := m.Err
	switch {
	case !m.Answer:
		out.Message.Method, out.Message.Params = m.Message.Method, m.Message.Params
	case err == nil && m.Result == nil && m.leftOut == 0:
		err = errors.New("refused")
	default:
		out.Message.Result = m.Result
	}
	if err != nil {
		out.Message.Error = protocol.ErrorObject(err)
	}
	return out
}
