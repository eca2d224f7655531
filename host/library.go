package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/yosida95/uritemplate/v3"
)

// Library holds the prompts and resources of a program, which [New] publishes beside its tools (Options.Library). They
// are listed in the order in which their names were first added. All methods may be called from any goroutine. Clients
// are notified of changes.
type Library struct {
	promptChanges, resourceChanges toolbox.Watchers

	mu            sync.Mutex // guards the fields below; the slices themselves never change
	prompts       []Prompt
	resources     []libraryResource
	subscriptions map[*librarySubscription]bool
}

// libraryResource is a resource with its template. The template is nil if the URI has no variables.
type libraryResource struct {
	Resource
	template *uritemplate.Template
}

// librarySubscription is one subscription to a resource.
type librarySubscription struct {
	uri     string
	updated func(interop.Message)
}

// NewLibrary returns an empty library.
func NewLibrary() *Library { return &Library{subscriptions: map[*librarySubscription]bool{}} }

// Prompt is one or more messages that a person lets a client send to its model.
type Prompt struct {
	// Name is unique in its library.
	Name string `json:"name"`
	// Title and Description are for people. "": none.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Arguments are filled in by the person.
	Arguments []Argument `json:"arguments,omitempty"`
	// Get returns the messages. arguments has only the arguments that the client sent. A request without a required
	// argument is refused before. Get may use [toolbox.Elicit], [toolbox.Sample] and [toolbox.Log].
	Get func(ctx context.Context, arguments map[string]string) ([]toolbox.Message, error) `json:"-"`
}

// Argument is one argument of a [Prompt].
type Argument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Required reports that a request without the argument is refused.
	Required bool `json:"required,omitempty"`
	// Complete proposes values. It may be nil.
	Complete Completion `json:"-"`
}

// Completion returns values that begin with the text that a person has typed so far, best first. known holds the other
// arguments that the client already has.
type Completion func(ctx context.Context, typed string, known map[string]string) ([]string, error)

// Words returns a Completion that proposes the words that begin with the typed text. It ignores case.
func Words(words ...string) Completion {
	return func(_ context.Context, typed string, _ map[string]string) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			return !strings.HasPrefix(strings.ToLower(w), strings.ToLower(typed))
		}), nil
	}
}

// Resource is a resource that clients read by its URI.
type Resource struct {
	// Resource is the row of the list. A URI with variables ("menu://dishes/{dish}", RFC 6570) is a template. It
	// answers for all URIs that match it and are not listed themselves. Without Read, the content is Text or Data.
	toolbox.Resource
	// Read returns the content. r is the row with the URI that the client requested. parts holds the values of the
	// template's variables. If Read returns an [fs.ErrNotExist], the client receives the error that the resource does
	// not exist. Read may use [toolbox.Elicit], [toolbox.Sample] and [toolbox.Log]. If Read is nil, the content is the
	// content of the row.
	Read func(ctx context.Context, r toolbox.Resource, parts map[string]string) (toolbox.Resource, error)
	// Complete proposes values for variables of a template, by name. It may be nil.
	Complete map[string]Completion
}

// AddPrompt adds prompts, or replaces prompts of the same names. It panics on a prompt without a name or without Get.
func (l *Library) AddPrompt(prompts ...Prompt) {
	for _, p := range prompts {
		if p.Name == "" || p.Get == nil {
			panic(fmt.Sprintf("host: the prompt %q needs a name and a Get", p.Name))
		}
	}
	l.change(&l.promptChanges, func() {
		for _, p := range prompts {
			l.prompts = replaceOrAppend(l.prompts, p, func(old Prompt) bool { return old.Name == p.Name })
		}
	})
}

// RemovePrompts removes prompts. Unknown names are ignored.
func (l *Library) RemovePrompts(names ...string) {
	l.change(&l.promptChanges, func() {
		l.prompts = slices.DeleteFunc(slices.Clone(l.prompts), func(p Prompt) bool { return slices.Contains(names, p.Name) })
	})
}

// AddResource adds resources and templates, or replaces entries of the same URIs. It panics on a URI that is empty, has
// no scheme or is not a valid template, and on a template without Read.
func (l *Library) AddResource(resources ...Resource) {
	books := make([]libraryResource, len(resources))
	for i, r := range resources {
		books[i].Resource = r
		books[i].Name = cmp.Or(r.Name, r.URI)
		scheme, _, isTemplate := strings.Cut(r.URI, "{")
		if !strings.Contains(scheme, ":") {
			panic(fmt.Sprintf("host: the URI of the resource %q needs a scheme, as in menu://today", r.URI))
		}
		if !isTemplate {
			continue
		}
		t, err := uritemplate.New(r.URI)
		if err != nil || r.Read == nil {
			panic(fmt.Sprintf("host: the resource template %q is malformed or has no Read: %v", r.URI, err))
		}
		books[i].template = t
	}
	l.change(&l.resourceChanges, func() {
		for _, b := range books {
			l.resources = replaceOrAppend(l.resources, b, func(old libraryResource) bool { return old.URI == b.URI })
		}
	})
}

// RemoveResources removes resources and templates by their URIs. Unknown URIs are ignored.
func (l *Library) RemoveResources(uris ...string) {
	l.change(&l.resourceChanges, func() {
		l.resources = slices.DeleteFunc(slices.Clone(l.resources), func(b libraryResource) bool {
			return slices.Contains(uris, b.URI)
		})
	})
}

// Updated notifies the clients that have subscribed to a resource.
func (l *Library) Updated(uri string) {
	l.mu.Lock()
	var all []*librarySubscription
	for r := range l.subscriptions {
		if r.uri == uri {
			all = append(all, r)
		}
	}
	l.mu.Unlock()
	params := wire.Object{}.Text("uri", uri).JSON()
	for _, r := range all {
		r.updated(interop.Message{Method: protocol.NoteResourceUpdated, Params: params})
	}
}

// replaceOrAppend replaces the first element for which matches returns true, or appends.
func replaceOrAppend[T any](list []T, item T, matches func(T) bool) []T {
	list = slices.Clone(list)
	if i := slices.IndexFunc(list, matches); i >= 0 {
		list[i] = item
		return list
	}
	return append(list, item)
}

func (l *Library) change(changes *toolbox.Watchers, edit func()) {
	l.mu.Lock()
	edit()
	l.mu.Unlock()
	changes.Notify()
}

// find returns the resource of a URI. If there is none, it returns the first template that matches, with the values of
// its variables.
func (l *Library) find(uri string) (b libraryResource, parts map[string]string, ok bool) {
	l.mu.Lock()
	all := l.resources
	l.mu.Unlock()
	for _, b := range all {
		if b.template == nil && b.URI == uri {
			return b, nil, true
		}
	}
	for _, b := range all {
		if b.template == nil {
			continue
		}
		if values := b.template.Match(uri); values != nil {
			parts = map[string]string{}
			for _, name := range b.template.Varnames() {
				parts[name] = values.Get(name).String()
			}
			return b, parts, true
		}
	}
	return libraryResource{}, nil, false
}
