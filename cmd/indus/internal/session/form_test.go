package session_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/interop"
)

// TestForms checks the prompt of a value, and what is made of a typed text.
func TestForms(t *testing.T) {
	const titled = `[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]`
	for _, c := range []struct{ schema, prompt, typed, want string }{
		{`{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`, "v (r (Red) | g (Green))", "Green", `"g"`},
		{`{"type":"string","enum":["r","g"]}`, "v (r | g)", "g", `"g"`},
		{`{"type":"string","enum":["Red","Green"],"enumNames":["Green","Red"]}`, "v (Red (Green) | Green (Red))", "Red", `"Red"`},
		{`{"type":"string","oneOf":` + titled + `}`, "v (#f00 (Red) | #0f0 (Green))", "red", `"#f00"`},
		{`{"type":"string","oneOf":` + titled + `}`, "v (#f00 (Red) | #0f0 (Green))", "blue", ""},
		{`{"type":"array","items":{"anyOf":` + titled + `}}`, "v (#f00 (Red) | #0f0 (Green); separated by commas)", "Red, #0f0", `["#f00","#0f0"]`},
		{`{"type":"string"}`, "v", "a", `"a"`},
		{`{"type":"string","format":"email"}`, "v (email)", "bad", ""},
		{`{"type":"string","format":"email"}`, "v (email)", "a@b.c", `"a@b.c"`},
		{`{"type":"string","format":"email"}`, "v (email)", "A <a@b.c>", ""},
		{`{"type":"string","format":"date"}`, "v (date)", "2026-02-30", ""},
		{`{"type":"string","format":"date"}`, "v (date)", "2026-02-28", `"2026-02-28"`},
		{`{"type":"string","format":"date-time"}`, "v (date-time)", "2026-02-28", ""},
		{`{"type":"string","format":"uri"}`, "v (uri)", "nothing", ""},
		{`{"type":"string","format":"uri"}`, "v (uri)", "https://a/b", `"https://a/b"`},
	} {
		fields := session.FormFields(`{"type":"object","properties":{"v":` + c.schema + `},"required":["v"]}`)
		if len(fields) != 1 || fields[0].Prompt != c.prompt {
			t.Errorf("%s: %+v, want %s", c.schema, fields, c.prompt)
			continue
		}
		err, value := fields[0].Check(c.typed), string(fields[0].Value(c.typed))
		if (err == nil) != (c.want != "") || c.want != "" && value != c.want {
			t.Errorf("%s: %q is %s, %v, want %s", c.schema, c.typed, value, err, c.want)
		}
	}
}

func TestPromptArguments(t *testing.T) {
	p := command.Beside{Arguments: []command.PromptArgument{{Name: "k"}, {Name: "l"}}}
	for typed, want := range map[string]string{
		`k="a \"q\" b" l=x`: `a "q" b`, `k=a b`: "a b", `k="a" b`: `"a" b`, `k="a`: `"a`, `k=""`: "", `k="a l=1`: `"a`,
	} {
		got, err := session.PromptArguments(p, typed)
		if err != nil || got["k"] != want {
			t.Errorf("%s: %q, %v, want %q", typed, got["k"], err, want)
		}
	}
}

// TestSamplingWithTools checks that a request with tools is refused, because the session does not declare them.
func TestSamplingWithTools(t *testing.T) {
	const text = `"messages":[{"role":"user","content":{"type":"text","text":"a"}}]`
	for params, code := range map[string]int64{
		`{` + text + `,"tools":[{"name":"t"}]}`: interop.CodeInvalidParams, `{` + text + `,"tools":[]}`: interop.CodeInvalidParams,
		`{` + text + `,"toolChoice":{"mode":"auto"}}`: interop.CodeInvalidParams, `{` + text + `,"tools":null}`: -1, `{` + text + `}`: -1,
	} {
		_, err := session.Receive(t.Context(), interop.Message{Method: "sampling/createMessage", Params: json.RawMessage(params)})
		if rpc, ok := errors.AsType[*interop.RPCError](err); !ok || int64(rpc.Code) != code {
			t.Errorf("%s: %v", params, err)
		}
	}
}
