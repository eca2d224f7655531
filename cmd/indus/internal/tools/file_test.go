package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
)

func TestAFileOfToolsIsReadInWhateverShapeItIs(t *testing.T) {
	const tool = `{"name":"a","inputSchema":{"type":"object"}}`
	const schema = `{"name":"schema","inputSchema":`
	for _, c := range []struct{ what, text, want string }{
		{"a result", `{"tools":[` + tool + `,42]}`, tool + "\n42"},
		{"a result with more in it", `{"nextCursor":"x","ttlMs":1,"tools":[` + tool + `]}`, tool},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`, tool},
		{"an array", `[` + tool + `,{"name":"b"}]`, tool + "\n" + `{"name":"b"}`},
		{"an empty array", `[]`, ""},
		{"a tool", tool, tool},
		{"a tool without a schema", `{"name":"a","description":"b"}`, `{"name":"a","description":"b"}`},
		{"what mcp tools --json prints", `[{"name":"s__a","server":"s","tool":` + tool + `}]`, tool},
		{"a schema", `{"type":"object","properties":{"tools":{}}}`, schema + `{"type":"object","properties":{"tools":{}}}}`},
		{"a schema whose type is missing", `{"anyOf":[true]}`, schema + `{"anyOf":[true]}}`},
		{"a schema of a tool's name", `{"properties":{"name":{}}}`, schema + `{"properties":{"name":{}}}}`},
		{"a byte order mark and blanks", "\ufeff \n" + tool + "\n ", tool},
	} {
		got, err := tools.ToolList([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.what, diff)
		}
	}
}

func TestAFileWithoutToolsIsAMistake(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "f.json is not JSON: unexpected end of JSON input"},
		{`{"tools":[`, "f.json is not JSON: unexpected end of JSON input"},
		{`{"a":1} {}`, "f.json is not JSON: invalid character '{' after top-level value"},
		{`42`, "f.json holds no tools: expected is a tools/list result, "},
		{`"type"`, "f.json holds no tools"},
		{`{}`, "f.json holds no tools"},
		{`{"tools":{"a":{}}}`, "f.json holds no tools"},
		{`{"servers":{}}`, "f.json holds no tools"},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, "f.json holds no tools"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`, "f.json: it is a server's error"},
		{`[` + strings.Repeat("1,", 100_000) + `1]`, "f.json: more than 100000"},
	} {
		got, err := tools.ToolList([]byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || command.ExitCode(err) != command.ExitUsage {
			t.Errorf("%.40s: %v and %v, want %s", c.text, got, err, c.want)
		}
	}
}

// FuzzToolList checks that any file is refused, or has rows that are valid JSON.
func FuzzToolList(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","inputSchema":{}}]}`, `{"jsonrpc":"2.0","result":{"tools":[1]}}`, `[{"tool":{"name":"a"}}]`,
		`{"type":"object"}`, `{"result":{"result":{}},"jsonrpc":""}`, "\ufeff[]", `{"tools":null}`, `{"error":1,"jsonrpc":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		rows, err := tools.ToolList(raw)
		if err != nil {
			return
		}
		for _, row := range rows {
			if !json.Valid([]byte(row)) {
				t.Errorf("no JSON: %q", row)
			}
		}
	})
}
