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

// Operations is the set behind the four tools: named operations that can be called. [Over] makes one of a
// toolbox.
//
// Users may call all methods from any goroutine.
type Operations interface {
	// View returns the operations that caller may find now. It does not wait for servers. Its error ends the
	// search. An [*Error] becomes a failed result, and any other error becomes the error of the tool.
	View(ctx context.Context, caller toolbox.Principal) (View, error)
	// Call runs the operation c.Name with c.Input, for c.Caller. It must refuse names that no View contains. An
	// [*Error] becomes a result with isError true. In a batch, any other error does too. If the code is
	// NotFound, the nearest names are added.
	Call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error)
}

// View holds the operations that one caller may find.
type View struct {
	// List is shared by all callers that see parts of the same operations. It stays the same as long as the
	// operations do, because it holds the index, which is expensive to make. nil is empty.
	List *List
	// May reports whether the caller may find the operation at that place. nil means all operations.
	May func(place int) bool
	// Pending names servers that have not answered yet. They may add more operations.
	Pending []string
	// Down lists servers that cannot be reached. Their operations are not in List.
	Down []toolbox.Down
}

// Operation describes one operation. It is read-only, including its bytes.
type Operation struct {
	// Name is unique in its [List].
	Name string
	// Description explains the purpose. It may be "". A search shows its beginning.
	Description string
	// Kind is one word for the effect of a call, for example "query". "" is not shown.
	Kind string
	// Input is the JSON Schema of its input. nil means unknown.
	Input json.RawMessage
	// Spec returns the full answer of the tool schema, as one JSON object. If it is nil, the answer consists of
	// the fields above.
	Spec func() json.RawMessage
}

// List holds the operations at one moment. It never changes.
type List struct {
	operations   []Operation
	index        func() *rank.Index // made by the first search, because most lists are never searched
	placesByName func() map[string]int
	validators   sync.Map // place → *validate.Validator, for operations already called
}

// NewList returns a List of operations. It takes ownership of the slice.
func NewList(operations []Operation) *List {
	places := func() map[string]int {
		places := make(map[string]int, len(operations))
		for i, o := range slices.Backward(operations) {
			places[o.Name] = i
		}
		return places
	}
	index := func() *rank.Index {
		documents := make([]rank.Document, len(operations))
		for i, o := range operations {
			documents[i] = rank.Document{Name: o.Name, Text: o.Description + " " + parameterWords(o.Input)}
		}
		return rank.New(documents)
	}
	return &List{operations: operations, index: sync.OnceValue(index), placesByName: sync.OnceValue(places)}
}

// search returns the places of at most limit operations that match the query, the best first.
func (l *List) search(query string, limit int, may func(int) bool) (places []int) {
	for _, hit := range l.index().Search(query, limit, may) {
		places = append(places, hit.Document)
	}
	return places
}

// parameterWords returns the names and descriptions of an input's parameters.
func parameterWords(schema json.RawMessage) string {
	var b strings.Builder
	for _, p := range signature.Parse(schema).Parameters() {
		b.WriteString(p.Name + " " + text.Clip(p.Schema.String("description"), maxIndexed) + " ")
	}
	return b.String()
}

// find returns the place of the operation with that name, if the caller may find it.
func (v View) find(name string) (place int, ok bool) {
	if v.List == nil {
		return 0, false
	}
	at, ok := v.List.placesByName()[name]
	return at, ok && v.isVisible(at)
}

func (v View) isVisible(place int) bool { return v.May == nil || v.May(place) }

// bestMatches returns at most limit operations that match the query. For a blank query it returns the first operations.
func (v View) bestMatches(query string, limit int) []Operation {
	if v.List == nil {
		return nil
	}
	var found []Operation
	if isBlank(query) {
		for i := range v.List.operations {
			if len(found) < limit && v.isVisible(i) {
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

// nearest returns names for a name that does not exist: first the similar names, then the names of operations
// that a search for it finds.
func (v View) nearest(name string) []string {
	if v.List == nil || len(name) > maxName || isBlank(name) {
		return nil
	}
	var known []string
	whole := map[string]string{} // by the name without its server
	for i, o := range v.List.operations {
		if v.isVisible(i) {
			known = append(known, o.Name, rank.OwnName(o.Name))
			whole[rank.OwnName(o.Name)] = cmp.Or(whole[rank.OwnName(o.Name)], o.Name)
		}
	}
	var found, names []string
	for _, n := range text.Nearest(name, known, maxNearest) {
		found = append(found, cmp.Or(whole[n], n))
	}
	for _, o := range v.bestMatches(name, maxNearest) {
		found = append(found, o.Name)
	}
	for _, n := range found {
		if len(names) < maxNearest && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
