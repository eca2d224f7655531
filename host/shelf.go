package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxCompletions bounds the values of one answer (2025-11-25, server/utilities/completion).
const maxCompletions = 100

// libraryMethods are the methods that a library answers.
var libraryMethods = map[string]func(*toolsBackend, context.Context, interop.Message) (any, error){
	"prompts/get":         (*toolsBackend).getPrompt,
	"resources/read":      (*toolsBackend).readResource,
	"completion/complete": (*toolsBackend).complete,
}

// libraryLists maps the list methods of a library to the member with the list.
var libraryLists = map[string]string{
	"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// handleLibrary answers a request for the library.
func (t *toolsBackend) handleLibrary(
	ctx context.Context, m interop.Message, back interop.Peer,
) (json.RawMessage, error) {
	list, answer := libraryLists[m.Method], libraryMethods[m.Method]
	switch {
	case t.library == nil || list == "" && answer == nil:
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	case answer == nil:
		names, rows := t.library.rows(list)
		return t.page(m, protocol.NewList(list, names, rows))
	}
	result, err := answer(t, withClient(ctx, m, back), m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// page returns the page of a list that a request asks for.
func (t *toolsBackend) page(m interop.Message, l *protocol.List) (json.RawMessage, error) {
	cursor, _ := wire.Lookup(m.Params, "cursor")
	var cursors protocol.Cursors
	if t.size > 0 {
		cursors = t.keys.Cursors(string(m.Caller), m.Method)
	}
	return l.Page(m.Method, cursor, t.size, cursors)
}

// rows returns the rows of a list, and their names, which cursors use.
func (l *Library) rows(list string) (names []string, rows [][]byte) {
	l.mu.Lock()
	prompts, resources := l.prompts, l.resources
	l.mu.Unlock()
	if list == "prompts" {
		for _, p := range prompts {
			row, _ := json.Marshal(p) // strings and booleans can always be encoded
			names, rows = append(names, p.Name), append(rows, row)
		}
		return names, rows
	}
	uri := map[string]string{"resources": "uri", "resourceTemplates": "uriTemplate"}[list]
	for _, b := range resources {
		if (b.template != nil) == (uri == "uriTemplate") {
			row := wire.Object{}.Text(uri, b.URI).Text("name", b.Name).Text("title", b.Title).
				Text("description", b.Description).Text("mimeType", b.MIME)
			names, rows = append(names, b.URI), append(rows, row.JSON())
		}
	}
	return names, rows
}

// prompt returns the prompt with a name.
func (l *Library) prompt(name string) (Prompt, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.prompts, func(p Prompt) bool { return p.Name == name }); i >= 0 {
		return l.prompts[i], true
	}
	return Prompt{}, false
}

func badRequest(m interop.Message, format string, args ...any) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": " + fmt.Sprintf(format, args...)}
}

func (t *toolsBackend) getPrompt(ctx context.Context, m interop.Message) (any, error) {
	var params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, badRequest(m, "%v", err)
	}
	p, ok := t.library.prompt(params.Name)
	if !ok {
		return nil, badRequest(m, "no prompt named %q is available", protocol.Printable(params.Name, 80))
	}
	for _, a := range p.Arguments {
		if _, given := params.Arguments[a.Name]; a.Required && !given {
			return nil, badRequest(m, "the prompt %s lacks the argument %q", p.Name, a.Name)
		}
	}
	messages, err := p.Get(ctx, params.Arguments)
	if err != nil {
		return nil, err
	}
	encoded, err := encodeMessages(messages)
	if err != nil {
		return nil, err
	}
	return struct {
		Description string          `json:"description,omitempty"`
		Messages    json.RawMessage `json:"messages"`
	}{p.Description, encoded}, nil
}

func (t *toolsBackend) readResource(ctx context.Context, m interop.Message) (any, error) {
	uri, ok := protocol.LookupString(m.Params, "uri")
	if err := checkURI(uri); !ok || err != nil {
		return nil, badRequest(m, "no uri, or a bad one")
	}
	b, parts, ok := t.library.find(uri)
	if !ok {
		return nil, noResource(m.Method, uri)
	}
	r := b.Resource.Resource
	r.URI = uri
	if b.Read != nil {
		var err error
		r, err = b.Read(ctx, r, parts)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, noResource(m.Method, uri)
		}
		if err != nil {
			return nil, err
		}
	}
	contents, _ := wire.Lookup(toolbox.Embedded(r).Wire.JSON, "resource")
	return map[string][]json.RawMessage{"contents": {contents}}, nil
}

func (t *toolsBackend) complete(ctx context.Context, m interop.Message) (any, error) {
	var params struct {
		Ref      struct{ Type, Name, URI string }
		Argument struct{ Name, Value string }
		Context  struct{ Arguments map[string]string }
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, badRequest(m, "%v", err)
	}
	var complete Completion
	found := false
	switch ref := params.Ref; ref.Type {
	case "ref/prompt":
		var p Prompt
		p, found = t.library.prompt(ref.Name)
		for _, a := range p.Arguments {
			if a.Name == params.Argument.Name {
				complete = a.Complete
			}
		}
	case "ref/resource":
		t.library.mu.Lock()
		for _, b := range t.library.resources {
			if b.URI == ref.URI {
				complete, found = b.Complete[params.Argument.Name], true
			}
		}
		t.library.mu.Unlock()
	}
	if !found {
		return nil, badRequest(m, "nothing named %q is available", protocol.Printable(params.Ref.Name+params.Ref.URI, 80))
	}
	values := []string{}
	if complete != nil {
		words, err := complete(ctx, params.Argument.Value, params.Context.Arguments)
		if err != nil {
			return nil, err
		}
		values = append(values, words...)
	}
	type completion struct {
		Values []string `json:"values"`
		Total  int      `json:"total"`
		More   bool     `json:"hasMore"`
	}
	total := len(values)
	return map[string]completion{"completion": {values[:min(total, maxCompletions)], total, total > maxCompletions}}, nil
}

// noResource returns the error for a URI without a resource.
func noResource(method, uri string) error {
	return &interop.RPCError{
		Code: protocol.CodeLegacyNotFound, Message: method + ": resource not found: " + protocol.Printable(uri, 200),
		Data: wire.Object{}.Text("uri", uri).JSON(),
	}
}
