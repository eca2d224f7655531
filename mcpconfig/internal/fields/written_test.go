package fields_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/fields"
)

var update = flag.Bool("update", false, "write schema.json and the tables of docs/configuration.md")

const (
	schemaFile = "../../schema.json"
	docFile    = "../../../docs/configuration.md"
)

// schema.json and the tables of the documentation are the table of fields in other forms.
func TestWritten(t *testing.T) {
	compare(t, schemaFile, func(string) string { return wide(parse(t, fileSchema()), "", 0) + "\n" })
	compare(t, docFile, func(was string) string {
		for name, table := range map[string]string{"row": rowTable(), "oauth": nestedTable("oauth"), "sandbox": nestedTable("sandbox"),
			"file": fileTable()} {
			block := regexp.MustCompile(`(?s)(<!-- fields ` + name + ` -->\n).*?(<!-- end -->)`)
			if len(block.FindAllString(was, -1)) != 1 {
				t.Fatalf("%s has no block %q", docFile, name)
			}
			was = block.ReplaceAllStringFunc(was, func(part string) string {
				m := block.FindStringSubmatch(part)
				return m[1] + table + m[2]
			})
		}
		return was
	})
}

func compare(t *testing.T, path string, written func(was string) string) {
	t.Helper()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	is := written(string(was))
	if *update {
		if err := os.WriteFile(path, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(was), "\n"), strings.Split(is, "\n")); diff != "" {
		t.Errorf("%s is stale: go test ./mcpconfig/internal/fields -update (-is +should be)\n%s", path, diff)
	}
}

// definitions are the schemas below "$defs", in the order in which they are first used.
type definitions struct{ names, schemas []string }

func (d *definitions) add(name, schema string) string {
	for _, n := range d.names {
		if n == name {
			return ref(name)
		}
	}
	d.names, d.schemas = append(d.names, name), append(d.schemas, schema)
	return ref(name)
}

func ref(name string) string { return `"$ref": "#/$defs/` + name + `"` }

func describe(about string) string {
	text := regexp.MustCompile(`\[([^]]*)\]\(([^)]*)\)`).ReplaceAllString(about, "$1")
	text, _ = strings.CutSuffix(strings.ReplaceAll(text, "`", ""), "\n")
	quoted, _ := json.Marshal(text)
	return `"description": ` + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
}

func (d *definitions) properties(list []fields.Field) string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%q: {%s}", f.Name, d.field(f)))
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// field returns the members of the schema of a field.
func (d *definitions) field(f fields.Field) string {
	schema := f.Kind.Schema
	if f.Name != "views" && f.Members != nil {
		members := `"properties": ` + d.properties(f.Members) +
			`, "patternProperties": {"^[$_/#]": {}}, "additionalProperties": false`
		if strings.Contains(schema, `"$members": true`) {
			schema = strings.Replace(schema, `"$members": true`, `"type": "object", `+members, 1)
			schema = strings.Replace(schema, `false, "type": "object",`, "false,", 1)
		} else {
			schema += ", " + members
		}
	}
	switch def := f.Kind.Def; {
	case def == "servers":
		schema = ref(def)
	case def != "" && def != "sandbox" && f.Members != nil:
		return d.add(def, describe(f.About)+", "+schema)
	case def == "changes":
		return d.add(def, describe(f.About)+", "+schema)
	case def != "":
		schema = d.add(def, schema)
	}
	return schema + ", " + describe(f.About)
}

// fileSchema returns the JSON Schema of a file. The rules between several fields are written out here.
func fileSchema() string {
	d := &definitions{}
	top := `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id": "https://raw.githubusercontent.com/indusagi/indus/main/mcpconfig/schema.json",
		"title": "MCP servers for indus",
		"description": "The servers that indus starts or calls: .indusvx/mcp.json of a project, indusvx/mcp.json in the user's configuration directory, or any file named with --mcp. Comments and trailing commas are allowed. In texts, ${VAR} and ${VAR:-default} stand for variables, ${file:PATH} for the content of a file, ${cmd:COMMAND LINE} for the output of a command.",
		"type": "object",
		"properties": {"$schema": {"type": "string", "description": "The address of this schema, for the editor."}, ` +
		strings.TrimPrefix(d.properties(fields.File()), "{") + `,
		"anyOf": [{"required": ["servers"]}, {"required": ["mcpServers"]}],
		"dependentRequired": {"policyMode": ["policy"]}, "$defs": {`
	d.add("view", `"title": "View", "type": "object", "properties": `+d.properties(fields.View())+
		`, "patternProperties": {"^[$_/#]": {}}, "additionalProperties": false`)
	d.add("servers", `"title": "Servers",
		"description": "The servers by name, or a list of servers with a name each. Of two with one name the last counts.",
		"anyOf": [
			{"type": "object", "maxProperties": 1000, "propertyNames": {"pattern": "\\S"},
				"additionalProperties": {"$ref": "#/$defs/server", "properties": {"id": false, "name": false}}},
			{"type": "array", "maxItems": 1000,
				"items": {"$ref": "#/$defs/server", "anyOf": [{"required": ["id"]}, {"required": ["name"]}]}}]`)
	d.add("server", `"title": "Server", "description": "A command that is started, or a URL that is called.",
		"type": "object", "properties": `+d.properties(fields.Row())+`,
		"patternProperties": {"^[$_/#]": {"description": "A comment."}}, "additionalProperties": false,
		"dependentRequired": {"maxPrincipals": ["per"], "maxQueue": ["maxConcurrent"]},
		"dependentSchemas": {
			"single": {"if": {"properties": {"single": {"const": true}}},
				"then": {"properties": {"per": false, "instances": false}}},
			"per": {"properties": {"instances": false, "oauth": {"not": {"required": ["grant"], "type": "object",
				"properties": {"grant": {"const": "token_exchange"}}}}}},
			"authorization": {"properties": {"oauth": {"const": false}}}},
		"not": {"required": ["enabled", "disabled"],
			"properties": {"enabled": {"const": true}, "disabled": {"const": true}}},
		"anyOf": [
			{"required": ["command"], "properties": {"command": {"pattern": "\\S"}, "url": {"const": ""}`+
		forbidden(fields.Remote)+`, "transport": {"const": "stdio"}, "type": {"const": "stdio"}}},
			{"required": ["url"], "properties": {"url": {"pattern": "^\\s*[hH][tT][tT][pP][sS]?://[^/?#:\\s]|\\$\\{"},
				"command": {"const": ""}`+forbidden(fields.Process)+`,
				"transport": {"not": {"const": "stdio"}}, "type": {"not": {"const": "stdio"}}}}]`)
	d.add("pattern", `"description": "A name, in which * stands for any characters and ? for one.",
		"type": "string", "minLength": 1`)
	var defs []string
	for i, name := range d.names {
		defs = append(defs, fmt.Sprintf("%q: {%s}", name, d.schemas[i]))
	}
	return top + strings.Join(defs, ", ") + "}}"
}

