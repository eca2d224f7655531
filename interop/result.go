package interop

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

// inputRequired is the type of a result that asks for input (2026-07-28, basic/patterns/mrtr).
const inputRequired = "input_required"

// resultType returns the type of a result, or "" if it has none, as before 2026-07-28.
func resultType(result json.RawMessage) string {
	raw, ok := wire.Lookup(result, "resultType")
	if kind, isText := wire.Unquote(raw); isText || !ok {
		return kind
	}
	return string(raw) // not a string, and no known type
}

// checkResult returns an error for the result of a call that is not an object, or that no client here can handle. A
// result of unknown type must be treated as invalid.
func (e *Endpoint) checkResult(ctx context.Context, result json.RawMessage, kind string) error {
	if len(result) == 0 || result[0] != '{' {
		return &conn.ProtocolError{What: "a result that is no object: " + protocol.Printable(string(result), maxQuoted)}
	}
	switch kind {
	case "", "complete":
		return nil
	case inputRequired:
		if c := ClientOf(ctx); c != nil && c.Era == Modern { // for a legacy server: see withInputRequiredType
			return nil
		}
		return advice.ErrInputRequired
	case "task":
		if ClientOf(ctx).declaresTasks() {
			return nil
		}
	}
	return &conn.ProtocolError{What: "a result of unknown type " + protocol.Printable(string(wire.Quote(kind)), 60)}
}

// maxQuoted bounds the part of a malformed result that a fault quotes, in bytes.
const maxQuoted = 300

// checkReadable returns an error that quotes the result of a tools/call if a model or a program cannot read it. A
// gateway passes the result on unchanged.
func checkReadable(m Message, result json.RawMessage) error {
	if flaw := resultFlaw(m, result); flaw != "" {
		return &conn.ProtocolError{What: "a result with " + flaw + ": " + protocol.Printable(string(result), maxQuoted)}
	}
	return nil
}

// resultFlaw returns the reason why no client can read the result of a tools/call, or "" if it is readable. Without
// this check, such a result would count as a success without content. A "content" that is null counts as an empty list,
// because many servers write it. Any other member that is null counts as missing.
func resultFlaw(m Message, result json.RawMessage) string {
	members, err := wire.Members(result)
	if err != nil {
		return "members that cannot be read (" + err.Error() + ")"
	}
	hasContent, task := false, false
	for _, in := range members {
		first := in.Value[0]
		switch in.Key {
		case "content":
			hasContent = true
			if first != '[' && first != 'n' {
				return `"content" that is not an array`
			}
		case "isError":
			if first != 't' && first != 'f' && first != 'n' {
				return `"isError" that is neither true nor false`
			}
			hasContent = hasContent || first == 't'
		case "structuredContent", "toolResult":
			hasContent = hasContent || first != 'n'
		case "task":
			task = true
		}
	}
	if task && !hasContent {
		if _, wanted := wire.Lookup(m.Params, "task"); wanted {
			return ""
		}
		return "a task, although the call asked for none"
	}
	if !hasContent {
		return `no "content"`
	}
	return ""
}

// decodeResult decodes the result of tools/call. A block of unknown type stays unchanged. The toolResult of 2024-10-07
// is one JSON block.
func decodeResult(w toolbox.Wire) toolbox.Decoded {
	var d toolbox.Decoded
	members, err := wire.Members(w.JSON)
	if err != nil {
		return d
	}
	for _, m := range members {
		switch m.Key {
		case "content":
			blocks, err := wire.Elements(m.Value)
			if errors.Is(err, wire.ErrTooManyParts) { // too many blocks to separate, so they stay together
				d.Blocks = []toolbox.Block{toolbox.JSON(m.Value)}
			}
			if err != nil {
				continue
			}
			d.Blocks = make([]toolbox.Block, 0, len(blocks))
			for _, b := range blocks {
				d.Blocks = append(d.Blocks, decodeBlock(w.Format, b))
			}
		case "toolResult":
			d.Blocks = append(d.Blocks, toolbox.JSON(m.Value))
		case "structuredContent":
			d.Structured = m.Value
		case "isError":
			d.IsError = string(m.Value) == "true"
		}
	}
	return d
}

func decodeBlock(format string, b json.RawMessage) toolbox.Block {
	if kind, ok := protocol.LookupString(b, "type"); ok && kind == "text" {
		if text, ok := protocol.LookupString(b, "text"); ok {
			return toolbox.Text(text)
		}
	}
	return toolbox.Block{Wire: toolbox.Wire{Format: format, JSON: b}}
}
