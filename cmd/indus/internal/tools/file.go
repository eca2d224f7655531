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
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// toolList is tools as a server lists them, from a file.
type toolList struct {
	from string // the file, or stdin
	rows []json.RawMessage
	bare bool // the file has a schema alone: the row's name and description are ours
}

// bareName is what the tool of a bare schema is called.
const bareName = "schema"

const listsHelp = "a tools/list result, an array of tools, one tool with its inputSchema, or one JSON Schema"

// readToolList finds the tools in a file's bytes.
func readToolList(from string, raw []byte) (toolList, error) {
	raw = []byte(strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff")))
	list := toolList{from: from}
	if !wire.Valid(raw) {
		return list, command.Usagef("%s is not JSON: %w", from, json.Unmarshal(raw, new(any)))
	}
	doc := json.RawMessage(raw)
	if result, ok := wire.Lookup(doc, "result"); ok && hasMember(doc, "jsonrpc") {
		doc = result
	}
	found, err := list.find(doc)
	if err != nil {
		return list, command.Usagef("%s: %w", from, err)
	}
	if !found {
		return list, command.Usagef("%s holds no tools: expected is %s", from, listsHelp)
	}
	for i, row := range list.rows { // of indus mcp tools --json, a row has the tool in it
		if tool, ok := wire.Lookup(row, "tool"); ok && tool[0] == '{' && !hasMember(row, "inputSchema") {
			list.rows[i] = tool
		}
	}
	return list, nil
}

// find takes the rows from a document, which is valid JSON.
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
		l.rows = []json.RawMessage{doc} // a tool that forgot its schema, which is what is wrong with it
	default:
		return false, nil
	}
	return true, nil
}

// schemaKeywords are those by which a schema on its own is known.
var schemaKeywords = []string{"type", "properties", "$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf"}

func hasMember(doc json.RawMessage, key string) bool {
	_, ok := wire.Lookup(doc, key)
	return ok
}

// mountLists mounts lists as servers with the ids of listID, which had them when they last ran.
func mountLists(ctx context.Context, lists []toolList, p *schema.Profile) *interop.Mounted {
	known := map[string][]toolbox.Wire{}
	servers := make([]interop.Server, len(lists))
	for i, l := range lists {
		servers[i].ID = listID(i)
		for _, row := range l.rows {
			known[listID(i)] = append(known[listID(i)], toolbox.Wire{JSON: row})
		}
	}
	return command.MountKnown(ctx, servers, func(server string) []toolbox.Wire { return known[server] }, p)
}

// listID is short, because nobody knows what the server will be called.
func listID(i int) string { return fmt.Sprintf("f%d", i+1) }
