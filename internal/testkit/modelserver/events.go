package modelserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

type (
	// event is an event of a stream, as it is on the wire.
	event string
	obj   = map[string]any
)

func encode(name string, data obj) event {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // this package made the data, so that it can be encoded
	}
	if name == "" {
		return event("data: " + string(b) + "\n\n")
	}
	return event("event: " + name + "\ndata: " + string(b) + "\n\n")
}

// ending returns the number of the last events that end a message, with the ends of its blocks.
func ending(events []event) (n int) {
	for i := len(events) - 1; i >= 0; i-- {
		e := string(events[i])
		if !strings.Contains(e, "_stop") && !strings.Contains(e, "message_delta") &&
			!strings.Contains(e, `"finish_reason":"`) &&
			!strings.Contains(e, `"choices":[]`) && !strings.Contains(e, "[DONE]") {
			break
		}
		n++
	}
	return n
}

func (c Call) id(prefix string, req Request, i int) string {
	if c.ID != "" {
		return c.ID
	}
	sum := sha256.Sum256(req.Body)
	return fmt.Sprintf("%s%x%d", prefix, sum[:8], i)
}

func model(req Request) string {
	var body struct{ Model string }
	_ = json.Unmarshal(req.Body, &body)
	return body.Model
}

// Signature returns the signature that Anthropic's API sends with reasoning.
func Signature(reasoning string) string {
	sum := sha256.Sum256([]byte(reasoning))
	return base64.StdEncoding.EncodeToString(sum[:])
}

var toAnthropic = dialect{check: checkAnthropic, stream: anthropicEvents,
	fault: func(status int, code, message string) obj {
		if code == "" {
			code = map[int]string{
				400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
				413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
			}[status]
		}
		if code == "" {
			code = "api_error"
		}
		return obj{"type": "error", "error": obj{"type": code, "message": message}, "request_id": "req_scripted"}
	}}

func anthropicEvents(req Request, t Turn) (events []event) {
	add := func(kind string, data obj) {
		data["type"] = kind
		events = append(events, encode(kind, data))
	}
	u := t.usage()
	add("message_start", obj{"message": obj{
		"id": "msg_scripted", "type": "message", "role": "assistant", "model": model(req), "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": obj{
			"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": 1,
			"cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		},
	}})
	add("ping", obj{})
	index := 0
	block := func(start obj, deltas ...obj) {
		add("content_block_start", obj{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", obj{"index": index, "delta": d})
		}
		add("content_block_stop", obj{"index": index})
		index++
	}
	if t.Reasoning != "" {
		deltas := deltas("thinking_delta", "thinking", t.Reasoning)
		block(obj{"type": "thinking", "thinking": "", "signature": ""},
			append(deltas, obj{"type": "signature_delta", "signature": Signature(t.Reasoning)})...)
	}
	if t.Text != "" {
		block(obj{"type": "text", "text": ""}, deltas("text_delta", "text", t.Text)...)
	}
	for i, c := range t.Calls {
		first := obj{"type": "input_json_delta", "partial_json": ""}
		block(obj{"type": "tool_use", "id": c.id("toolu_", req, i), "name": c.Name, "input": obj{}},
			append([]obj{first}, deltas("input_json_delta", "partial_json", c.Input)...)...)
	}
	add("message_delta", obj{"delta": obj{"stop_reason": t.stop("end_turn", "tool_use"), "stop_sequence": nil},
		"usage": obj{"output_tokens": u.Output}})
	add("message_stop", obj{})
	return events
}

func deltas(kind, member, s string) (all []obj) {
	for _, p := range chunks(s) {
		all = append(all, obj{"type": kind, member: p})
	}
	return all
}

func (t Turn) stop(end, calls string) string {
	switch {
	case t.Stop != "":
		return t.Stop
	case len(t.Calls) > 0:
		return calls
	}
	return end
}

var toOpenAI = dialect{check: checkOpenAI, stream: openAIEvents, fault: func(status int, code, message string) obj {
	kind := "server_error"
	switch {
	case status == 429:
		kind = "rate_limit_exceeded"
	case status < 500:
		kind = "invalid_request_error"
	}
	if code == "" && status == 401 {
		code = "invalid_api_key"
	}
	return obj{"error": obj{"message": message, "type": kind, "param": nil, "code": code}}
}}

func openAIEvents(req Request, t Turn) (events []event) {
	name := model(req)
	chunk := func(choices ...obj) obj {
		if choices == nil {
			choices = []obj{}
		}
		return obj{"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": name,
			"choices": choices}
	}
	add := func(delta obj, finish any) {
		events = append(events, encode("", chunk(obj{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish})))
	}
	add(obj{"role": "assistant", "content": ""}, nil)
	for _, p := range chunks(t.Reasoning) {
		add(obj{"reasoning_content": p}, nil)
	}
	for _, p := range chunks(t.Text) {
		add(obj{"content": p}, nil)
	}
	for _, delta := range callDeltas(req, t.Calls) {
		add(obj{"tool_calls": []obj{delta}}, nil)
	}
	add(obj{}, t.stop("stop", "tool_calls"))
	var options struct {
		StreamOptions struct {
			Include bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if json.Unmarshal(req.Body, &options) == nil && options.StreamOptions.Include {
		u, last := t.usage(), chunk()
		last["usage"] = obj{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"prompt_tokens_details": obj{"cached_tokens": u.CacheRead}}
		events = append(events, encode("", last))
	}
	return append(events, "data: [DONE]\n\n")
}

// callDeltas interleaves the chunks of all calls.
func callDeltas(req Request, calls []Call) (all []obj) {
	rest := make([][]string, len(calls))
	for i, c := range calls {
		rest[i] = chunks(c.Input)
		all = append(all, obj{"index": i, "id": c.id("call_", req, i), "type": "function",
			"function": obj{"name": c.Name, "arguments": ""}})
	}
	for more := true; more; {
		more = false
		for i, r := range rest {
			if len(r) > 0 {
				all = append(all, obj{"index": i, "function": obj{"arguments": r[0]}})
				rest[i], more = r[1:], true
			}
		}
	}
	return all
}
