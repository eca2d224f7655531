package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// toolList holds the tools of a file, in the form in which a server lists them.
type toolList struct {
	source string // the name of the file, or stdin
	rows   []json.RawMessage
	bare   bool // the file is one JSON Schema: the row and its name are made up
}

// bareName is the name of the tool that is made from a bare schema.
const bareName = "schema"

const listsHelp = "a tools/list result, an array of tools, one tool with its inputSchema, or one JSON Schema"

// readToolList returns the tools in the content of a file.
func readToolList(source string, raw []byte) (toolList, error) {
	raw = []byte(strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff")))
	list := toolList{source: source}
	if !wire.Valid(raw) {
		return list, command.Usagef("%s is not JSON: %w", source, json.Unmarshal(raw, new(any)))
	}
	doc := json.RawMessage(raw)
	if result, ok := wire.Lookup(doc, "result"); ok && hasMember(doc, "jsonrpc") {
		doc = result
	}
	found, err := list.find(doc)
	if err != nil {
		return list, command.Usagef("%s: %w", source, err)
	}
	if !found {
		return list, command.Usagef("%s holds no tools: expected is %s", source, listsHelp)
	}
	for i, row := range list.rows { // in the output of indus mcp tools --json, a row contains the tool
		if tool, ok := wire.Lookup(row, "tool"); ok && tool[0] == '{' && !hasMember(row, "inputSchema") {
			list.rows[i] = tool
		}
	}
	return list, nil
}

// find takes the rows from a document, which must be valid JSON.
func (l *toolList) find(doc json.RawMessage) (found bool, err error) {
	if doc[0] == '[' {
		l.rows, err = wire.Elements(doc)
		return true, err
	}
	if tools, ok := wire.Lookup(doc, "tools"); ok && tools[0] == '[' {
		l.rows, err = wire.Elements(tools)
		return true, err
	}
	if hasMember(doc, "error") && hasMember(doc, "jsonrpc") {
		return false, errors.New("it is a server's error, and no list of tools")
	}
	switch {
	case hasMember(doc, "inputSchema"), hasMember(doc, "tool"):
		l.rows = []json.RawMessage{doc}
	case slices.ContainsFunc(schemaKeywords, func(k string) bool { return hasMember(doc, k) }):
		row, err := wire.Rewrite(json.RawMessage(`{}`),
			wire.Edit{Key: "name", Value: wire.Quote(bareName)}, wire.Edit{Key: "inputSchema", Value: doc})
		l.rows, l.bare = []json.RawMessage{row}, true
		return true, err
	case hasMember(doc, "name"):
		l.rows = []json.RawMessage{doc} // a tool without its schema, which lint reports
	default:
		return false, nil
	}
	return true, nil
}

// schemaKeywords are the keywords that identify a bare schema.
var schemaKeywords = []string{"type", "properties", "$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf"}

func hasMember(doc json.RawMessage, key string) bool {
	_, ok := wire.Lookup(doc, key)
	return ok
}

// mountLists mounts each list as a server that is not connected. The servers have the ids of listID.
func mountLists(ctx context.Context, lists []toolList, p *schema.Profile) *interop.Mounted {
	known := map[string][]toolbox.Wire{}
	servers := make([]config.Server, len(lists))
	for i, l := range lists {
		servers[i].ID = listID(i)
		for _, row := range l.rows {
			known[listID(i)] = append(known[listID(i)], toolbox.Wire{JSON: row})
		}
	}
	return command.MountKnown(ctx, servers, func(server string) []toolbox.Wire { return known[server] }, p)
}

// listID returns a short id, because the id of the real server is unknown.
func listID(i int) string { return fmt.Sprintf("f%d", i+1) }
