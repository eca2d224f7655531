package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// writeLines makes the fixture write lines, with $ID as the call's id, and then reply unless
// silent is set. The endpoint has no deadlines, so a failure is immediate.
func (r *rig) writeLines(silent bool, lines ...string) error {
	args, err := json.Marshal(map[string]any{"lines": lines, "silent": silent})
	if err != nil {
		return err
	}
	_, err = r.Invoke(r.t.Context(), "say", args)
	return err
}

func withoutDeadlines(t testing.TB, opts *interop.EndpointOptions, flags ...string) *rig {
	r := onFixture(t, opts, config.Timeouts{Call: noFault, Total: noFault, List: noFault}, flags...)
	mustOpen(t, r.Endpoint)
	return r
}

func TestEndpointSurvivesNoise(t *testing.T) {
	notified := make(chan interop.Message, 10)
	r := withoutDeadlines(t, &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		notified <- m
		return nil, nil
	}}, "-no-list-changed")
	lines := []string{
		"npm notice", "\x1b[32mready", "42", "[]", `"text"`, "{", "null", "\xff\xfe", "[]]", strings.Repeat("[", 20000),
		`[{"jsonrpc":"2.0","id":4711,"result":{}}]`,
		`{"level":30,"id":$ID,"msg":"a log that counts requests"}`,
		`{"level":30,"id":$ID,"method":"tools/call","params":{},"msg":"likewise"}`,
		`{"method":"GET","path":"/"}`,
		`{"jsonrpc":"1.0","id":$ID,"method":"GET"}`,
		`{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":7}`,
		`{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":$ID,"id":$ID,"result":{}}`,
		`{"jsonrpc":"2.0","ID":$ID,"result":{}}`,
	}
	if err := r.writeLines(false, lines...); err != nil {
		t.Fatal(err)
	}
	if n := r.Status().Noise; n != len(lines) {
		t.Errorf("%d lines of noise, want %d", n, len(lines))
	}
	if err := r.writeLines(false, `{"jsonrpc":"2.0","method":"notifications/end"}`); err != nil {
		t.Fatal(err)
	}
	if m := receiveSoon(t, notified, "a notification"); m.Method != "notifications/end" {
		t.Errorf("noise was told as %+v", m)
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointDropsAnswersToNobody(t *testing.T) {
	r := withoutDeadlines(t, nil, "-no-list-changed")
	if err := r.writeLines(false, `{"jsonrpc":"2.0","id":4711,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`); err != nil {
		t.Fatal(err)
	}
	// Of two replies the first counts.
	if err := r.writeLines(false, `{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"first"}}`); !isRPC(1, "first", "")(err) {
		t.Error(err)
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointFailsACallByItsBrokenAnswer(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"broken":               `{"jsonrpc":"2.0","id":$ID,"result":{"content":[}`,
		"cut off":              `{"jsonrpc":"2.0","id":$ID,"result":{"content":[`,
		"trailing bytes":       `{"jsonrpc":"2.0","id":$ID,"result":{}}}`,
		"two results":          `{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`,
		"a result in disguise": `{"jsonrpc":"2.0","id":$ID,"result":{},"RESULT":{}}`,
		"both":                 `{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"x"}}`,
		"neither":              `{"jsonrpc":"2.0","id":$ID}`,
		"bad number":           `{"jsonrpc":"2.0","id":$ID,"result":{"n":01}}`,
		"bad escape":           `{"jsonrpc":"2.0","id":$ID,"result":{"s":"\x"}}`,
		"too deep":             `{"jsonrpc":"2.0","id":$ID,"result":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`,
		"no object":            `{"jsonrpc":"2.0","id":$ID,"result":[]}`,
		"null":                 `{"jsonrpc":"2.0","id":$ID,"result":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := withoutDeadlines(t, nil, "-no-list-changed")
			f := wantFault(t, r.writeLines(true, line), interop.Protocol)
			if f.Tool != "say" {
				t.Errorf("the fault names the tool %q", f.Tool)
			}
			wantReady(t, r.Endpoint)
		})
	}
}

func TestEndpointSkipsALineOf100MB(t *testing.T) {
	t.Parallel()
	r := onFixture(t, nil, config.Timeouts{Connect: noFault, List: noFault}, "-bigline", "104857600") // it takes seconds
	mustOpen(t, r.Endpoint)
	if n := r.Status().Noise; n != 1 {
		t.Errorf("%d lines of noise", n)
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointFailsACallWhoseAnswerIsTooLong(t *testing.T) {
	t.Parallel()
	r := withoutDeadlines(t, &interop.EndpointOptions{MaxMessage: 1 << 20}, "-no-list-changed")
	_, err := r.Invoke(t.Context(), "block", []byte(`{"bytes":2000000}`)) // its id comes first
	wantFault(t, err, interop.Protocol)
	args := fmt.Sprintf(`{"silent":true,"lines":["{\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"text\":\"%s\"}]},\"id\":$ID}"]}`, strings.Repeat("x", 2_000_000))
	_, err = r.Invoke(t.Context(), "say", []byte(args)) // its id comes last, as in the TypeScript SDK
	wantFault(t, err, interop.Protocol)
	if !strings.Contains(err.Error(), "over the limit of 1048576") {
		t.Error(err)
	}
	if got := r.invoke("block", `{"bytes":1000000}`); len(got) != 1_000_000 {
		t.Errorf("%d bytes", len(got))
	}
	if got := openFixture(t, nil).invoke("block", `{"bytes":10000000}`); len(got) != 10_000_000 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestEndpointSendsArgumentsOnOneLine(t *testing.T) {
	r := openFixture(t, nil, "-era", "legacy")
	const args = "{\n\t\"message\":\r\n\"a\\nb\",\r\"n\": 9007199254740993,\n\"z\":null}"
	want := strings.NewReplacer("\n", " ", "\r", " ").Replace(args)
	got := r.invoke("echo_raw", args)
	if !strings.Contains(got, `"arguments":`+want+"}") {
		t.Errorf("it got %q", got)
	}
	result, err := r.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage("{\"name\":\n\"echo\",\n\"arguments\":{\"message\":\"x\"}}\n")})
	if err != nil || !strings.Contains(string(result), `"x"`) {
		t.Errorf("%s, %v", result, err)
	}
	for _, params := range []string{"{}\n{}", `{"a":}`, ""} {
		_, err = r.Do(t.Context(), interop.Message{Method: "ping", Params: json.RawMessage(params)})
		wantFault(t, err, interop.Protocol)
		_, err = r.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(params)})
		wantFault(t, err, interop.ToolError)
	}
	wantReady(t, r.Endpoint)
}

func TestEndpointCallsInParallel(t *testing.T) {
	t.Parallel()
	r := openFixture(t, nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			message := fmt.Sprintf("message %d %s", i, strings.Repeat("x", i*i))
			res, err := r.Invoke(context.Background(), "echo", fmt.Appendf(nil, `{"message":%q}`, message))
			if err != nil {
				t.Error(err)
			} else if got := textOf(t, res); got != message {
				t.Errorf("call %d got %.40s", i, got)
			}
		})
	}
	wg.Wait()
}
