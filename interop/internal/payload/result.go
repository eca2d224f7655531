package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/toolbox"
)

// InputRequired is the type of a result that asks for input (2026-07-28, basic/patterns/mrtr).
const InputRequired = "input_required"

// maxQuestions bounds the questions in one result.
const maxQuestions = 64

// ResultType returns the type of a result, or "" if it has none, as before 2026-07-28.
func ResultType(result json.RawMessage) string {
	raw, ok := wire.Lookup(result, "resultType")
	if kind, isText := wire.Unquote(raw); isText || !ok {
		return kind
	}
	return string(raw) // not a string, and no known type
}

// CheckResult returns an error for the result of a call that is not an object, or that no client here can handle. A
// result of unknown type must be treated as invalid. kind is the type of the result. mayAsk reports that the client
// accepts a result that asks, and tasks that it accepts a task.
func CheckResult(result json.RawMessage, kind string, mayAsk, tasks bool) error {
	if len(result) == 0 || result[0] != '{' {
		return &conn.ProtocolError{What: "a result that is no object: " + protocol.Printable(string(result), maxQuoted)}
	}
	switch {
	case kind == "", kind == "complete", kind == InputRequired && mayAsk, kind == "task" && tasks:
		return nil
	case kind == InputRequired:
		return advice.ErrInputRequired
	}
	return &conn.ProtocolError{What: "a result of unknown type " + protocol.Printable(string(wire.Quote(kind)), 60)}
}

// CheckUTF8 returns the error of a reply that is not UTF-8, because strict readers would lose the whole stream
// (RFC 8259, section 8.1). For tools/list only the bad rows are dropped, later.
func CheckUTF8(method string, result json.RawMessage, err error) error {
	if rpc, ok := errors.AsType[*protocol.RPCError](err); ok {
		result = rpc.Data
	}
	if bad := wire.CheckUTF8(result); bad != nil && method != protocol.MethodToolsList {
		return &conn.ProtocolError{What: "a broken answer", Cause: bad}
	}
	return nil
}

// maxQuoted bounds the part of a malformed result that a fault quotes, in bytes.
const maxQuoted = 300

// CheckReadable returns an error that quotes the result of a tools/call if a model or a program cannot read it. A
// gateway passes the result on unchanged. params are the params of the call.
func CheckReadable(params, result json.RawMessage) error {
	if flaw := resultFlaw(params, result); flaw != "" {
		return &conn.ProtocolError{What: "a result with " + flaw + ": " + protocol.Printable(string(result), maxQuoted)}
	}
	return nil
}

// resultFlaw returns the reason why no client can read the result of a tools/call, or "" if it is readable. Without
// this check, such a result would count as a success without content. A "content" that is null counts as an empty list,
// because many servers write it. Any other member that is null counts as missing.
func resultFlaw(params, result json.RawMessage) string {
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
		if _, wanted := wire.Lookup(params, "task"); wanted {
			return ""
		}
		return "a task, although the call asked for none"
	}
	if !hasContent {
		return `no "content"`
	}
	return ""
}

// DecodeResult decodes the result of tools/call. A block of unknown type stays unchanged. The toolResult of 2024-10-07
// is one JSON block.
func DecodeResult(w toolbox.Wire) toolbox.Decoded {
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
	if b[0] == '"' { // a text without its block
		text, _ := wire.Unquote(b)
		return toolbox.Text(text)
	}
	if kind, ok := protocol.LookupString(b, "type"); !ok || kind == "text" {
		if text, ok := protocol.LookupString(b, "text"); ok {
			return toolbox.Text(text)
		}
	}
	return toolbox.Block{Wire: toolbox.Wire{Format: format, JSON: b}}
}

// WithInputRequiredType adds the missing type to a legacy server's result that asks for input. go-sdk servers convert
// the first question of a tool to the form of the session. They send later questions unconverted.
func WithInputRequiredType(result json.RawMessage) json.RawMessage {
	// The search is for the part of "inputRequests" that begins with a rare letter, because that is cheap.
	if !bytes.Contains(result, []byte(`Requests"`)) {
		return result
	}
	_, hasQuestions := wire.Lookup(result, "inputRequests")
	if _, typed := wire.Lookup(result, "resultType"); typed || !hasQuestions {
		return result
	}
	out, err := wire.Rewrite(result, wire.Edit{Key: "resultType", Value: json.RawMessage(`"input_required"`)})
	if err != nil { // a member occurs twice
		return result
	}
	return out
}

// Question is one question in a result.
type Question struct {
	Key, Method string
	Params      json.RawMessage
}

// Questions reads a result that asks for input from a client with these capabilities. handle is its requestState,
// or nil if it has none.
func Questions(result, capabilities json.RawMessage) (questions []Question, handle json.RawMessage, err error) {
	handle, busy := wire.Lookup(result, "requestState")
	requests, ok := wire.Lookup(result, "inputRequests")
	members, err := wire.Members(requests)
	switch {
	case !ok && !busy:
		return nil, nil, &conn.ProtocolError{What: "the server asks for input, and does not name any"}
	case ok && err != nil, wire.Unique(members) != nil:
		return nil, nil, &conn.ProtocolError{What: "inputRequests that are no object", Cause: err}
	case len(members) > maxQuestions:
		return nil, nil, &conn.ProtocolError{What: fmt.Sprintf("the server asks for %d things at once", len(members))}
	}
	for i := range members {
		q := Question{Key: members[i].Key}
		method, err := protocol.OneMember(members[i].Value, "method")
		if err == nil {
			q.Method, _ = wire.Unquote(method)
			q.Params, err = protocol.OneMember(members[i].Value, "params")
		}
		if err != nil { // the client could read another question than the one checked here
			return nil, nil, &conn.ProtocolError{What: "inputRequests of two meanings", Cause: err}
		}
		if err := protocol.CheckClientRequest(capabilities, q.Method, q.Params); err != nil {
			what := "the server asks for " + protocol.Printable(q.Method, 60) + ", which the client does not declare"
			return nil, nil, &conn.ProtocolError{What: what, Cause: err}
		}
		questions = append(questions, q)
	}
	return questions, handle, nil
}
