package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// Content is the output schema of a tool that declares none: the list of content blocks
// of MCP, text, image, audio, resource and resource_link. Blocks of other types pass as
// they are. Structured content that no schema announces is the last block, of type
// "structured".
func Content() json.RawMessage { return bytes.Clone(contentSchema) }

var contentSchema = json.RawMessage(`{"type":"array","items":{"type":"object","required":["type"],"properties":{"type":{"type":"string"}},"anyOf":[` +
	`{"properties":{"type":{"const":"text"},"text":{"type":"string"}},"required":["text"]},` +
	`{"properties":{"type":{"const":"image"},"data":{"type":"string"},"mimeType":{"type":"string"}},"required":["data","mimeType"]},` +
	`{"properties":{"type":{"const":"audio"},"data":{"type":"string"},"mimeType":{"type":"string"}},"required":["data","mimeType"]},` +
	`{"properties":{"type":{"const":"resource"},"resource":{"type":"object","properties":{"uri":{"type":"string"},"mimeType":{"type":"string"},"text":{"type":"string"},"blob":{"type":"string"}},"required":["uri"],"anyOf":[{"required":["text"]},{"required":["blob"]}]}},"required":["resource"]},` +
	`{"properties":{"type":{"const":"resource_link"},"uri":{"type":"string"},"name":{"type":"string"}},"required":["uri","name"]},` +
	`{"properties":{"type":{"not":{"enum":["text","image","audio","resource","resource_link"]}}}}` +
	`]}}`)

// registrations makes an operation of each tool, each holding the link until it is
// released.
func (f *FromMCP) registrations(l *link, tools []toolbox.Descriptor) []operation.Registration {
	all, left := f.operations(l, tools)
	for _, q := range left {
		f.logger().Warn("a tool is no operation", slog.String("server", q.Server), slog.String("tool", q.Tool), slog.String("reason", q.Reason))
	}
	for i := range all {
		l.take() // whoever asks holds it
		all[i].Release = sync.OnceFunc(l.release)
	}
	return all
}

// operations makes an operation of each tool, or says why it cannot be one: no tool may
// spoil a whole import.
func (f *FromMCP) operations(l *link, tools []toolbox.Descriptor) (all []operation.Registration, left []interop.Quarantine) {
	for i := range tools {
		r := f.operation(l, &tools[i])
		if err := r.Check(); err != nil {
			left = append(left, interop.Quarantine{Server: f.Namespace, Tool: tools[i].Tool, Reason: err.Error(), Published: true})
			continue
		}
		all = append(all, r)
	}
	return all, left
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
	if declared = declared && string(output) != "null"; declared { // null is how some servers write what is not there
		spec.Output = output
	}
	annotations, _ := wire.Lookup(d.Wire.JSON, "annotations")
	if reads, _ := wire.Lookup(annotations, "readOnlyHint"); f.TrustAnnotations && string(reads) == "true" {
		spec.Kind = operation.Query
	}
	t := &remote{link: l, tool: *d, declared: declared, reads: spec.Kind == operation.Query, capability: f.capability(), own: f.OwnTokens}
	r := operation.Registration{Spec: spec, Handler: t.handle, Provenance: operation.FromMCP}
	if !f.OwnTokens && f.Token.Reveal() != "" {
		r.Capabilities = operation.Capabilities{t.capability: f.Token}
	}
	return r
}

// remote is one tool of a server.
type remote struct {
	link       *link
	tool       toolbox.Descriptor
	declared   bool   // it has an output schema
	reads      bool   // a second call does no harm
	capability string // where the token is
	own        bool   // which the call has to bring
}

// handle is the operation's handler.
func (t *remote) handle(ctx context.Context, c *operation.Context, input json.RawMessage) (json.RawMessage, error) {
	token, _ := c.Capability(t.capability)
	if t.own && token.Reveal() == "" {
		return nil, noToken(t.capability)
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

// value is what a tool gave: what its schema announces, and nothing else, where it has
// one (2025-06-18, server/tools, "Output Schema": servers MUST provide structured
// results that conform); the registry checks whether it fits. Otherwise it is the
// content. Text that looks like JSON stays text.
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

// content is the content blocks, byte for byte.
func content(r *toolbox.Result) json.RawMessage {
	blocks, ok := wire.Lookup(r.Wire().JSON, "content")
	if !ok || blocks[0] != '[' {
		return json.RawMessage("[]")
	}
	return blocks
}

// withStructured adds what nobody announced to the blocks, so that it is not lost.
func withStructured(blocks, structured json.RawMessage) json.RawMessage {
	if structured == nil || string(structured) == "null" {
		return blocks
	}
	head := bytes.TrimRight(blocks[:len(blocks)-1], " \t\r\n")
	all := make([]byte, 0, len(blocks)+len(structured)+48)
	if all = append(all, head...); len(bytes.TrimSpace(head)) > 1 {
		all = append(all, ',')
	}
	all = append(append(all, `{"type":"structured","structuredContent":`...), structured...)
	return append(all, `}]`...)
}