// forbidden returns the schemas that refuse the fields of one side.
func forbidden(side fields.Side) (out string) {
	for _, name := range fields.RowNames(func(f fields.Field) bool { return f.Side == side }) {
		out += fmt.Sprintf(", %q: false", name)
	}
	return out
}

func parse(t *testing.T, text string) hujson.Value {
	t.Helper()
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	v.Minimize()
	return v
}

// wide writes a value in as few lines as fit into 120 columns.
func wide(v hujson.Value, indent string, used int) string {
	line := spaced(v)
	if len(indent)+used+len(line) < 120 {
		return line
	}
	inner := indent + "  "
	var parts []string
	end := ""
	switch x := v.Value.(type) {
	case *hujson.Object:
		for _, m := range x.Members {
			name := m.Name.String() + ": "
			parts = append(parts, inner+name+wide(m.Value, inner, len(name)))
		}
		line, end = "{", "}"
	case *hujson.Array:
		for _, e := range x.Elements {
			parts = append(parts, inner+wide(e, inner, 0))
		}
		line, end = "[", "]"
	default:
		return line
	}
	return line + "\n" + strings.Join(parts, ",\n") + "\n" + indent + end
}

func spaced(v hujson.Value) string {
	var parts []string
	switch x := v.Value.(type) {
	case *hujson.Object:
		for _, m := range x.Members {
			parts = append(parts, m.Name.String()+": "+spaced(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *hujson.Array:
		for _, e := range x.Elements {
			parts = append(parts, spaced(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return v.String()
}

// covers has the words for the ways in which an approval covers a field.
var covers = map[fields.Cover]string{
	fields.Written: "as written", fields.Replaced: "with variables replaced", fields.Decisive: "both",
	fields.Effective: "its effect", fields.Confining: "if it allows more", fields.Uncovered: "no",
}

func rowTable() string {
	out := "\n| field | value | approval covers it | meaning |\n| --- | --- | --- | --- |\n"
	for _, f := range fields.Row() {
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Kind.Words, covers[f.Cover], cell(f.About))
		if f.Name != "oauth" && f.Name != "sandbox" {
			for _, m := range f.Members {
				out += fmt.Sprintf("| `%s.%s` | %s | %s | %s |\n", f.Name, m.Name, m.Kind.Words,
					covers[max(m.Cover, f.Cover)], cell(m.About))
			}
		}
	}
	return out + "\n"
}

func nestedTable(name string) string {
	out := "\n| field | value | approval covers it | meaning |\n| --- | --- | --- | --- |\n"
	for _, f := range fields.Find(fields.Row(), name).Members {
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Kind.Words, covers[f.Cover], cell(f.About))
		for _, m := range f.Members {
			out += fmt.Sprintf("| `%s.%s` | %s | %s | %s |\n", f.Name, m.Name, m.Kind.Words, covers[m.Cover], cell(m.About))
		}
	}
	return out + "\n"
}

func fileTable() string {
	out := "\n| field | value | meaning |\n| --- | --- | --- |\n"
	var add func(prefix string, list []fields.Field)
	add = func(prefix string, list []fields.Field) {
		for _, f := range list {
			out += fmt.Sprintf("| `%s%s` | %s | %s |\n", prefix, f.Name, f.Kind.Words, cell(f.About))
			inner := prefix + f.Name + "."
			if f.Name == "views" {
				inner += "NAME."
			} else if f.Kind.JSON == '[' {
				inner = prefix + f.Name + "[]."
			}
			if f.Kind.Def != "sandbox" { // they have a table of their own
				add(inner, f.Members)
			}
		}
	}
	add("", fields.File())
	return out + "\n"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
