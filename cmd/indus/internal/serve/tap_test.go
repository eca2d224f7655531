package serve_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// TestATapIsBounded checks that only the owner can read the file, even if it existed before. A full file is replaced by
// a new one, and messages that are too large are left out.
func TestATapIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tap.jsonl")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tap, err := serve.OpenTap(path, 2000, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server := config.Server{
		ID: "s", Transport: config.Stdio{
			Command: "x", Env: []config.Pair{{Name: "KEY", Value: config.NewSecret("hunter2hunter2")}},
		},
	}
	tap.Hide(server)
	tap.Learn(config.NewSecret("Bearer a-sign-in-token"))
	ask := gateway.Tapped{
		Exchange: 1, Sent: true, Server: "s", Session: "the-session", Message: interop.Message{
			Method: "tools/call", Params: json.RawMessage(`{"name":"t","arguments":{"a":"hunter2hunter2","b":"<&>"}}`),
		},
	}
	answer := ask
	answer.Sent, answer.Answer, answer.Result = false, true, json.RawMessage(`{"n":9007199254740993}`)
	repeats := answer
	repeats.Client, repeats.Result = true,
		json.RawMessage(`{"b64":"`+base64.StdEncoding.EncodeToString([]byte("x a-sign-in-token"))+`","c":"Bearer opaque"}`)
	failed := answer
	failed.Result, failed.Err = nil, &interop.RPCError{Code: -32602, Message: "no"}
	huge := answer
	huge.Result = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range 20 {
		for _, m := range []gateway.Tapped{ask, answer, repeats, failed, huge} {
			tap.Show(m)
		}
	}
	tap.Close()
	tap.Show(ask) // no writer is left, and Show returns
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" || info.Size() > 2000 || info.Size() == 0 {
			t.Errorf("%s: %v, %d bytes", name, mode, info.Size())
		}
	}
	text, err := os.ReadFile(path + ".1") // this file is full; the size of the other depends on the digits of times
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"goes":"indus->server","server":"s","session":"`, `"params":{"name":"t","arguments":{"a":"<secret: 14 characters>","b":"<&>"}}}`,
		`<secret: 22 characters>","c":"Bearer <secret: 6 characters>"}}}`, `"goes":"server->indus"`, `"id":1,"result":{"n":9007199254740993}}`,
		`"error":{"code":-32602,"message":"no"}`,
		`"method":"tools/call","leftOut":1048578,"message":{"jsonrpc":"2.0","id":1}}`,
	} {
		if last := len(text) - 1; !bytes.Contains(text, []byte(want)) || text[last] != '\n' {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if bytes.Contains(text, []byte("hunter2")) || bytes.Contains(text, []byte("the-session")) {
		t.Errorf("it shows a secret: %s", text)
	}
}

// TestATapWaitsForNobody checks that a blocked disk costs lines but no time.
func TestATapWaitsForNobody(t *testing.T) {
	t.Parallel()
	for _, room := range []int{serve.MaxTapQueue, 0} {
		tap := serve.StuckTap(room)
		for range 3000 {
			tap.Show(gateway.Tapped{
				Client: true, Message: interop.Message{
					Method: "notifications/message", Params: json.RawMessage(`{}`),
				}, Err: errors.New("x"),
			})
		}
		if kept, dropped := tap.Kept(); kept != room || dropped != 3000-room {
			t.Errorf("%d wait, and %d are left out", kept, dropped)
		}
		path := filepath.Join(t.TempDir(), "tap.jsonl")
		if err := tap.Unstick(path, io.Discard); err != nil {
			t.Fatal(err)
		}
		tap.Close()
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, fmt.Appendf(nil, `"dropped":%d}`, 3000-room)) ||
			bytes.Count(text, []byte("\n")) != room+1 {
			t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
		}
	}
}

// TestATapThatCannotBeWritten checks that the failure is reported once.
func TestATapThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	path := filepath.Join(t.TempDir(), "tap.jsonl")
	tap, err := serve.OpenTap(path, 1, &said)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		tap.Show(gateway.Tapped{
			Client: true, Message: interop.Message{Method: "notifications/message", Params: json.RawMessage(`{}`)},
		})
	}
	tap.Close()
	if got := said.String(); strings.Count(got, "nothing more is written there") != 1 {
		t.Error(got)
	}
}
