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
	"prompts/get": (*toolsBackend).getPrompt, "resources/read": (*toolsBackend).readResource, "completion/complete": (*toolsBackend).complete,
}

// borrow answers a request for what the library has.
func (t *toolsBackend) borrow(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	switch m.Method {
	case "prompts/list":
		return t.shelf(m, "prompts", func(l *Library) (rows []row) {
			for _, p := range l.prompts {
				rows = append(rows, promptRow(p))
			}
			return rows
		})
	case "resources/list":
		return t.shelf(m, "resources", func(l *Library) []row { return l.rows(false) })
	case "resources/templates/list":
		return t.shelf(m, "resourceTemplates", func(l *Library) []row { return l.rows(true) })
	}
	answer := libraryMethods[m.Method]
	if answer == nil || t.library == nil {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	result, err := answer(t, withClient(ctx, m, back), m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// row is one of a list: its JSON is what the list shows, its name what a cursor goes by.
type row struct {
	name  string
	shows any
}

// shelf is a page of a list.
func (t *toolsBackend) shelf(m interop.Message, key string, of func(*Library) []row) (json.RawMessage, error) {
	if t.library == nil {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	t.library.mu.Lock()
	all := of(t.library)
	t.library.mu.Unlock()
	names, rows := make([]string, len(all)), make([][]byte, len(all))
	for i, r := range all {
		raw, err := json.Marshal(r.shows)
		if err != nil {
			return nil, err
		}
		names[i], rows[i] = r.name, raw
	}
	return t.page(m, protocol.NewList(key, names, rows))
}

// page is the page of a list that a request asks for.
func (t *toolsBackend) page(m interop.Message, l *protocol.List) (json.RawMessage, error) {
	cursor, _ := wire.Lookup(m.Params, "cursor")
	var cursors protocol.Cursors
	if t.size > 0 {
		cursors = t.keys.Cursors(string(m.Caller), m.Method)
	}
	return l.Page(m.Method, cursor, t.size, cursors)
}

func promptRow(p Prompt) row {
	type argument struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		Required    bool   `json:"required,omitempty"`
	}
	shows := struct {
		Name        string     `json:"name"`
		Title       string     `json:"title,omitempty"`
		Description string     `json:"description,omitempty"`
		Arguments   []argument `json:"arguments,omitempty"`
	}{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		shows.Arguments = append(shows.Arguments, argument{a.Name, a.Title, a.Description, a.Required})
	}
	return row{p.Name, shows}
}

// rows are the resources, or the templates. Call it with mu held.
func (l *Library) rows(templates bool) (rows []row) {
	for _, b := range l.resources {
		shows := struct {
			URI         string `json:"uri,omitempty"`
			Template    string `json:"uriTemplate,omitempty"`
			Name        string `json:"name"`
			Title       string `json:"title,omitempty"`
			Description string `json:"description,omitempty"`
			MIME        string `json:"mimeType,omitempty"`
		}{b.URI, "", b.Name, b.Title, b.Description, b.MIME}
		if b.template != nil {
			shows.URI, shows.Template = "", b.URI
		}
		if templates == (b.template != nil) {
			rows = append(rows, row{b.URI, shows})
		}
	}
	return rows
}

// prompt is the prompt of a name.
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
		if r, err = b.Read(ctx, r, parts); errors.Is(err, fs.ErrNotExist) {
			return nil, noResource(m.Method, uri)
		} else if err != nil {
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
	var proposes Completion
	found := false
	switch ref := params.Ref; ref.Type {
	case "ref/prompt":
		var p Prompt
		p, found = t.library.prompt(ref.Name)
		for _, a := range p.Arguments {
			if a.Name == params.Argument.Name {
				proposes = a.Complete
			}
		}
	case "ref/resource":
		t.library.mu.Lock()
		for _, b := range t.library.resources {
			if b.URI == ref.URI {
				proposes, found = b.Complete[params.Argument.Name], true
			}
		}
		t.library.mu.Unlock()
	}
	if !found {
		return nil, badRequest(m, "nothing named %q is available", protocol.Printable(params.Ref.Name+params.Ref.URI, 80))
	}
	values := []string{}
	if proposes != nil {
		proposed, err := proposes(ctx, params.Argument.Value, params.Context.Arguments)
		if err != nil {
			return nil, err
		}
		values = append(values, proposed...)
	}
	type completion struct {
		Values []string `json:"values"`
		Total  int      `json:"total"`
		More   bool     `json:"hasMore"`
	}
	total := len(values)
	return map[string]completion{"completion": {values[:min(total, maxCompletions)], total, total > maxCompletions}}, nil
}

// noResource is the answer to a URI that no resource has.
func noResource(method, uri string) error {
	return &interop.RPCError{
		Code: protocol.CodeLegacyNotFound, Message: method + ": resource not found: " + protocol.Printable(uri, 200),
		Data: wire.Object{}.Text("uri", uri).JSON(),
	}
}
