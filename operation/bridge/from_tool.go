package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// Content returns the output schema for a tool that declares none. It describes the list of MCP's content blocks: text,
// image, audio, resource and resource_link. It accepts blocks of other types unchanged. Structured content without a
// declared schema is the last block, of type "structured".
func Content() json.RawMessage { return bytes.Clone(contentSchema) }

var contentSchema = json.RawMessage(`{"type":"array","items":{"type":"object","required":["type"],` +
	`"properties":{"type":{"type":"string"}},"anyOf":[` +
	`{"properties":{"type":{"const":"text"},"text":{"type":"string"}},"required":["text"]},` +
	`{"properties":{"type":{"const":"image"},"data":{"type":"string"},"mimeType":{"type":"string"}},` +
	`"required":["data","mimeType"]},` +
	`{"properties":{"type":{"const":"audio"},"data":{"type":"string"},"mimeType":{"type":"string"}},` +
	`"required":["data","mimeType"]},` +
	`{"properties":{"type":{"const":"resource"},"resource":{"type":"object","properties":{` +
	`"uri":{"type":"string"},"mimeType":{"type":"string"},"text":{"type":"string"},"blob":{"type":"string"}},` +
	`"required":["uri"],"anyOf":[{"required":["text"]},{"required":["blob"]}]}},"required":["resource"]},` +
	`{"properties":{"type":{"const":"resource_link"},"uri":{"type":"string"},"name":{"type":"string"}},` +
	`"required":["uri","name"]},` +
	`{"properties":{"type":{"not":{"enum":["text","image","audio","resource","resource_link"]}}}}` +
	`]}}`)

// registrations returns an operation for each tool. Each holds the link until it is released.
func (f *FromMCP) registrations(l *link, tools []toolbox.Descriptor) []operation.Registration {
	all, quarantined := f.operations(l, tools)
	for _, q := range quarantined {
		f.logger().Warn("a tool is no operation", slog.String("server", q.Server), slog.String("tool", q.Tool),
			slog.String("reason", q.Reason))
	}
	for i := range all {
		l.acquire() // the caller holds it
		all[i].Release = sync.OnceFunc(l.release)
	}
	return all
}

// operations returns an operation for each tool, or the reason for which it cannot be one. A bad tool never fails the
// whole import.
func (f *FromMCP) operations(l *link, tools []toolbox.Descriptor) (all []operation.Registration,
	quarantined []interop.Quarantine) {
	for i := range tools {
		r := f.operation(l, &tools[i])
		if err := r.Check(); err != nil {
			quarantined = append(quarantined, interop.Quarantine{Server: f.Namespace, Tool: tools[i].Tool, Reason: err.Error(),
				Published: true})
			continue
		}
		all = append(all, r)
	}
	return all, quarantined
}

func (f *FromMCP) operation(l *link, d *toolbox.Descriptor) operation.Registration {
	spec := operation.Spec{
		Name: d.Tool, Namespace: f.Namespace, Description: d.Description, Kind: operation.Mutation,
		Visibility: operation.Internal, Input: d.Schema, Output: contentSchema, Errors: slices.Clone(errorDefinitions),
	}
	if f.Prefix {
		spec.Name = operation.Join(f.Namespace, d.Tool)
	}
	output, declared := wire.Lookup(d.Wire.JSON, "outputSchema")
	declared = declared && string(output) != "null" // some servers write null if there is no schema
	if declared {
		spec.Output = output
	}
	annotations, _ := wire.Lookup(d.Wire.JSON, "annotations")
	if readOnly, _ := wire.Lookup(annotations, "readOnlyHint"); f.TrustAnnotations && string(readOnly) == "true" {
		spec.Kind = operation.Query
	}
	t := &remote{link: l, tool: *d, declared: declared, readOnly: spec.Kind == operation.Query, capability: f.capability(),
		tokenRequired: f.OwnTokens}
	r := operation.Registration{Spec: spec, Handler: t.handle, Provenance: operation.FromMCP}
	if !f.OwnTokens && f.Token.Reveal() != "" {
		r.Capabilities = operation.Capabilities{t.capability: f.Token}
	}
	return r
}

// remote is one tool of a server.
type remote struct {
	link          *link
	tool          toolbox.Descriptor
	declared      bool   // it has an output schema
	readOnly      bool   // a second call does no harm
	capability    string // the name of the token's capability
	tokenRequired bool   // the call must bring a token
}

// handle is the handler of the operation.
func (t *remote) handle(ctx context.Context, c *operation.Context, input json.RawMessage) (json.RawMessage, error) {
	token, _ := c.Capability(t.capability)
	if t.tokenRequired && token.Reveal() == "" {
		return nil, &operation.Error{
			Code: Unauthorized, Message: fmt.Sprintf("the call brings no capability %q", t.capability),
			Details: json.RawMessage(`{"status":0}`),
		}
	}
	r, err := t.link.call(ctx, &t.tool, token, input)
	switch {
	case err != nil:
		return nil, t.failure(ctx, err)
	case r.IsError():
		return nil, toolError(r)
	}
	return t.value(r)
}

// value returns the value of a result. If the tool declares an output schema, the value is the structured content
// (2025-06-18, server/tools, "Output Schema": servers MUST provide structured results that conform). The registry
// checks it against the schema. Without a schema the value is the content. Text that looks like JSON stays text.
func (t *remote) value(r *toolbox.Result) (json.RawMessage, error) {
	structured := r.Structured()
	switch {
	case !t.declared:
		return withStructured(content(r), structured), nil
	case structured == nil:
		return nil, &operation.Error{
			Code:    operation.InternalError,
			Message: "the server gave no structured content, though the tool declares an output schema",
			Details: details(operation.Details{Operation: t.tool.Tool}),
		}
	}
	return structured, nil
}

// content returns the content blocks, byte for byte.
func content(r *toolbox.Result) json.RawMessage {
	blocks, ok := wire.Lookup(r.Wire().JSON, "content")
	if !ok || blocks[0] != '[' {
		return json.RawMessage("[]")
	}
	return blocks
}

// withStructured appends structured content without a declared schema to the blocks, so that it is not lost.
func withStructured(blocks, structured json.RawMessage) json.RawMessage {
	if structured == nil || string(structured) == "null" {
		return blocks
	}
	head := bytes.TrimRight(blocks[:len(blocks)-1], " \t\r\n")
	all := make([]byte, 0, len(blocks)+len(structured)+48)
	all = append(all, head...)
	if len(bytes.TrimSpace(head)) > 1 {
		all = append(all, ',')
	}
	all = append(append(all, `{"type":"structured","structuredContent":`...), structured...)
	return append(all, `}]`...)
}
