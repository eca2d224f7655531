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
	maxTapFile    = 64 << 20 // bytes of the file; then it is FILE.1, and a new one begins
	maxTapMessage = 1 << 20  // bytes of a message; of a larger one only the size is written
	maxTapQueue   = 1024     // messages that wait to be written, of at most
	maxTapWaiting = 32 << 20 // bytes
)

// tap writes what goes over the gateway into a file, a JSON document a line. It never waits for the
// disk: what finds no room in the queue is counted, and left out.
type tap struct {
	path    string
	s       show.Streams
	queue   chan tapLine
	waiting atomic.Int64 // bytes in the queue
	dropped atomic.Int64
	written sync.WaitGroup

	mu   sync.Mutex
	over bool

	file *os.File // of the writer alone, as what follows
	size int64
	most int64 // of size; then a new file begins
}

type tapLine struct {
	at      time.Time
	leftOut int64 // bytes of the message, which is too large
	gateway.Tapped
}

// openTap begins a file, or goes on with it; nil where none is wanted.
func openTap(path string, s show.Streams) (*tap, error) {
	if path == "" {
		return nil, nil
	}
	t := &tap{path: path, s: s, queue: make(chan tapLine, maxTapQueue), most: maxTapFile}
	if err := t.open(); err != nil {
		return nil, command.Usagef("--tap %w", err)
	}
	s.Reportf("all that goes over the gateway is written to %s, with secrets masked", path)
	t.written.Go(t.write)
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
		err = file.Chmod(0o600) // it may be there, for others to read
	}
	if err != nil {
		file.Close()
		return err
	}
	t.file, t.size = file, info.Size()
	return nil
}

// show is gateway.Options.Tap.
func (t *tap) show(m gateway.Tapped) {
	if m.Answer {
		m.Message.Params = nil // they were written
	}
	line := tapLine{at: time.Now(), Tapped: m}
	size := int64(len(m.Message.Params) + len(m.Result))
	if size > maxTapMessage {
		line.leftOut, line.Message.Params, line.Result = size, nil, nil
		size = 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
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

// close writes what waits, and ends.
func (t *tap) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	close(t.queue)
	t.written.Wait()
}

// write is the one that writes.
func (t *tap) write() {
	var failed error
	for m := range t.queue {
		t.waiting.Add(-int64(len(m.Message.Params) + len(m.Result)))
		if failed != nil {
			continue
		}
		if failed = t.writeLine(m); failed != nil {
			t.s.Reportf("--tap: %v; nothing more is written there", failed)
		}
	}
	if failed == nil {
		if failed = errors.Join(t.writeDropped(time.Now()), t.file.Close()); failed != nil {
			t.s.Reportf("--tap: %v; the end of it is missing", failed)
		}
	}
}

// writeDropped says how many messages found no room since it said so last.
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
		return t.append(fmt.Appendf(nil, `{"time":%q,"dropped":1}`, m.at.Format(time.RFC3339Nano))) // it is no JSON
	}
	return t.append(t.s.Masked(bytes.TrimRight(line.Bytes(), "\n")))
}

func (t *tap) append(line []byte) error {
	if t.size > 0 && t.size+int64(len(line))+1 > t.most {
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

// tapJSON is a line of the file.
type tapJSON struct {
	Time    string         `json:"time"`
	Goes    string         `json:"goes"`
	Server  string         `json:"server,omitempty"`
	Session string         `json:"session,omitempty"`
	Method  string         `json:"method"`
	LeftOut int64          `json:"leftOut,omitempty"` // bytes of params or result
	Message tapMessageJSON `json:"message"`
}

// tapMessageJSON is a message of JSON-RPC, under an id of the tap's own.
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
		Time: m.at.Format(time.RFC3339Nano), Goes: from + "->" + to, Server: m.Server, Method: m.Message.Method, LeftOut: m.leftOut,
		Message: tapMessageJSON{Version: "2.0", ID: m.Exchange},
	}
	if m.Session != "" { // it is as good as a credential
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
