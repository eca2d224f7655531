package identity

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxCached bounds the number of tokens in a cache.
const maxCached = 10_000

// tokenHash is the key of a token in a cache.
type tokenHash [sha256.Size]byte

func hashOf(token string) tokenHash { return sha256.Sum256([]byte(token)) }

// tokenCache holds a value for each token, until the time given to put.
type tokenCache[V any] struct {
	mu sync.Mutex
	of map[tokenHash]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time
}

func (c *tokenCache[V]) get(h tokenHash) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.of[h]
	if !ok || !time.Now().Before(found.until) {
		delete(c.of, h)
		return v, false
	}
	return found.value, true
}

// put adds an entry. If the cache is full, it evicts expired entries and then, if necessary, any others.
func (c *tokenCache[V]) put(h tokenHash, v V, until time.Time) {
	now := time.Now()
	if !now.Before(until) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[tokenHash]cached[V]{}
	}
	if len(c.of) >= maxCached {
		for h, old := range c.of {
			if !now.Before(old.until) {
				delete(c.of, h)
			}
		}
		for h := range c.of {
			if len(c.of) < maxCached-maxCached/16 {
				break
			}
			delete(c.of, h)
		}
	}
	c.of[h] = cached[V]{v, until}
}
