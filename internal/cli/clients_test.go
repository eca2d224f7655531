package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/cli"
	"github.com/indusagi/indus/internal/peers"
)

// readers is a program that reads tools from stdin, and says of each which
// versions of the TypeScript SDK read a list with it: "12", "2", "".
const readers = `
const one = require("@modelcontextprotocol/sdk/types.js").ListToolsResultSchema;
const two = require("@modelcontextprotocol/core").ListToolsResultSchema;
const tools = JSON.parse(require("fs").readFileSync(0, "utf8"));
const reads = (s, tool) => s.safeParse({resultType: "complete", tools: [tool]}).success;
console.log(JSON.stringify(tools.map(t => (reads(one, t) ? "1" : "") + (reads(two, t) ? "2" : ""))));
`

// TestClientsRefuseWhatLintSaysTheyDo asks the TypeScript SDK itself.
func TestClientsRefuseWhatLintSaysTheyDo(t *testing.T) {
	cases := []struct {
		tool string
		want []string // what lint says: path and message
	}{
		{`{"name":"a","inputSchema":{"type":"object"}}`, nil},
		{`{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"y":[]},"required":["x"]}}`, nil},
		{`{"name":"a","inputSchema":{"type":"object","properties":{"x":true}}}`,
			[]string{"/inputSchema/properties/x true stands for a property's schema: TypeScript SDK 1 refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"properties":{"y":true}}}}}`, nil},
		{`{"name":"a","inputSchema":{"type":"object","required":[1]}}`,
			[]string{"/inputSchema/required/0 required names 1: the TypeScript SDK refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object","required":null}}`,
			[]string{"/inputSchema/required required is no list: the TypeScript SDK refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`, nil},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"anyOf":[{"type":"object"}]}}`,
			[]string{`/outputSchema the outputSchema is not of type "object": TypeScript SDK 1 refuses the whole list`}},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":["object"],"properties":{"a/b":true}}}`, []string{
			`/outputSchema the outputSchema is not of type "object": TypeScript SDK 1 refuses the whole list`,
			"/outputSchema/properties/a~1b true stands for a property's schema: TypeScript SDK 1 refuses the whole list",
		}},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":true}`,
			[]string{"/outputSchema the outputSchema is no object: the TypeScript SDK refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object","properties":{"x":null,"y":"z"}}}`, []string{
			"/inputSchema/properties/x null stands for a property's schema: TypeScript SDK 1 refuses the whole list",
			`/inputSchema/properties/y "z" stands for a property's schema: TypeScript SDK 1 refuses the whole list`,
		}},
		{`{"name":"a","inputSchema":{"type":"object"},"title":null}`,
			[]string{"/title title is null and should not be there: the TypeScript SDK refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":null}`,
			[]string{"/outputSchema outputSchema is null and should not be there: the TypeScript SDK refuses the whole list"}},
		{`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":null}}`,
			[]string{"/annotations/readOnlyHint readOnlyHint is null and should not be there: the TypeScript SDK refuses the whole list"}},
	}
	var tools []json.RawMessage
	for _, c := range cases {
		tools = append(tools, json.RawMessage(c.tool))
	}
	read := whoReads(t, tools)
	for i, c := range cases {
		got := cli.CheckClients(c.tool)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.tool, diff)
		}
		one, two := true, true
		for _, said := range got {
			one = false
			two = two && strings.Contains(said, "SDK 1 ")
		}
		if one != strings.Contains(read[i], "1") || two != strings.Contains(read[i], "2") {
			t.Errorf("%s: versions %q of the SDK read it, lint says %q", c.tool, read[i], got)
		}
	}
}

func whoReads(t *testing.T, tools []json.RawMessage) (versions []string) {
	t.Helper()
	all, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(peers.Node(t), "-e", readers)
	cmd.Dir = filepath.Join("..", "..", "testdata", "peers") // from where node looks for packages
	cmd.Stdin = strings.NewReader(string(all))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &versions); err != nil || len(versions) != len(tools) {
		t.Fatalf("%s: %v", out, err)
	}
	return versions
}
