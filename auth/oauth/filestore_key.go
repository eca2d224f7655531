package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/indusagi/indus/internal/sealed"
)

// keySource is the place of the key of a file, as the file records it.
type keySource string

const (
	keyGiven    keySource = "given" // FileStoreOptions.Key
	keyKeychain keySource = "keychain"
	keyFile     keySource = "file"
)

// keys returns the keys of an existing file.
func (s *FileStore) keys(ctx context.Context, source keySource) (*sealed.Keys, error) {
	switch source {
	case keyGiven:
		if s.opts.Key == "" {
			return nil, s.unusable("it was sealed with a key that was given " +
				"(in the command's environment: INDUS_STORE_KEY), and none is")
		}
		return s.parseKeys(s.opts.Key)
	case keyKeychain:
		text, err := s.opts.keychain.get(ctx)
		if errors.Is(err, errNoKey) {
			return nil, s.unusable("its key is gone from the keychain")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: its key is in the keychain, which does not give it: %w; "+
				"unlock it, or run in a session that has it", s.path, err)
		}
		return s.parseKeys(text)
	case keyFile:
		k, err := sealed.ReadKeyFile(s.keyPath())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, s.unusable("its key is gone: " + s.keyPath())
		}
		return k, err
	}
	return nil, s.unusable("it does not name its key")
}

// chooseKey sets the key to seal with: a given key, or else the key of the file, or else a new one.
func (s *FileStore) chooseKey(ctx context.Context, c *fileContent) (err error) {
	switch {
	case s.opts.Key != "":
		c.source = keyGiven
		c.keys, err = s.parseKeys(s.opts.Key)
		return err
	case c.keys != nil:
		return nil
	}
	if _, err := os.Lstat(s.keyPath()); err != nil && !s.opts.NoKeychain {
		if text, err := s.opts.keychain.getOrCreate(ctx); err == nil {
			c.source = keyKeychain
			c.keys, err = s.parseKeys(text)
			return err
		}
	}
	c.source = keyFile
	c.keys, err = sealed.KeyFile(ctx, s.keyPath())
	return err
}

func (s *FileStore) keyPath() string { return s.path + ".key" }

func (s *FileStore) keyPlace(source keySource) string {
	switch source {
	case keyGiven:
		return "the environment (INDUS_STORE_KEY)"
	case keyFile:
		return s.keyPath()
	}
	return "the " + string(source)
}

// parseKeys reads keys. Its errors never show the text.
func (s *FileStore) parseKeys(text string) (*sealed.Keys, error) {
	k, err := sealed.ParseKeys(text)
	if err != nil {
		err = fmt.Errorf("%s: the key that was given is none: %w", s.path, err)
	}
	return k, err
}

// keychain holds the key of this user's stores. Its functions are bounded in time, and ask no person.
type keychain struct {
	read  func() (string, error)
	write func(text string) error
	wait  time.Duration

	mu      sync.Mutex
	pending *keychainRequest // the request of which the answer was not taken; nil: none
}

// keychainRequest is a request to the keychain. text and err are set before done is closed.
type keychainRequest struct {
	done chan struct{}
	text string
	err  error
}

const (
	keychainService = "indus"
	keychainUser    = "store key"
	// keychainWait is how long indus waits for an answer of the system's keychain. The keychain may ask a person for a
	// password. Without a display it may hang forever.
	keychainWait = 5 * time.Second
)

var (
	errNoKeychain = errors.New("there is none here")
	errNoKey      = errors.New("it has no key of indus")
)

func systemKeychain() *keychain {
	return &keychain{
		read: func() (string, error) {
			if !hasKeychain() {
				return "", errNoKeychain
			}
			text, err := keyring.Get(keychainService, keychainUser)
			if errors.Is(err, keyring.ErrNotFound) {
				return "", errNoKey
			}
			return text, err
		},
		write: func(text string) error { return keyring.Set(keychainService, keychainUser, text) },
		wait:  keychainWait,
	}
}

// hasKeychain reports whether a request to the keychain starts no process. Without a session bus the library would
// start one.
func hasKeychain() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

func (k *keychain) get(ctx context.Context) (string, error) { return k.withTimeout(ctx, k.read) }

// getOrCreate returns the key. If the keychain works and has none, it makes one.
func (k *keychain) getOrCreate(ctx context.Context) (string, error) {
	return k.withTimeout(ctx, func() (string, error) {
		text, err := k.read()
		if !errors.Is(err, errNoKey) {
			return text, err
		}
		text = sealed.NewKeyText()
		if err := k.write(text); err != nil {
			return "", err
		}
		return k.read() // another process may have made one meanwhile
	})
}

// withTimeout gives up after k.wait. The library cannot be stopped: a call that hangs stays until the process ends, and
// no other call is made meanwhile. Later calls take its answer if it has arrived, and do not wait again.
func (k *keychain) withTimeout(ctx context.Context, request func() (string, error)) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, wait := k.pending, time.Duration(0)
	if r == nil {
		r, wait = &keychainRequest{done: make(chan struct{})}, k.wait
		k.pending = r
		go func() {
			defer close(r.done)
			r.text, r.err = request()
		}()
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_ = awaitClosed(waiting, r.done)
	select {
	case <-r.done: // even if the time is over
		k.pending = nil
		return r.text, r.err
	default:
		return "", cmp.Or(ctx.Err(), fmt.Errorf("no answer within %v", k.wait))
	}
}
