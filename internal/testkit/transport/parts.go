package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

const (
	noteProgress = "notifications/progress"
	noteChanged  = "notifications/tools/list_changed"
	// newsPatience limits the wait for the notification of one change. A subscription starts
	// concurrently with the first calls, and an earlier change is not reported. In that case the
	// test makes another change.
	newsPatience = 300 * time.Millisecond
)

func (b *bench) connect() {
	if got := b.client.Phase(); got != interop.Ready {
		b.Errorf("phase = %s", got)
	}
	st := b.client.Status()
	if st.Era != interop.Legacy && st.Era != interop.Modern || st.Version == "" || st.Fault != nil {
		b.Errorf("status = %+v", st)
	}
	if err := b.client.Open(b.ctx); err != nil {
		b.Errorf("open again: %v", err)
	}
}

// list checks that all tools come in order. A server may have other tools between them.
func (b *bench) list() {
	tools, err := b.client.Tools(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, d := range tools {
		names = append(names, d.Tool)
		if !wire.Valid(d.Schema) || !wire.Valid(d.Wire.JSON) {
			b.Errorf("%s: schema %s in %s", d.Tool, d.Schema, d.Wire.JSON)
		}
	}
	rest := names
	for _, d := range Tools().Snapshot("").Tools {
		i := slices.Index(rest, d.Tool)
		if i < 0 {
			b.Errorf("%s is missing, or out of order, in %v", d.Tool, names)
			continue
		}
		rest = rest[i+1:]
	}
}

func (b *bench) call() {
	if got := b.invokeText("echo", `{"message":"hello, wörld ☃"}`); got != "hello, wörld ☃" {
		b.Errorf("echo = %q", got)
	}
	if got := b.invokeText("echo", `{}`); got != "" {
		b.Errorf("echo of nothing = %q", got)
	}
}

// fail checks that each failure has the right kind, and that the connection survives it.
func (b *bench) fail() {
	r := b.invoke("error", `{"text":"no such file"}`)
	if got := b.text(r); !r.IsError() || got != "no such file" {
		b.Errorf("a tool that fails: isError %t, %q", r.IsError(), got)
	}
	_, err := b.client.Invoke(b.ctx, "rpcerror", json.RawMessage(`{}`))
	var rpc *interop.RPCError
	want := oddError()
	if !errors.As(err, &rpc) || !errors.Is(err, interop.ToolError) {
		b.Errorf("an error of the protocol: %v", err)
	} else if rpc.Code != want.Code || rpc.Message != want.Message || string(rpc.Data) != string(want.Data) {
		b.Errorf("rpcerror = %d %q %s", rpc.Code, rpc.Message, rpc.Data)
	}
	if _, err := b.client.Invoke(b.ctx, "no such tool", nil); !errors.As(err, &rpc) ||
		rpc.Code != interop.CodeInvalidParams {
		b.Errorf("a tool that is not there: %v", err)
	}
	if _, err := b.client.Do(b.ctx, interop.Message{Method: "no/such/method"}); !errors.As(err, &rpc) ||
		rpc.Code != interop.CodeMethodNotFound {
		b.Errorf("a method that is not there: %v", err)
	}
	if got := b.invokeText("echo", `{"message":"still here"}`); got != "still here" {
		b.Errorf("afterwards: %q", got)
	}
}

// progress checks that every report comes in order, before the result, and none after it.
func (b *bench) progress() {
	const steps = 100
	if err := b.wait(b.start(b.ctx, 7, fmt.Sprintf(`{"name":"progress","arguments":{"steps":%d}}`, steps))); err != nil {
		b.Fatal(err)
	}
	for i := range steps {
		var p struct{ Progress, Total float64 }
		m := b.awaitMessage(noteProgress)
		if err := json.Unmarshal(m.Params, &p); err != nil || p.Progress != float64(i+1) || p.Total != steps || m.Of != 7 {
			b.Fatalf("report %d is %s, of exchange %d", i+1, m.Params, m.Of)
		}
	}
	b.invokeText("echo", `{"message":"and what came late would have come by now"}`)
	for len(b.messages) > 0 {
		if m := <-b.messages; m.Method == noteProgress {
			b.Errorf("after the result came %s", m.Params)
		}
	}
}

// cancel checks that the server is notified of a cancelled call.
func (b *bench) cancel() {
	ctx, giveUp := context.WithCancel(b.ctx)
	defer giveUp()
	done := b.start(ctx, 1, `{"name":"stall"}`)
	b.awaitMessage(noteProgress) // the server has begun
	giveUp()
	if err := b.wait(done); !errors.Is(err, context.Canceled) {
		b.Errorf("the caller sees %v", err)
	}
	if got := b.invokeText("stalled", `{}`); got != "stalled" {
		b.Errorf("stalled = %q", got)
	}
}

// change checks that a changed list is reported, and that the next list is new.
func (b *bench) change() {
	listed := func() bool {
		b.Helper()
		tools, err := b.client.Tools(b.ctx)
		if err != nil {
			b.Fatal(err)
		}
		return slices.ContainsFunc(tools, func(d toolbox.Descriptor) bool { return d.Tool == "changed" })
	}
	if listed() {
		b.Error("changed before anything has")
	}
	present := false
	for notified := false; !notified; {
		b.invokeText("change", `{}`)
		present = !present
		notified = b.news()
	}
	if got := listed(); got != present {
		b.Errorf("the new list has the tool: %t, want %t", got, present)
	}
}

// news waits a short time for the notification of a changed list.
func (b *bench) news() bool {
	b.Helper()
	timeout := time.After(newsPatience)
	for {
		select {
		case m := <-b.messages:
			if m.Method == noteChanged {
				return true
			}
		case <-timeout:
			return false
		case <-b.ctx.Done():
			b.Fatal("no news of the change came")
		}
	}
}

// bytes checks that everything except the hop's own members arrives unchanged.
func (b *bench) bytes() {
	if got := b.foreign(b.invoke("fidelity", `{}`).Wire().JSON); got != oddResult {
		b.Errorf("a result\n%s\ncame as\n%s", oddResult, got)
	}
	const args = `{"zulu":1,"alpha":[9007199254740993,1.0,1e400,-0,null],"":"\u0041\/ ☃ <&>","s":""}`
	got := b.invokeText("echo_raw", args)
	if sent, _ := wire.Lookup(json.RawMessage(got), "arguments"); string(sent) != args {
		b.Errorf("arguments\n%s\ncame as\n%s", args, sent)
	}
	const params = `{"unknown":{"b":1e2,"a":null},"arguments":{"a":1},"_meta":{"com.example/n":9007199254740993},` +
		`"name":"echo_raw"}`
	raw, err := b.client.Do(b.ctx, interop.Message{Method: "tools/call", Params: json.RawMessage(params)})
	if err != nil {
		b.Fatal(err)
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) != 1 {
		b.Fatalf("%s, %v", raw, err)
	}
	if got := b.foreign(json.RawMessage(r.Content[0].Text)); got != params {
		b.Errorf("params\n%s\ncame as\n%s", params, got)
	}
}

// foreign returns a result or params without the hop's own fields.
func (b *bench) foreign(obj json.RawMessage) string {
	b.Helper()
	meta, _ := wire.Lookup(obj, "_meta")
	members, err := wire.Members(meta)
	if err != nil {
		b.Fatalf("no _meta in %s", obj)
	}
	edits := []wire.Edit{{Key: "progressToken"}}
	for _, m := range members {
		if strings.HasPrefix(m.Key, "io.modelcontextprotocol/") {
			edits = append(edits, wire.Edit{Key: m.Key})
		}
	}
	meta, err = wire.Rewrite(meta, edits...)
	if err == nil {
		obj, err = wire.Rewrite(obj, wire.Edit{Key: "resultType"}, wire.Edit{Key: "_meta", Value: meta})
	}
	if err != nil {
		b.Fatal(err)
	}
	return string(obj)
}

// large checks that 5 MiB pass in both directions, more than many implementations accept.
func (b *bench) large() {
	const size = 5 << 20
	if got := b.invokeText("block", fmt.Sprintf(`{"bytes":%d}`, size)); got != strings.Repeat("x", size) {
		b.Errorf("%d bytes came, and not %d", len(got), size)
	}
	message := strings.Repeat("ping ☃ ", size/9)
	if got := b.invokeText("echo", `{"message":"`+message+`"}`); got != message {
		b.Errorf("%d bytes came back, and not %d", len(got), len(message))
	}
}

// concurrent checks that many concurrent calls each end with their own result, and that none waits
// for a blocked call.
func (b *bench) concurrent() {
	const calls = 64
	ctx, giveUp := context.WithCancel(b.ctx)
	defer giveUp()
	stalled := b.start(ctx, 1, `{"name":"stall"}`)
	b.awaitMessage(noteProgress)
	wrong := make(chan string, calls)
	for i := range calls {
		go func() {
			want := fmt.Sprintf("message %d", i)
			r, err := b.client.Invoke(b.ctx, "echo", json.RawMessage(`{"message":"`+want+`"}`))
			switch {
			case err != nil:
				wrong <- err.Error()
			case len(r.Blocks()) != 1 || r.Blocks()[0].Text == nil || *r.Blocks()[0].Text != want:
				wrong <- fmt.Sprintf("%s came as %s", want, r.Wire().JSON)
			default:
				wrong <- ""
			}
		}()
	}
	for range calls {
		if s := <-wrong; s != "" {
			b.Error(s)
		}
	}
	giveUp()
	if err := b.wait(stalled); !errors.Is(err, context.Canceled) {
		b.Error(err)
	}
	b.invokeText("stalled", `{}`)
}

// close checks that the connection ends for good, and that a pending call ends too.
func (b *bench) close() {
	stalled := b.start(b.ctx, 1, `{"name":"stall"}`)
	b.awaitMessage(noteProgress)
	b.client.Close()
	var fault *interop.Fault
	if err := b.wait(stalled); !errors.As(err, &fault) {
		b.Errorf("a call under way ends with %v", err)
	}
	select {
	case <-b.client.Done():
	default:
		b.Error("closed, and not done")
	}
	if got := b.client.Phase(); got != interop.Closed {
		b.Errorf("phase = %s", got)
	}
	if _, err := b.client.Invoke(b.ctx, "echo", nil); !errors.Is(err, interop.NotConnected) {
		b.Errorf("a call afterwards: %v", err)
	}
	if err := b.client.Open(b.ctx); !errors.Is(err, interop.NotConnected) {
		b.Errorf("open afterwards: %v", err)
	}
	b.client.Close()
}
