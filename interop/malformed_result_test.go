package interop_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// A result that no client could read is a fault that quotes it, in both eras. It is never an empty success.
func TestAMalformedResultIsAFault(t *testing.T) {
	t.Parallel()
	tests := []struct{ result, wants, fault string }{
		{`{"content":"done"}`, "", `"content" that is not an array: {"content":"done"}`},
		{`{"content":{"type":"text","text":"done"}}`, "", `"content" that is not an array: {"content":{"type":"text"`},
		{`{}`, "", `no "content": {}`},
		{`{"_meta":{},"isError":false}`, "", `no "content"`},
		{`{"content":[],"isError":"yes"}`, "", `"isError" that is neither true nor false: {"content":[],"isError":"yes"}`},
		{`{"structuredContent":null}`, "", `no "content": {"structuredContent":null}`},
		{`{"toolResult":null,"isError":null}`, "", `no "content"`},
		{`{"content":[],"isError":1}`, "", `"isError" that is neither`},
		{`{"task":{"taskId":"1","status":"working"}}`, "", `a task, although the call asked for none: {"task"`},
		{`{"task":{"taskId":"1","status":"working"}}`, `,"task":{}`, ""},
		{`{"content":[{"type":"text","text":"a"}],"isError":null}`, "", ""},
		{`{"content":null}`, "", ""},
		{`{"structuredContent":{"a":1}}`, "", ""},
		{`{"isError":true}`, "", ""},
		{`{"toolResult":{"a":1}}`, "", ""},
	}
	for _, era := range []string{"legacy", "modern"} {
		for _, tt := range tests {
			t.Run(era+" "+tt.result, func(t *testing.T) {
				t.Parallel()
				f := fixture.New(t, "-era", era, "-fidelity-file", fixture.File(t, tt.result))
				m := interop.Mount(t.Context(), []config.Server{{ID: "s", Transport: stdioOf(f)}}, nil)
				t.Cleanup(m.Close)
				c := toolbox.Call{Name: "s__fidelity", Input: json.RawMessage(`{}`)}
				if tt.wants != "" {
					c.Wire = toolbox.Wire{Format: "mcp/2025-11-25", JSON: json.RawMessage(`{"name":"s__fidelity","arguments":{}` + tt.wants + `}`)}
				}
				out := m.Box.Run(t.Context(), c)
				fault, failed := errors.AsType[*interop.Fault](out.Err)
				switch {
				case tt.fault == "" && out.Err != nil:
					t.Error(out.Err)
				case tt.fault != "" && (!failed || fault.Kind != interop.Protocol || fault.Tool != "fidelity" || !strings.Contains(out.Text(), tt.fault)):
					t.Errorf("%v; the model reads %q, want a fault with %q", out.Err, out.Text(), tt.fault)
				}
			})
		}
	}
}
