package oauth

import "time"

// ErrNoKey is the error of a keychain without a key.
var ErrNoKey = errNoKey

// WithKeychain returns options with a keychain for a test.
func WithKeychain(read func() (string, error), write func(string) error, wait time.Duration) *FileStoreOptions {
	return &FileStoreOptions{keychain: &keychain{read: read, write: write, wait: wait}}
}

// Held returns an error if the lock of a key was lost.
func (s *FileStore) Held(k Key) error { return s.held(k) }
