package oauth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/secret"
)

// Key says what a [Store] keeps: the tokens of a principal for a resource, the registration of
// this client at an authorization server, or where the secret of a client that was registered by hand belongs.
type Key struct {
	// Resource is the server's URL, as [Resource] writes it; "" of a registration.
	Resource string `json:"resource,omitempty"`
	// Issuer is the authorization server of a registration; "" of tokens, in which it stands.
	Issuer string `json:"issuer,omitempty"`
	// Principal is whose the tokens are; "" of a registration, and of who runs this program.
	Principal string `json:"principal,omitempty"`
	// Client is set with Resource: which authorization server the secret of this client id is for; else "".
	Client string `json:"client,omitempty"`
	// Account is of tokens: Options.Account.
	Account string `json:"account,omitempty"`
}

func (k Key) parts() []string {
	return []string{k.Resource, k.Issuer, k.Principal, k.Client, k.Account}
}

// Store keeps tokens and registrations. Values are JSON and secret: whoever writes them to a
// disk encrypts them. All methods may be called from any goroutine.
//
// Where several processes share a store, what one has put the others get, and Lock excludes
// them too: else two of them use the same refresh token, and the authorization server takes
// that for a theft and ends the whole sign-in (RFC 9700 section 4.14.2).
type Store interface {
	// Get is what was put last; nil and no error where there is nothing.
	Get(ctx context.Context, k Key) ([]byte, error)
	// Put keeps a value in the place of the last one. It returns when the value survives a crash.
	Put(ctx context.Context, k Key, value []byte) error
	// Delete forgets a value; that there is none is no error.
	Delete(ctx context.Context, k Key) error
	// Lock waits until nobody else holds the key, or the context ends. It is held during an
	// HTTP request, and then for the same key Get, Put and Delete are called: they do not wait for it.
	Lock(ctx context.Context, k Key) (unlock func(), err error)
}

// What authorization servers send is as long as they like, and one store is for all of them, in bytes:
const (
	maxEntry         = 32 << 10 // of a sign-in or a registration
	maxOfServer      = 2 << 20  // of the sign-ins at one server
	maxRegistrations = 1 << 20  // of all: a server may name a new authorization server each time
)

// put keeps a value among others. Registrations make room for one: they can be had again.
func put(values map[Key][]byte, k Key, value []byte) error {
	size, most := k.size(value), maxOfServer
	if k.Resource == "" {
		most = maxRegistrations
	}
	for other, v := range values {
		if other.Resource != k.Resource || other == k {
			continue
		}
		if size += other.size(v); size <= most {
			continue
		}
		if k.Resource != "" {
			return fmt.Errorf("the sign-ins at %s would take more than %d bytes: sign somebody out there", secret.Target(k.Resource), most)
		}
		delete(values, other)
		size -= other.size(v)
	}
	values[k] = slices.Clone(value)
	return nil
}

func (k Key) size(value []byte) int { return len(strings.Join(k.parts(), "")) + len(value) }

// put is Store.Put of what is not too long.
func (c *Client) put(ctx context.Context, k Key, value []byte) error {
	if len(value) > maxEntry {
		return fmt.Errorf("what the authorization server sent takes %d bytes to keep, which is more than %d", len(value), maxEntry)
	}
	return c.options.Store.Put(ctx, k, value)
}

// MemoryStore is a [Store] that forgets with the process. The zero value is ready.
type MemoryStore struct {
	mu     sync.Mutex
	values map[Key][]byte
	locks  map[Key]*heldLock
}

var _ Store = (*MemoryStore)(nil)

// heldLock has a place for one holder; users are the holder and who waits.
type heldLock struct {
	place chan struct{}
	users int
}

// Get is a copy of what was put.
func (s *MemoryStore) Get(_ context.Context, k Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[k]), nil
}

// Put keeps a copy.
func (s *MemoryStore) Put(_ context.Context, k Key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[Key][]byte{}
	}
	return put(s.values, k, value)
}

// Delete forgets.
func (s *MemoryStore) Delete(_ context.Context, k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, k)
	return nil
}

// Lock excludes the goroutines of this process.
func (s *MemoryStore) Lock(ctx context.Context, k Key) (func(), error) {
	s.mu.Lock()
	if s.locks == nil {
		s.locks = map[Key]*heldLock{}
	}
	l := s.locks[k]
	if l == nil {
		l = &heldLock{place: make(chan struct{}, 1)}
		s.locks[k] = l
	}
	l.users++
	s.mu.Unlock()
	select {
	case l.place <- struct{}{}:
		return sync.OnceFunc(func() { <-l.place; s.leave(k, l) }), nil
	case <-ctx.Done():
		s.leave(k, l)
		return nil, ctx.Err()
	}
}

func (s *MemoryStore) leave(k Key, l *heldLock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.locks, k)
	}
}
