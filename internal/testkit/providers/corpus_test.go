package providers_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/indusagi/indus/schema"
)

const corpus = "../../../schema/testdata/corpus"

// tool is a tool as its author publishes it.
type tool struct {
	From        string          `json:"-"` // the file it is in
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
}

// readCorpus returns every tool of the corpus, in the order of the files.
func readCorpus(t *testing.T) []tool {
	t.Helper()
	var tools []tool
	files := os.DirFS(corpus)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if path.Base(name) != "README.md" {
			tools = append(tools, readFile(t, name, content)...)
		}
		return nil
	})
	if err != nil || len(tools) == 0 {
		t.Fatalf("%d tools in %s: %v", len(tools), corpus, err)
	}
	return tools
}

func readFile(t *testing.T, name string, content []byte) []tool {
	t.Helper()
	var tools []tool
	switch path.Ext(name) {
	case ".json":
		tools = readJSON(t, name, content)
	case ".txtar":
		for _, f := range txtar.Parse(content).Files {
			if path.Ext(f.Name) == ".json" {
				tools = append(tools, readJSON(t, path.Join(name, f.Name), f.Data)...)
			}
		}
	}
	if len(tools) == 0 {
		t.Errorf("%s: no tool in it", name)
	}
	return tools
}

// readJSON reads a list of tools, the result of tools/list, a tool or a schema.
func readJSON(t *testing.T, name string, content []byte) []tool {
	t.Helper()
	var tools []tool
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("[")) {
		decode(t, name, content, &tools)
		return from(name, tools)
	}
	var members map[string]json.RawMessage
	decode(t, name, content, &members)
	switch {
	case bytes.HasPrefix(members["tools"], []byte("[")):
		decode(t, name, members["tools"], &tools)
	case members["inputSchema"] != nil:
		tools = make([]tool, 1)
		decode(t, name, content, &tools[0])
	default:
		tools = []tool{{Name: plain(name), Schema: content}}
	}
	return from(name, tools)
}

func decode(t *testing.T, name string, content []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(content, v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func from(name string, tools []tool) []tool {
	for i := range tools {
		tools[i].From = name
	}
	return tools
}

// plain makes a tool's name from a file's name.
func plain(file string) string {
	return strings.NewReplacer("/", "_", ".", "_").Replace(strings.TrimSuffix(file, ".json"))
}

// adapted returns the corpus as a model sees it through a profile. Tools that Adapt quarantines are left out. The test
// fails if there are too many of them, because it would then show little.
func adapted(t *testing.T, p *schema.Profile) []tool {
	t.Helper()
	all := append(readCorpus(t), awkward)
	var tools []tool
	for _, one := range all {
		a, err := schema.Adapt(one.Schema, p)
		if err != nil {
			t.Logf("quarantined: %s %s: %v", one.From, one.Name, err)
			continue
		}
		one.Schema = a.Schema
		one.Description, _ = a.Describe(one.Description, p)
		tools = append(tools, one)
	}
	if len(tools) < len(all)*9/10 {
		t.Errorf("only %d tools of %d are not quarantined", len(tools), len(all))
	}
	return tools
}

// awkward has content that serialisers often break: characters that HTML and JSON escape, names that look like
// keywords, and an order that is not alphabetical.
var awkward = tool{
	From:        "awkward",
	Name:        "Awkward_name-1",
	Description: "Less <b>than</b> & \"quoted\" \\ back, café 日本語 😀, \u2028 and a line\nbreak\twith tab.",
	Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"zulu":{"type":"string","description":"<&> \" \\ \u2028 é"},` +
		`"alpha":{"type":"string","enum":["z","a","m","<x>","null","1","*","a.b"]},` +
		`"type":{"type":"string"},"required":{"type":"boolean"},"enum":{"type":"integer"},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"},"a":{"type":"string"}},"required":["b","a"],"additionalProperties":false}}` +
		`},"required":["zulu","alpha"]}`),
}
