package interop

import (
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

var errInputRequired = &conn.ProtocolError{What: "the server asks for input, and nobody here can be asked"}

// completeResult refuses a result that is none. Before 2026-07-28 there is no
// resultType; an unknown one must be taken as invalid, and nobody is here who
// could be asked for input (2026-07-28, basic/patterns/mrtr).
func completeResult(result json.RawMessage) error {
	if len(result) == 0 || result[0] != '{' {
		return &conn.ProtocolError{What: "a result that is no object"}
	}
	raw, ok := wire.Lookup(result, "resultType")
	if !ok {
		return nil
	}
	switch kind, _ := wire.Unquote(raw); kind {
	case "complete":
		return nil
	case "input_required":
		return errInputRequired
	default:
		return &conn.ProtocolError{What: "a result of unknown type " + protocol.Printable(string(raw), 60)}
	}
}

// decodeResult looks into the result of tools/call. It is total: content that
// is no array is none, and a block it does not know stays as it is.
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
			if errors.Is(err, wire.ErrCrowded) { // too many to part, none to lose
				d.Blocks = []toolbox.Block{toolbox.JSON(m.Value)}
			}
			if err != nil {
				continue
			}
			d.Blocks = make([]toolbox.Block, 0, len(blocks))
			for _, b := range blocks {
				d.Blocks = append(d.Blocks, decodeBlock(w.Format, b))
			}
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
