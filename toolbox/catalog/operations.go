package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/rank"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

// Operations is what the four tools stand for: many things that have a name and can
// be called. [Over] makes one of a toolbox.
//
// Users may call all methods from any goroutine.
type Operations interface {
	// View is what caller may find now. It does not wait for servers. Its error ends
	// the search: an [*Error] as it is, another one as the error of the tool.
	View(ctx context.Context, caller toolbox.Principal) (View, error)
	// Call runs the operation that c names, with c.Input, for c.Caller. It may be asked
	// for what no View shows, and refuses it. An [*Error] becomes a result whose isError is true, and
	// so does, in a batch alone, any other error. Where its code is NotFound, the nearest
	// names are added.
	Call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error)
}

// View is what one caller may find.
type View struct {
	// List is shared by all who see parts of the same operations, and stays the same
	// for as long as they do: it holds the index, which costs something to make. nil is empty.
	List *List
	// May reports whether the caller may find the operation at that place; nil: all.
	May func(place int) bool
	// Pending names what may yet bring more operations: servers that have not answered yet.
	Pending []string
	// Down are servers that cannot be reached, whose operations are not in List.
	Down []toolbox.Down
}

// Operation describes one operation. It is read-only, down to its bytes.
type Operation struct {
	// Name is unique in its [List].
	Name string
	// Description says what it is for; "" is allowed. A search shows the beginning.
	Description string
	// Kind says in a word what calling it does: "query"; "" is not shown.
	Kind string
	// Input is the JSON Schema of its input; nil: unknown.
	Input json.RawMessage
	// Spec gives all that the tool schema shows, as one JSON object; nil: the fields above.
	Spec func() json.RawMessage
}

// List is operations at one moment. It never changes.
type List struct {
	operations []Operation
	once       sync.Once // most lists are never searched
	index      *rank.Index
	places     func() map[string]int
	checks     sync.Map // place → *validate.Validator, of what was called
}

// NewList is a List of operations, which become its own.
func NewList(operations []Operation) *List {
	return &List{operations: operations, places: sync.OnceValue(func() map[string]int {
		places := make(map[string]int, len(operations))
		for i, o := range operations {
			if _, taken := places[o.Name]; !taken {
				places[o.Name] = i
			}
		}
		return places
	})}
}

// search is the places of at most limit operations that fit the query, the best first.
func (l *List) search(query string, limit int, may func(int) bool) []int {
	l.once.Do(func() {
		documents := make([]rank.Document, len(l.operations))
		for i, o := range l.operations {
			documents[i] = rank.Document{Name: o.Name, Text: o.Description + " " + parameterWords(o.Input)}
		}
		l.index = rank.New(documents)
	})
	var places []int
	for _, hit := range l.index.Search(query, limit, may) {
		places = append(places, hit.Document)
	}
	return places
}

// parameterWords are the names and descriptions of what an input takes.
func parameterWords(schema json.RawMessage) string {
	var b strings.Builder
	for _, p := range signature.Parse(schema).Parameters() {
		b.WriteString(p.Name + " " + text.Clip(p.Schema.String("description"), maxIndexed) + " ")
	}
	return b.String()
}

// find is the place of the operation of that name, if the caller may find it.
func (v View) find(name string) (place int, ok bool) {
	if v.List == nil {
		return 0, false
	}
	at, ok := v.List.places()[name]
	return at, ok && v.shows(at)
}

func (v View) shows(place int) bool { return v.May == nil || v.May(place) }

// best are at most limit operations that fit the query. Where that says nothing, they are the
// first ones.
func (v View) best(query string, limit int) []Operation {
	if v.List == nil {
		return nil
	}
	var found []Operation
	if isBlank(query) {
		for i := range v.List.operations {
			if len(found) < limit && v.shows(i) {
				found = append(found, v.List.operations[i])
			}
		}
		return found
	}
	for _, at := range v.List.search(query, limit, v.May) {
		found = append(found, v.List.operations[at])
	}
	return found
}

// nearest returns the names that resemble a name that is not there, then those of operations that it would find.
func (v View) nearest(name string) []string {
	if v.List == nil || len(name) > maxName || isBlank(name) {
		return nil
	}
	var known []string
	whole := map[string]string{} // by the name without its server
	for i, o := range v.List.operations {
		if v.shows(i) {
			known = append(known, o.Name, rank.OwnName(o.Name))
			whole[rank.OwnName(o.Name)] = cmp.Or(whole[rank.OwnName(o.Name)], o.Name)
		}
	}
	var found, names []string
	for _, n := range text.Nearest(name, known, maxNearest) {
		found = append(found, cmp.Or(whole[n], n))
	}
	for _, o := range v.best(name, maxNearest) {
		found = append(found, o.Name)
	}
	for _, n := range found {
		if len(names) < maxNearest && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
