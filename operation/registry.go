package operation

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const defaultTimeout = 10 * time.Minute

// Options configure a Registry. nil is valid.
type Options struct {
	// Timeout limits every call whose Registration has no timeout. If it is 0, it is 10 minutes. If it is negative,
	// there is no limit.
	Timeout time.Duration
	// Logger receives panics with their stacks, errors that are not returned to callers, unusable schemas, and values
	// that do not fit their schemas. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// Registry holds operations and runs them. Operations keep the order in which their names were first added. All methods
// are safe for concurrent use.
type Registry struct {
	timeout time.Duration
	log     *slog.Logger
	calls   atomic.Uint64 // for ids of calls without an id
	current atomic.Pointer[content]

	mu sync.Mutex // serializes changes
}

// content is the state of a Registry at one moment. It never changes.
type content struct {
	byName   map[string]*operation
	order    []*operation
	snapshot *Snapshot
}

// Snapshot is the content of a Registry at one moment. It never changes.
type Snapshot struct {
	// Version increases with each change.
	Version    uint64
	Operations []Entry
}

// Entry describes an operation. It is read-only, down to its bytes.
type Entry struct {
	Spec       Spec
	Provenance Provenance
	Owner      string
}

// CallableBy reports whether the identity may call the operation from outside.
func (e Entry) CallableBy(caller Identity) bool {
	return e.Spec.Visibility == External && e.Spec.Access.Allows(caller.Grants)
}

// Collision is the error for a name that is already taken.
type Collision struct {
	Name string
	// Has is the operation that has the name. Wants is the rejected operation.
	Has, Wants Entry
}

func (e *Collision) Error() string {
	return fmt.Sprintf("operation: %q is registered already, by %s; %s cannot have the name too", e.Name, e.Has.describe(),
		e.Wants.describe())
}

func (e Entry) describe() string {
	if e.Owner == "" {
		return "a " + string(e.Provenance) + " operation"
	}
	return fmt.Sprintf("%q (%s)", e.Owner, e.Provenance)
}

// NewRegistry returns an empty Registry.
func NewRegistry(o *Options) *Registry {
	o = cmp.Or(o, &Options{})
	r := &Registry{timeout: cmp.Or(o.Timeout, defaultTimeout), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	r.current.Store(&content{snapshot: &Snapshot{Operations: []Entry{}}})
	return r
}

// Add registers all operations or none. If a name is taken, the error is a [*Collision]. Other errors are as in
// [Registration.Check].
func (r *Registry) Add(all ...Registration) error {
	added, err := prepareAll(all)
	if err != nil {
		return err
	}
	return r.change(func(old []*operation) []*operation { return append(old, added...) })
}

// Replace replaces all operations of an owner in one change. If it fails, as Add can, nothing changes. Operations that
// stay keep their places. Running calls end with the operation with which they began. Replace sets the Owner of each
// Registration. Without registrations it removes all operations of the owner. owner must not be "".
func (r *Registry) Replace(owner string, all ...Registration) error {
	if owner == "" {
		return fmt.Errorf("operation: Replace needs an owner")
	}
	owned := slices.Clone(all)
	for i := range owned {
		owned[i].Owner = owner
	}
	added, err := prepareAll(owned)
	if err != nil {
		return err
	}
	return r.change(func(old []*operation) []*operation { return replaceOwned(old, owner, added) })
}

// replaceOwned returns old with the owner's operations replaced by added.
func replaceOwned(old []*operation, owner string, added []*operation) []*operation {
	byName := make(map[string]*operation, len(added))
	for _, n := range added {
		byName[n.Spec.Name] = n // a duplicate in added collides later
	}
	var result []*operation
	placed := map[*operation]bool{}
	for _, o := range old {
		n := byName[o.Spec.Name]
		switch {
		case o.Owner != owner:
			result = append(result, o)
		case n != nil:
			placed[n] = true
			result = append(result, n)
		}
	}
	return append(result, slices.DeleteFunc(slices.Clone(added), func(n *operation) bool { return placed[n] })...)
}

func prepareAll(all []Registration) ([]*operation, error) {
	list := make([]*operation, len(all))
	for i, registration := range all {
		o, err := registration.prepare()
		if err != nil {
			return nil, err
		}
		list[i] = o
	}
	return list, nil
}

// Close removes all operations, and so releases their resources. It may be called twice.
func (r *Registry) Close() {
	_ = r.change(func([]*operation) []*operation { return nil })
}

// change applies edit to a copy of the operations, and retires the operations that it removed.
func (r *Registry) change(edit func([]*operation) []*operation) error {
	removed, err := r.replaceContent(edit)
	for _, o := range removed {
		o.retire()
	}
	return err
}

func (r *Registry) replaceContent(edit func([]*operation) []*operation) (removed []*operation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.current.Load()
	list := edit(slices.Clone(old.order))
	if slices.Equal(list, old.order) {
		return nil, nil
	}
	byName := make(map[string]*operation, len(list))
	snapshot := &Snapshot{Version: old.snapshot.Version + 1, Operations: make([]Entry, len(list))}
	for i, o := range list {
		if existing := byName[o.Spec.Name]; existing != nil {
			return nil, &Collision{Name: o.Spec.Name, Has: existing.entry(), Wants: o.entry()}
		}
		byName[o.Spec.Name], snapshot.Operations[i] = o, o.entry()
	}
	r.current.Store(&content{byName, list, snapshot})
	removed = slices.DeleteFunc(slices.Clone(old.order), func(o *operation) bool { return byName[o.Spec.Name] == o })
	return removed, nil
}

// Snapshot returns the current content: the same pointer until the next change.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load().snapshot }

// Find returns the operation with a name if the identity may call it from outside. The answer does not show whether an
// operation is missing, Internal or forbidden.
func (r *Registry) Find(name string, caller Identity) (Entry, bool) {
	o := r.current.Load().byName[name]
	if o == nil || !o.entry().CallableBy(caller) {
		return Entry{}, false
	}
	return o.entry(), true
}
