package host

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"github.com/indusagi/indus/host/internal/tools"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxCompletions bounds the values of one answer (2025-11-25, server/utilities/completion).
const maxCompletions = 100

// libraryBackend is a backend over a toolbox and a library.
type libraryBackend struct {
	*tools.Backend
	library *Library
}

// libraryCapabilities are the capabilities of a toolbox with a library.
const libraryCapabilities = `{"logging":{},"tools":{"listChanged":true},"prompts":{"listChanged":true},` +
	`"resources":{"subscribe":true,"listChanged":true},"completions":{}}`

// libraryMethods are the methods that a library answers.
var libraryMethods = map[string]func(*Library, context.Context, interop.Message) (any, error){
	protocol.MethodPromptsGet: (*Library).getPrompt,
	"resources/read":          (*Library).readResource,
	"completion/complete":     (*Library).complete,
}

// libraryLists maps the list methods of a library to the member with the list.
var libraryLists = map[string]string{
	"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// Handle implements [Backend].
func (b *libraryBackend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	if list := libraryLists[m.Method]; list != "" {
		names, rows := b.library.rows(list)
		return b.Page(m, protocol.NewList(list, names, rows))
	}
	if answer := libraryMethods[m.Method]; answer != nil {
		result, err := answer(b.library, tools.WithClient(ctx, m, back), m)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	}
	raw, err := b.Backend.Handle(ctx, m, back)
	if err != nil || m.Method != protocol.MethodDiscover {
		return raw, err
	}
	return wire.Rewrite(raw, wire.Edit{Key: "capabilities", Value: []byte(libraryCapabilities)})
}

// Watch implements [Backend].
func (b *libraryBackend) Watch(notify func(interop.Message)) (stop func()) {
	stops := []func(){
		b.Backend.Watch(notify),
		b.library.promptChanges.Watch(func() { notify(interop.Message{Method: protocol.NotePromptsChanged}) }),
		b.library.resourceChanges.Watch(func() { notify(interop.Message{Method: protocol.NoteResourcesChanged}) }),
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Subscribe implements [Subscriber].
func (b *libraryBackend) Subscribe(
	_ context.Context, _ interop.Message, uri string, updated func(interop.Message),
) (stop func(), err error) {
	l := b.library
	if _, _, ok := l.find(uri); !ok {
		return nil, noResource(protocol.MethodSubscribe, uri)
	}
	r := &librarySubscription{uri, updated}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscriptions[r] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subscriptions, r)
	}, nil
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

func (l *Library) getPrompt(ctx context.Context, m interop.Message) (any, error) {
	var params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	}
	p, ok := l.prompt(params.Name)
	if !ok {
		return nil, protocol.InvalidParams(m.Method, "no prompt named %q is available", protocol.Printable(params.Name, 80))
	}
	for _, a := range p.Arguments {
		if _, given := params.Arguments[a.Name]; a.Required && !given {
			return nil, protocol.InvalidParams(m.Method, "the prompt %s lacks the argument %q", p.Name, a.Name)
		}
	}
	messages, err := p.Get(ctx, params.Arguments)
	if err != nil {
		return nil, err
	}
	encoded, err := tools.EncodeMessages(messages)
	if err != nil {
		return nil, err
	}
	return struct {
		Description string          `json:"description,omitempty"`
		Messages    json.RawMessage `json:"messages"`
	}{p.Description, encoded}, nil
}

func (l *Library) readResource(ctx context.Context, m interop.Message) (any, error) {
	uri, ok := protocol.LookupString(m.Params, "uri")
	if err := checkURI(uri); !ok || err != nil {
		return nil, protocol.InvalidParams(m.Method, "no uri, or a bad one")
	}
	b, parts, ok := l.find(uri)
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

func (l *Library) complete(ctx context.Context, m interop.Message) (any, error) {
	var params struct {
		Ref      struct{ Type, Name, URI string }
		Argument struct{ Name, Value string }
		Context  struct{ Arguments map[string]string }
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	}
	var complete Completion
	found := false
	switch ref := params.Ref; ref.Type {
	case "ref/prompt":
		var p Prompt
		p, found = l.prompt(ref.Name)
		for _, a := range p.Arguments {
			if a.Name == params.Argument.Name {
				complete = a.Complete
			}
		}
	case "ref/resource":
		l.mu.Lock()
		for _, b := range l.resources {
			if b.URI == ref.URI {
				complete, found = b.Complete[params.Argument.Name], true
			}
		}
		l.mu.Unlock()
	}
	if !found {
		name := protocol.Printable(params.Ref.Name+params.Ref.URI, 80)
		return nil, protocol.InvalidParams(m.Method, "nothing named %q is available", name)
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
