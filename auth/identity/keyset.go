package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	// keysRefreshAge is the age at which keys are fetched again. A withdrawn key stays valid for that time.
	keysRefreshAge = time.Hour
	// keysMaxAge is how long keys are used if they cannot be fetched again.
	keysMaxAge = 24 * time.Hour
	// keysRetry is the shortest time between requests to an issuer with known keys. It applies after a token with an
	// unknown key, however many such tokens arrive, and if the issuer did not answer.
	keysRetry = 5 * time.Minute
	// firstRetry is the shortest time between requests while no keys are known.
	firstRetry = 10 * time.Second
	// maxIssuerKeys bounds the keys of one issuer: a token that names no key is tried with each.
	maxIssuerKeys = 100
)

// publicKeys holds the keys of an issuer at one time.
type publicKeys struct{ find jwt.Keyfunc }

// keySet holds the keys of an issuer. It fetches them when they are needed, once for all waiting requests.
type keySet struct {
	issuer  string
	fetcher fetcher

	mu        sync.Mutex
	address   string // "": not discovered yet
	text      []byte // the text of keys
	keys      *publicKeys
	fetched   time.Time     // when keys was fetched
	lastTry   time.Time     // when the last fetch ended
	refetched time.Time     // the last fetch because of an unknown key
	fetching  chan struct{} // closed when the fetch ends; nil: there is no fetch
	err       error         // of the last fetch
}

// current returns keys that are recent enough.
func (s *keySet) current(ctx context.Context) (*publicKeys, error) {
	s.mu.Lock()
	now := time.Now()
	age, rest := now.Sub(s.fetched), now.Sub(s.lastTry)
	switch usable := s.keys != nil && age < keysMaxAge; {
	case usable && (age < keysRefreshAge || s.fetching != nil || rest < keysRetry):
		defer s.mu.Unlock()
		return s.keys, nil
	case !usable && s.fetching == nil && s.err != nil && rest < firstRetry:
		defer s.mu.Unlock()
		return nil, s.err
	}
	return s.await(ctx)
}

// refetch returns the keys after a token named an unknown key.
func (s *keySet) refetch(ctx context.Context) (*publicKeys, error) {
	s.mu.Lock()
	if now := time.Now(); s.fetching == nil {
		if now.Sub(s.refetched) < keysRetry {
			defer s.mu.Unlock()
			return s.keys, nil
		}
		s.refetched = now
	}
	return s.await(ctx)
}

// await starts a fetch, or waits for the fetch under way. The caller holds mu, and await releases it.
func (s *keySet) await(ctx context.Context) (*publicKeys, error) {
	if s.fetching == nil {
		s.fetching = make(chan struct{})
		go s.fetch(ctx, s.address) // ends within fetchWait
	}
	flight := s.fetching
	s.mu.Unlock()
	select {
	case <-flight:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != nil && time.Since(s.fetched) < keysMaxAge {
		return s.keys, nil
	}
	return nil, s.err
}

// fetch asks the issuer. It goes on if its request is cancelled, because otherwise a client that cancels requests could
// keep others from the keys.
func (s *keySet) fetch(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchWait)
	defer cancel()
	var text []byte
	var keys *publicKeys
	err := errors.New("not fetched")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lastTry = time.Now()
		s.err = err
		if err == nil {
			s.address, s.fetched = address, time.Now()
			if !bytes.Equal(text, s.text) { // with other keys, all tokens are verified again
				s.keys, s.text = keys, text
			}
		}
		close(s.fetching)
		s.fetching = nil
	}()
	if address == "" {
		address, err = s.fetcher.discoverKeys(ctx, s.issuer)
		if err != nil {
			err = fmt.Errorf("%s: discovery: %w", s.issuer, err)
			return
		}
	}
	text, err = s.fetcher.get(ctx, address)
	if err == nil {
		keys, err = parseKeys(text)
	}
	if err != nil {
		err = fmt.Errorf("%s: keys: %w", s.issuer, err)
	}
}

// parseKeys reads a JWK Set (RFC 7517). It omits keys of unknown kinds, and keys that are not for signatures.
func parseKeys(text []byte) (*publicKeys, error) {
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxIssuerKeys {
		return nil, fmt.Errorf("%d keys, more than %d", len(set.Keys), maxIssuerKeys)
	}
	known := jwkset.NewMemoryStorage()
	ctx := context.Background() // of a store in memory
	for _, key := range set.Keys {
		if key.KTY == jwkset.KtyOct || key.USE != "" && key.USE != jwkset.UseSig {
			continue
		}
		jwk, err := jwkset.NewJWKFromMarshal(key, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			continue
		}
		if err := known.KeyWrite(ctx, jwk); err != nil {
			return nil, err
		}
	}
	find, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: known})
	if err != nil {
		return nil, err
	}
	return &publicKeys{find.Keyfunc}, nil
}
