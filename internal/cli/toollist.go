package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
		return list, usage("%s is not JSON: %w", from, json.Unmarshal(raw, new(any)))
	}
	doc := json.RawMessage(raw)
	if result, ok := answered(doc); ok {
		doc = result
	}
	found, err := list.find(doc)
	if err != nil {
		return list, usage("%s: %w", from, err)
	}
	if !found {
		return list, usage("%s holds no tools: expected is %s", from, listsHelp)
	}
	for i, row := range list.rows {
		list.rows[i] = unwrapped(row)
	}
	return list, nil
}

// answered is the result in a JSON-RPC response.
func answered(doc json.RawMessage) (json.RawMessage, bool) {
	result, ok := wire.Lookup(doc, "result")
	return result, ok && has(doc, "jsonrpc")
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
	if has(doc, "error") && has(doc, "jsonrpc") {
		return false, errors.New("it is a server's error, and no list of tools")
	}
	switch {
	case has(doc, "inputSchema"), has(doc, "tool"):
		l.rows = []json.RawMessage{doc}
	case slices.ContainsFunc(schemaKeywords, func(k string) bool { return has(doc, k) }):
		row, err := wire.Rewrite(json.RawMessage(`{}`),
			wire.Edit{Key: "name", Value: wire.Quote(bareName)}, wire.Edit{Key: "inputSchema", Value: doc})
		l.rows, l.bare = []json.RawMessage{row}, true
		return true, err
	case has(doc, "name"):
		l.rows = []json.RawMessage{doc} // a tool that forgot its schema, which is what is wrong with it
	default:
		return false, nil
	}
	return true, nil
}

// schemaKeywords are those by which a schema is known that stands alone.
var schemaKeywords = []string{"type", "properties", "$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf"}

func has(doc json.RawMessage, key string) bool {
	_, ok := wire.Lookup(doc, key)
	return ok
}

// unwrapped is the tool in a row of indus mcp tools --json.
func unwrapped(row json.RawMessage) json.RawMessage {
	if tool, ok := wire.Lookup(row, "tool"); ok && tool[0] == '{' && !has(row, "inputSchema") {
		return tool
	}
	return row
}

// unreached is longer than any command runs.
const unreached = 24 * time.Hour

// mountLists mounts lists as servers that had them when they last ran. The servers'
// ids are those of listID.
func mountLists(ctx context.Context, lists []toolList, p *schema.Profile) *interop.Mounted {
	known := map[string][]toolbox.Wire{}
	servers := make([]interop.Server, len(lists))
	for i, l := range lists {
		servers[i].ID = listID(i)
		for _, row := range l.rows {
			known[listID(i)] = append(known[listID(i)], toolbox.Wire{JSON: row})
		}
	}
	return mountKnown(ctx, servers, func(server string) []toolbox.Wire { return known[server] }, p)
}

// listID is short, because nobody knows what the server will be called.
func listID(i int) string { return fmt.Sprintf("f%d", i+1) }
