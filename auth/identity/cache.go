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

func hashToken(token string) tokenHash { return sha256.Sum256([]byte(token)) }

// tokenCache holds a value for each token, until the time given to put.
type tokenCache[V any] struct {
	mu      sync.Mutex
	entries map[tokenHash]cacheEntry[V]
}

type cacheEntry[V any] struct {
	value V
	until time.Time
}

func (c *tokenCache[V]) get(h tokenHash) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[h]
	if !ok || !time.Now().Before(found.until) {
		delete(c.entries, h)
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
	if c.entries == nil {
		c.entries = map[tokenHash]cacheEntry[V]{}
	}
	if len(c.entries) >= maxCached {
		for h, old := range c.entries {
			if !now.Before(old.until) {
				delete(c.entries, h)
			}
		}
		for h := range c.entries {
			if len(c.entries) < maxCached-maxCached/16 {
				break
			}
			delete(c.entries, h)
		}
	}
	c.entries[h] = cacheEntry[V]{v, until}
}
