package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/replica/cluster"
)

const (
	fileVersion = 1
	maxFile     = 8 << 20 // bytes; some thousands of sign-ins
)

// FileStoreOptions configures a [FileStore]. Nil and the zero value are valid.
type FileStoreOptions struct {
	// Key seals the file. It is one key of 32 bytes, in hexadecimal or base64, or several keys on a line
	// each. The first key seals, and all of them open. If it is "", the key is in the keychain, or in a
	// file beside the store.
	Key string
	// NoKeychain prevents the use of the system's keychain. If it is false, a new key is kept there if
	// there is a keychain.
	NoKeychain bool
	// Shared has the values instead of the file, if it is set. Then the path is only for messages, and Key is needed.
	Shared *Shared

	keychain *keychain // for tests
}

// FileStore is a [Store] in one file, which only its owner can read (0600). It is sealed with
// AES-256-GCM. The key is the one of FileStoreOptions. Otherwise it is in the keychain of the system, or
// in a file of the same name with ".key" behind it. A new key is made on first use.
//
// Any number of processes may share the file. A change is written beside it and replaces it in one step,
// so a crash leaves the old values or the new ones. A file that cannot be read is never overwritten. The
// error explains the remedy.
//
// It prints as its path in every format.
type FileStore struct {
	path string
	opts FileStoreOptions
	file statefile.File[*fileContent]
	ctx  context.Context // ends at Close
	stop context.CancelFunc

	mu     sync.Mutex
	leases map[Key]*cluster.Lease // of the locks that are held; only with Shared
}

var _ Store = (*FileStore)(nil)

// NewFileStore returns the store at a path. A missing directory is made later. Nothing is read yet.
func NewFileStore(path string, opts *FileStoreOptions) *FileStore {
	s := &FileStore{path: path, leases: map[Key]*cluster.Lease{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Shared != nil {
		s.file.Shared = s.opts.Shared.Document
	}
	if s.opts.keychain == nil {
		s.opts.keychain = systemKeychain()
	}
	s.file.Path, s.file.Decode, s.file.Encode = path, s.decode, s.encode
	s.file.Load = func(path string) ([]byte, error) { return atomicfile.ReadPrivate(path, maxFile) }
	return s
}

// Path returns the path of the file.
func (s *FileStore) Path() string { return s.path }

// Format prints the path for every verb.
func (s *FileStore) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.path) }

// fileEnvelope is the text of the file.
type fileEnvelope struct {
	About   string    `json:"about"`
	Version int       `json:"version"`
	Key     keySource `json:"key"`
	Sealed  string    `json:"sealed"`
}

const fileAbout = "sign-ins of indus (indus mcp login); encrypted"

// fileContent is the decoded content of a file.
type fileContent struct {
	source  keySource
	keys    *sealed.Keys
	entries map[Key][]byte
}

type fileEntry struct {
	Key
	Value []byte `json:"value"`
}

// Get implements [Store].
func (s *FileStore) Get(ctx context.Context, k Key) ([]byte, error) {
	c, err := s.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.entries[k]), nil
}

// Keys returns the keys that have a value, in order.
func (s *FileStore) Keys(ctx context.Context) ([]Key, error) {
	c, err := s.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	return c.sortedKeys(), nil
}

func (c *fileContent) sortedKeys() (keys []Key) {
	for k := range c.entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return slices.Compare(a.parts(), b.parts()) })
	return keys
}

// Put implements [Store].
func (s *FileStore) Put(ctx context.Context, k Key, value []byte) error {
	if s.opts.Shared != nil {
		return s.putShared(ctx, k, value)
	}
	return s.change(ctx, func(entries map[Key][]byte) (bool, error) { return true, put(entries, k, value) })
}

// Delete implements [Store].
func (s *FileStore) Delete(ctx context.Context, k Key) error {
	return s.change(ctx, func(entries map[Key][]byte) (bool, error) {
		_, existed := entries[k]
		delete(entries, k)
		return existed, nil
	})
}

// Lock implements [Store], with a file for each held key, in a directory beside the store, or with leases.
func (s *FileStore) Lock(ctx context.Context, k Key) (func(), error) {
	parts := k.parts()
	if k.Account == "" {
		parts = parts[:4] // the same name as before accounts existed
	}
	sum := sha256.Sum256([]byte(strings.Trim(fmt.Sprintf("%q", parts), "[]")))
	name := hex.EncodeToString(sum[:16])
	if s.opts.Shared != nil {
		return s.lockShared(ctx, k, name)
	}
	dir := s.path + ".locks"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := filelock.LockTemporary(ctx, filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(unlock), nil
}

// change rewrites the file if edit returns true.
func (s *FileStore) change(ctx context.Context, edit func(map[Key][]byte) (bool, error)) error {
	return s.file.Update(ctx, func(c *fileContent) (*fileContent, error) {
		changed, err := edit(c.entries)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		} else if !changed {
			return nil, statefile.ErrUnchanged
		}
		return c, nil
	})
}

// decode opens the text of the file.
func (s *FileStore) decode(ctx context.Context, text []byte) (*fileContent, error) {
	c := &fileContent{entries: map[Key][]byte{}}
	if text == nil {
		return c, nil
	}
	var e fileEnvelope
	switch err := json.Unmarshal(text, &e); {
	case err != nil:
		return nil, s.unusable("it is damaged")
	case e.Version > fileVersion:
		return nil, fmt.Errorf("%s: a newer indus has written it (version %d, and this one knows %d): update indus",
			s.path, e.Version, fileVersion)
	case e.Version < 1:
		return nil, s.unusable("it is no store of sign-ins")
	}
	c.source = e.Key
	var err error
	if c.keys, err = s.keys(ctx, e.Key); err != nil {
		return nil, err
	}
	return c, s.open(c, e.Sealed)
}

func (s *FileStore) open(c *fileContent, text string) error {
	t, err := c.keys.Open(text, sealed.Want{Kind: sealed.Store})
	if err != nil {
		return s.unusable("it is damaged, or was encrypted with another key than " + s.keyPlace(c.source))
	}
	var entries []fileEntry
	if err := json.Unmarshal(t.Data, &entries); err != nil {
		return s.unusable("its encrypted contents cannot be read")
	}
	for _, e := range entries {
		c.entries[e.Key] = e.Value
	}
	return nil
}

// unusable returns the error of a file that is left as it is.
func (s *FileStore) unusable(reason string) error {
	if s.opts.Shared != nil {
		return fmt.Errorf("%s: %s: set INDUS_STORE_KEY to the key of the other replicas", s.path, reason)
	}
	return fmt.Errorf("%s: %s, and is left as it is: bring the right one back, or move it away and sign in again",
		s.path, reason)
}

// encode seals the new content of the file. Call it with the lock held.
func (s *FileStore) encode(ctx context.Context, c *fileContent) ([]byte, error) {
	if err := s.chooseKey(ctx, c); err != nil {
		return nil, err
	}
	entries := []fileEntry{}
	for _, k := range c.sortedKeys() {
		entries = append(entries, fileEntry{k, c.entries[k]})
	}
	plain, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	token := c.keys.Seal(sealed.Token{Kind: sealed.Store, Data: plain})
	text, err := json.Marshal(fileEnvelope{fileAbout, fileVersion, c.source, token})
	if err == nil && len(text) >= maxFile {
		err = fmt.Errorf("%s: it would be larger than 8 MiB: indus mcp logout forgets sign-ins", s.path)
	}
	return text, err
}
