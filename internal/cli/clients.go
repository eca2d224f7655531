package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema"
)

// typeScriptSDK is who reads a list of tools whole or not at all: clients that
// are built on it lose every tool of a server for one. No profile has it, because
// what it refuses no model is shown.
const typeScriptSDK = "typescript-sdk"

// Where clients were seen to refuse a list.
const (
	sourceOutput   = "modelcontextprotocol/typescript-sdk#1149"
	sourceProperty = "modelcontextprotocol/go-sdk#894"
	sourceTool     = "https://github.com/modelcontextprotocol/typescript-sdk/blob/v1.x/src/types.ts"
)

// What becomes of the list.
const (
	losesList1 = ": TypeScript SDK 1 refuses the whole list"
	losesList  = ": the TypeScript SDK refuses the whole list"
)

// checkClients finds what makes a client refuse the list that a tool is in. Paths
// lead into the tool.
func checkClients(tool json.RawMessage) []finding {
	var c clientCheck
	for _, key := range []string{"title", "description", "icons", "outputSchema", "annotations", "execution", "_meta"} {
		c.notNull(tool, "", key)
	}
	annotations, _ := wire.Lookup(tool, "annotations")
	for _, key := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		c.notNull(annotations, "/annotations", key)
	}
	if input, ok := wire.Lookup(tool, "inputSchema"); ok {
		c.schema(input, "inputSchema")
	}
	if output, ok := wire.Lookup(tool, "outputSchema"); ok {
		c.output(output)
	}
	return c.found
}

type clientCheck struct{ found []finding }

func (c *clientCheck) find(path string, rule schema.Rule, message, source string) {
	c.found = append(c.found, finding{typeScriptSDK, schema.Finding{Path: path, Rule: rule, Message: message, Source: source}})
}

// notNull finds a null where the key should not be at all.
func (c *clientCheck) notNull(in json.RawMessage, at, key string) {
	if v, ok := wire.Lookup(in, key); ok && v[0] == 'n' {
		c.find(at+"/"+key, schema.RuleForm, key+" is null and should not be there"+losesList, sourceTool)
	}
}

func (c *clientCheck) output(s json.RawMessage) {
	const at = "/outputSchema"
	switch s[0] {
	case 'n': // it is found already
	case '{':
		typ, _ := wire.Lookup(s, "type")
		if name, _ := wire.Unquote(typ); name != "object" {
			c.find(at, schema.RuleRoot, `the outputSchema is not of type "object"`+losesList1, sourceOutput)
		}
		c.schema(s, "outputSchema")
	default:
		c.find(at, schema.RuleForm, "the outputSchema is no object"+losesList, sourceTool)
	}
}

// schema looks at what clients read of a schema: the outermost properties, and
// required.
func (c *clientCheck) schema(s json.RawMessage, key string) {
	properties, _ := wire.Lookup(s, "properties")
	members, _ := wire.Members(properties)
	for _, m := range members {
		if m.Value[0] != '{' && m.Value[0] != '[' {
			c.find("/"+key+"/properties/"+pointerStep(m.Key), schema.RuleBoolean,
				brief(m.Value)+" stands for a property's schema"+losesList1, sourceProperty)
		}
	}
	required, ok := wire.Lookup(s, "required")
	if !ok {
		return
	}
	names, err := wire.Elements(required)
	if err != nil {
		c.find("/"+key+"/required", schema.RuleRequired, "required is no list"+losesList, sourceTool)
	}
	for i, name := range names {
		if name[0] != '"' {
			c.find("/"+key+"/required/"+strconv.Itoa(i), schema.RuleRequired, "required names "+brief(name)+losesList, sourceTool)
		}
	}
}

// pointerStep is a key as a JSON Pointer has it (RFC 6901).
func pointerStep(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
