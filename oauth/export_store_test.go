package oauth

import "time"

// ErrNoKey is what a keychain says that has none.
var ErrNoKey = errNoKey

// WithKeychain is a keychain of a test.
func WithKeychain(read func() (string, error), write func(string) error, wait time.Duration) *FileStoreOptions {
	return &FileStoreOptions{keychain: &keychain{read: read, write: write, wait: wait}}
}
