//go:build unix

package conn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// dialAnswering returns a connection to a server that answers each further request with these bytes.
func dialAnswering(t *testing.T, bytes string) Conn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(file, []byte(bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	const server = `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
		while read call; do cat "$1"; done`
	c, _, err := DialStdio(t.Context(), Command{Command: proc.Command{
		Path: "sh", Args: []string{"-c", server, "sh", file}, Env: proc.Environ(os.Environ(), nil, false),
	}}, Options{wakeAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestWhatArrivesAndAnswersNothingIsNamed checks that the error of the deadline quotes and describes the bytes.
func TestWhatArrivesAndAnswersNothingIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		bytes string
		lines int
		text  string
	}{
		"another id":    {`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n", 1, `a reply to no request, "{\"jsonrpc\":\"2.0\",\"id\":77,`},
		"id as text":    {`{"jsonrpc":"2.0","id":"req-2","result":{}}` + "\n", 1, `a reply to no request, "{\"jsonrpc\":\"2.0\",\"id\":\"req-2\"`},
		"no version":    {`{"id":null,"level":"info"}` + "\n", 1, `"{\"id\":null,\"level\":\"info\"}"`},
		"several lines": {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 2,\n  \"result\": {}\n}\n", 5, `a part of JSON on several lines, "{" and 4 more`},
		"LSP":           {"Content-Length: 36\r\n\r\n" + `{"jsonrpc":"2.0","id":9,"result":{}}` + "\n", 2, `the header of another framing (LSP), "Content-Length: 36"`},
		"UTF-16":        {"\xff\xfe{\x00}\x00\n\x00", 1, `text in UTF-16, "\xff\xfe{\x00}\x00"`},
		"colours":       {"\x1b[32m{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\x1b[0m\n", 1, `colours of a terminal, "\x1b[32m{`},
		"no end":        {`{"jsonrpc":"2.0","id":2,"result":{}}`, 0, `a line that does not end, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"`},
		"another end":   {`{"jsonrpc":"2.0","id":2,"result":{}}` + "\r", 0, `a line that does not end, "{\"jsonrpc\"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialAnswering(t, tt.bytes).(*session)
			late := &DeadlineError{After: 300 * time.Millisecond, What: "no answer"}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			arrived := func() bool {
				return c.unmatched.total() == tt.lines && (tt.lines > 0 ||
					c.carrier.(*stream).framer.(*stdio).partial.describe(c) != "")
			}
			go func() { // the deadline passes once all bytes have arrived
				for ctx.Err() == nil && !arrived() {
					runtime.Gosched()
				}
				cancel(late)
			}()
			_, err := c.Call(ctx, toolCall(protocol.Modern, "x", `{}`, 0))
			if err == nil || !strings.Contains(err.Error(), "no answer within 300ms; what arrived answers no request: "+tt.text) {
				t.Errorf("%v\nwant %s", err, tt.text)
			}
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, new(*DeadlineError)) {
				t.Errorf("%v is no deadline", err)
			}
		})
	}
}

// TestAnErrorWithoutAnIdAnswersTheOnlyRequest also accepts an id as a string, or as 2.0.
func TestAnErrorWithoutAnIdAnswersTheOnlyRequest(t *testing.T) {
	for _, id := range []string{`"id":null,`, ``} {
		c := dialAnswering(t, `{"jsonrpc":"2.0",`+id+`"error":{"code":-32700,"message":"cannot read that"}}`+"\n")
		_, err := c.Call(t.Context(), toolCall(protocol.Modern, "x", `{}`, 0))
		var rpc *protocol.RPCError
		if !errors.As(err, &rpc) || rpc.Code != -32700 || rpc.Message != "cannot read that" {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{`"2"`, `2.0`} {
		c := dialAnswering(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"is":"here"}}`+"\n")
		if result, err := c.Call(t.Context(), toolCall(protocol.Modern, "x", `{}`, 0)); string(result) != `{"is":"here"}` {
			t.Error(id, string(result), err)
		}
	}
}

// TestAWriteToAServerThatHasExited checks that the error has the end of the process, however it is noticed. Package
// proc closes the pipe of a process that it has reaped.
func TestAWriteToAServerThatHasExited(t *testing.T) {
	o := Options{}.withDefaults()
	f, err := startStdio(t.Context(), Command{Command: proc.Command{Path: "true", Env: proc.Environ(os.Environ(), nil, false)}}, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	<-f.p.Done()
	err = f.write(t.Context(), wire.Envelope{Method: wire.Quote("x")})
	if !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "the server exited") {
		t.Error(err)
	}
}
