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

// Options of a Registry; nil is good.
type Options struct {
	// Timeout bounds every call whose Registration has none; zero is 10 minutes,
	// negative is none.
	Timeout time.Duration
	// Logger hears of panics, with their stacks, of errors that callers do not read, of schemas that cannot be used, and of
	// values that do not fit theirs; nil is silent.
	Logger *slog.Logger
}

// Registry holds operations and runs them. Operations are in the order in which
// their names were first added. All methods are safe for concurrent use.
type Registry struct {
	timeout time.Duration
	log     *slog.Logger
	calls   atomic.Uint64 // for the ids of calls that have none
	now     atomic.Pointer[content]

	mu sync.Mutex // one change at a time
}

// content is a Registry at one moment; it never changes.
type content struct {
	version uint64
	by      map[string]*operation
	order   []*operation

	once     sync.Once // most are never looked at
	snapshot *Snapshot
}

// Snapshot is what a Registry had at one moment. It never changes.
type Snapshot struct {
	// Version goes up with each change.
	Version    uint64
	Operations []Entry
}

// Entry describes an operation. It is read-only, down to its bytes.
type Entry struct {
	Spec       Spec
	Provenance Provenance
	Owner      string
}

// CallableBy reports whether who may call it from outside.
func (e Entry) CallableBy(who Identity) bool {
	return e.Spec.Visibility == External && e.Spec.Access.Allows(who.Grants)
}

// Collision is the error of a name that is taken.
type Collision struct {
	Name string
	// Has is the one that has the name, and Wants the one that does not get it.
	Has, Wants Entry
}

func (e *Collision) Error() string {
	return fmt.Sprintf("operation: %q is registered already, by %s; %s cannot have the name too", e.Name, e.Has.who(), e.Wants.who())
}

func (e Entry) who() string {
	if e.Owner == "" {
		return "a " + string(e.Provenance) + " operation"
	}
	return fmt.Sprintf("%q (%s)", e.Owner, e.Provenance)
}

// NewRegistry is an empty Registry.
func NewRegistry(o *Options) *Registry {
	o = cmp.Or(o, &Options{})
	r := &Registry{timeout: cmp.Or(o.Timeout, defaultTimeout), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	r.now.Store(&content{})
	return r
}

// Add registers operations, all of them or none. A name that is taken is a
// [*Collision]; the other errors are those of [Registration.Check].
func (r *Registry) Add(all ...Registration) error {
	added, err := prepareAll(all)
	if err != nil {
		return err
	}
	return r.change(func(old []*operation) []*operation { return append(old, added...) })
}

// Replace makes the operations of an owner exactly these, as one change, and leaves it as it
// was where it fails, as Add does. One that stays keeps its place. Calls under way
// end with the operation that they began with. Each Registration's Owner is set;
// without any, Replace removes all that the owner has. owner must not be "".
func (r *Registry) Replace(owner string, all ...Registration) error {
	if owner == "" {
		return fmt.Errorf("operation: what nobody owns cannot be replaced as a whole")
	}
	mine := slices.Clone(all)
	for i := range mine {
		mine[i].Owner = owner
	}
	added, err := prepareAll(mine)
	if err != nil {
		return err
	}
	return r.change(func(old []*operation) []*operation { return replaceOwned(old, owner, added) })
}

// replaceOwned is old with added in the place of what owner has there.
func replaceOwned(old []*operation, owner string, added []*operation) []*operation {
	fresh := make(map[string]*operation, len(added))
	for _, n := range added {
		fresh[n.Spec.Name] = n // of two, one collides with the other
	}
	var list []*operation
	placed := map[*operation]bool{}
	for _, o := range old {
		n := fresh[o.Spec.Name]
		switch {
		case o.Owner != owner:
			list = append(list, o)
		case n != nil:
			placed[n] = true
			list = append(list, n)
		}
	}
	return append(list, slices.DeleteFunc(slices.Clone(added), func(n *operation) bool { return placed[n] })...)
}

func prepareAll(all []Registration) ([]*operation, error) {
	list := make([]*operation, len(all))
	for i, one := range all {
		o, err := one.prepare()
		if err != nil {
			return nil, err
		}
		list[i] = o
	}
	return list, nil
}

// Close removes all operations, and so releases what they hold. It may be called twice.
func (r *Registry) Close() {
	_ = r.change(func([]*operation) []*operation { return nil })
}

// change puts in place what edit makes of a copy of the operations, and retires those that are not there any more.
func (r *Registry) change(edit func([]*operation) []*operation) error {
	gone, err := r.swap(edit)
	for _, o := range gone {
		o.retire()
	}
	return err
}

func (r *Registry) swap(edit func([]*operation) []*operation) (gone []*operation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.now.Load()
	list := edit(slices.Clone(old.order))
	if slices.Equal(list, old.order) {
		return nil, nil
	}
	by := make(map[string]*operation, len(list))
	for _, o := range list {
		if has := by[o.Spec.Name]; has != nil {
			return nil, &Collision{Name: o.Spec.Name, Has: has.entry(), Wants: o.entry()}
		}
		by[o.Spec.Name] = o
	}
	r.now.Store(&content{version: old.version + 1, by: by, order: list})
	gone = slices.DeleteFunc(slices.Clone(old.order), func(o *operation) bool { return by[o.Spec.Name] == o })
	return gone, nil
}

// Snapshot is what is registered now: the same pointer until that changes.
func (r *Registry) Snapshot() *Snapshot {
	now := r.now.Load()
	now.once.Do(func() {
		now.snapshot = &Snapshot{Version: now.version, Operations: make([]Entry, len(now.order))}
		for i, o := range now.order {
			now.snapshot.Operations[i] = o.entry()
		}
	})
	return now.snapshot
}

// Find is the operation of a name, if who may call it from outside. Where it does not
// exist, is Internal, or is not allowed to who, the answer is the same.
func (r *Registry) Find(name string, who Identity) (Entry, bool) {
	o := r.now.Load().by[name]
	if o == nil || !o.entry().CallableBy(who) {
		return Entry{}, false
	}
	return o.entry(), true
}
