package page_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The person who decides reads the arguments of a call as what they are: a text as lines, a change as a difference, a
// command as a command. The exact JSON is below them.
func TestArgumentsAreReadable(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "merge", InputSchema: map[string]any{"type": "object"}}
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(tool, nil)
	d := newDesk(t, deskOptions{policy: approvedByOthers, servers: map[string]*mcp.Server{"s": server}})
	b := d.browse()
	for _, c := range []struct {
		arguments map[string]any
		want      []string
	}{
		{map[string]any{"content": "# Plan\n\nStop <b>now</b>\u202e.\n"}, []string{"<pre class=\"text\"", "# Plan\n\nStop &lt;b&gt;now&lt;/b&gt;\\u{202e}.\n"}},
		{map[string]any{"command": "rm -rf build"}, []string{`<pre class="command"`, ">rm -rf build</pre>"}},
		{
			map[string]any{"edits": []any{map[string]any{"oldText": "a\nb\nc", "newText": "a\nB\nc"}}},
			[]string{"<span>  a</span><del>- b</del><ins>+ B</ins><span>  c</span>"},
		},
		{map[string]any{"old_string": "x", "new_string": "y", "file": "f"}, []string{"<del>- x</del><ins>+ y</ins>", "<dt>file</dt><dd>f</dd>"}},
		{map[string]any{"patch": "@@\n-x\n+y"}, []string{"<span>@@</span><del>-x</del><ins>+y</ins>"}},
		{map[string]any{"n": 2, "edits": []any{map[string]any{"oldText": "a"}}}, []string{"<dt>n</dt><dd>2</dd>", `<dd>[{&#34;oldText&#34;:&#34;a&#34;}]</dd>`}},
	} {
		id := waitingID(t, d.call("", "s__merge", c.arguments))
		text := b.open("/approvals?id=" + id)
		wants(t, text, c.want...)
		wants(t, text, "Arguments as JSON")
		if before, _, _ := strings.Cut(text, `id="allow-`+id); !strings.Contains(before, c.want[0]) {
			t.Errorf("the arguments come after the decision: %v", c.arguments)
		}
	}
}
