package oauth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/secret"
)

// Key is the key of a value in a [Store]. The value is the tokens of a principal for a resource, or the
// registration of this client at an authorization server. For a client that was registered by hand, it can
// also be the authorization server that may get its secret.
type Key struct {
	// Resource is the server's URL, as [Resource] returns it. It is "" for a registration.
	Resource string `json:"resource,omitempty"`
	// Issuer is the authorization server of a registration. It is "" for tokens, which have it in their value.
	Issuer string `json:"issuer,omitempty"`
	// Principal is the owner of the tokens. It is "" for the user of this program. For a registration it is "", or the
	// callback address of a [Site].
	Principal string `json:"principal,omitempty"`
	// Client is a client id. It is set, with Resource, only for the authorization server that may get the
	// secret of this client.
	Client string `json:"client,omitempty"`
	// Account is the Options.Account of tokens.
	Account string `json:"account,omitempty"`
}

func (k Key) parts() []string {
	return []string{k.Resource, k.Issuer, k.Principal, k.Client, k.Account}
}

// Store keeps tokens and registrations. Values are JSON and secret: a store on a disk must encrypt them. All
// methods may be called from any goroutine.
//
// If several processes share a store, each of them gets the values of the others, and Lock excludes the others
// too. Otherwise two processes could use the same refresh token. The authorization server would take that for
// a theft and end the whole sign-in (RFC 9700 section 4.14.2).
type Store interface {
	// Get returns the last value. If there is none, it returns nil and no error.
	Get(ctx context.Context, k Key) ([]byte, error)
	// Put replaces the value. It returns when the value survives a crash.
	Put(ctx context.Context, k Key, value []byte) error
	// Delete deletes a value. If there is none, that is not an error.
	Delete(ctx context.Context, k Key) error
	// Lock waits until no other caller holds the key, or until the context ends. It is held during an HTTP
	// request. Get, Put and Delete are called for the same key meanwhile, and do not wait for it.
	Lock(ctx context.Context, k Key) (unlock func(), err error)
}

// Values from authorization servers can be of any size, and share one store. These are the limits, in bytes:
const (
	maxEntry         = 32 << 10 // of a sign-in or a registration
	maxPerServer     = 2 << 20  // of the sign-ins at one server
	maxRegistrations = 1 << 20  // of all: a server may name a new authorization server each time
)

// put stores a value among others. A new registration may replace old ones, because they can be made again.
func put(values map[Key][]byte, k Key, value []byte) error {
	size, limit := k.size(value), maxPerServer
	if k.Resource == "" {
		limit = maxRegistrations
	}
	for stored, v := range values {
		if stored.Resource != k.Resource || stored == k {
			continue
		}
		size += stored.size(v)
		if size <= limit {
			continue
		}
		if k.Resource != "" {
			return fmt.Errorf("the sign-ins at %s would take more than %d bytes: remove a sign-in there",
				secret.Target(k.Resource), limit)
		}
		delete(values, stored)
		size -= stored.size(v)
	}
	values[k] = slices.Clone(value)
	return nil
}

func (k Key) size(value []byte) int { return len(strings.Join(k.parts(), "")) + len(value) }

// put stores a value, unless it is too long.
func (c *Client) put(ctx context.Context, k Key, value []byte) error {
	if len(value) > maxEntry {
		return fmt.Errorf("the reply of the authorization server takes %d bytes to store, more than %d",
			len(value), maxEntry)
	}
	return c.options.Store.Put(ctx, k, value)
}

// MemoryStore is a [Store] in memory, which ends with the process. The zero value is ready.
type MemoryStore struct {
	mu     sync.Mutex
	values map[Key][]byte
	locks  map[Key]chan struct{} // of the held keys; each is closed when its key is free
}

var _ Store = (*MemoryStore)(nil)

// Get returns a copy of the value.
func (s *MemoryStore) Get(_ context.Context, k Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[k]), nil
}

// Put stores a copy.
func (s *MemoryStore) Put(_ context.Context, k Key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[Key][]byte{}
	}
	return put(s.values, k, value)
}

// Delete deletes the value.
func (s *MemoryStore) Delete(_ context.Context, k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, k)
	return nil
}

// Lock excludes the goroutines of this process.
func (s *MemoryStore) Lock(ctx context.Context, k Key) (func(), error) {
	for {
		held, unlock := s.tryLock(k)
		if unlock != nil {
			return unlock, nil
		}
		if err := awaitClosed(ctx, held); err != nil {
			return nil, err
		}
	}
}

// tryLock returns the function that frees the key, or the channel that is closed when its holder frees it.
func (s *MemoryStore) tryLock(k Key) (held <-chan struct{}, unlock func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := s.locks[k]; ok {
		return held, nil
	}
	if s.locks == nil {
		s.locks = map[Key]chan struct{}{}
	}
	free := make(chan struct{})
	s.locks[k] = free
	return nil, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.locks, k)
		close(free)
	})
}
