package identity

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/toolbox"
)

// KeyPrefix is the beginning of the tokens of API keys, so that scanners for secrets can find them.
const KeyPrefix = "indus_"

// Key is an API key without its secret.
type Key struct {
	// ID identifies the key: ten letters and digits, made by [Keys.Add].
	ID string `json:"id"`
	// Name is the owner of the key. Several keys with one name are one principal, "user:NAME". If it is "", the key is
	// its own principal, "key:ID".
	Name string `json:"principal,omitempty"`
	// Views holds the names of the resources that the key is valid for. Nil means all. An empty list means none, and
	// stays an empty list in the file.
	Views []string `json:"views,omitzero"`
	// Groups holds the groups of requests with this key, for policies. Two keys of one principal may have different
	// groups. [AdminGroup] is the group of administrators.
	Groups []string `json:"groups,omitempty"`
	// Created is the time at which the key was made.
	Created time.Time `json:"created"`
	// Expires is the time at which the key expires. Zero means never.
	Expires time.Time `json:"expires,omitzero"`
	// Hash is the SHA-256 of the secret, which has 256 random bits, in hexadecimal.
	Hash string `json:"sha256"`
}

// Principal returns the principal of requests with this key.
func (k *Key) Principal() toolbox.Principal {
	if k.Name != "" {
		return toolbox.Principal("user:" + k.Name)
	}
	return toolbox.Principal("key:" + k.ID)
}

// Expired reports whether the key has expired.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// Keys holds the API keys of a file, and is their [Verifier]. Processes may share the file: a change by one applies in
// the others from the next request on. All methods may be called from any goroutine.
type Keys struct{ file *statefile.File[keyList] }

var _ Verifier = (*Keys)(nil)

// apiKey is a key in the form for lookups.
type apiKey struct {
	Key
	hash     [sha256.Size]byte
	identity Identity
}

// NewKeys returns the keys of the file at path. It does no I/O. A file that does not exist has no keys.
func NewKeys(path string) *Keys { return &Keys{newKeyFile(path)} }

// NewSharedKeys returns the keys in a document of a cluster, which its processes share.
func NewSharedKeys(d *cluster.Document) *Keys {
	file := newKeyFile("the keys of the cluster")
	file.Shared = d
	return &Keys{file}
}

// Verify accepts tokens that begin with [KeyPrefix].
func (k *Keys) Verify(ctx context.Context, token string) (*Identity, error) {
	rest, ok := strings.CutPrefix(token, KeyPrefix)
	if !ok {
		return nil, ErrForeign
	}
	id, secret, _ := strings.Cut(rest, ".")
	list, err := k.file.Read(ctx)
	if err != nil {
		return nil, err
	}
	key := list.byID[id]
	got, want := sha256.Sum256([]byte(secret)), [sha256.Size]byte{}
	if key != nil {
		want = key.hash
	}
	isSame := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	switch {
	case key == nil || !isSame:
		return nil, invalidf("no such API key")
	case key.Expired(time.Now()):
		return nil, &invalidReason{"the API key " + id + " has expired"}
	}
	return &key.identity, nil
}

// keyName is the grammar of the names of principals and groups, because they are shown and typed. It has no ":" and no
// "#", which other kinds of principals and groups contain.
var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._@+-]{1,128}$`) })

var (
	// ErrName means that a text cannot be the name of a principal.
	ErrName = errors.New("no name of a principal")
	// ErrGroup means that a text cannot be the name of a group.
	ErrGroup = errors.New("no name of a group")
)

// localName stands for the caller of a server without authentication. No key has it.
const localName = "local"

// maxKeyGroups bounds the groups of one key.
const maxKeyGroups = 100

// check returns an error if the names of a key are not allowed.
func (k *Key) check() error {
	const grammar = "write letters, digits and ._@+-, at most 128"
	switch {
	case k.Name == localName:
		return fmt.Errorf("%q is %w: it stands for the local user", k.Name, ErrName)
	case k.Name != "" && !keyName().MatchString(k.Name):
		return fmt.Errorf("%.200q is %w: %s", k.Name, ErrName, grammar)
	case len(k.Groups) > maxKeyGroups:
		return fmt.Errorf("%d groups, and a key has at most %d", len(k.Groups), maxKeyGroups)
	}
	for _, group := range k.Groups {
		if !keyName().MatchString(group) {
			return fmt.Errorf("%.200q is %w: %s", group, ErrGroup, grammar)
		}
	}
	return nil
}

// maxKeys bounds the number of keys in a file.
const maxKeys = 10_000

// Add makes a key with the Name, Groups, Views and Expires of key. The token is returned only here and cannot be
// recovered.
func (k *Keys) Add(ctx context.Context, key Key) (token string, added Key, err error) {
	key.Groups = slices.Compact(slices.Sorted(slices.Values(key.Groups)))
	if err := key.check(); err != nil {
		return "", Key{}, err
	}
	id, secret := strings.ToLower(rand.Text())[:10], strings.ToLower(rand.Text()+rand.Text()) // 260 bits
	hash := sha256.Sum256([]byte(secret))
	key.ID, key.Hash, key.Created = id, hex.EncodeToString(hash[:]), time.Now().UTC().Truncate(time.Second)
	err = k.change(ctx, func(list []Key) ([]Key, error) {
		if len(list) >= maxKeys {
			return nil, fmt.Errorf("%s: there are %d keys, which is the most; remove some", k.file.Path, len(list))
		}
		return append(list, key), nil
	})
	if err != nil {
		return "", Key{}, err
	}
	return KeyPrefix + id + "." + secret, key, nil
}

// ErrNoKey means that no key has this id.
var ErrNoKey = errors.New("there is no such key")

// Remove removes a key. The next request with this key is refused.
func (k *Keys) Remove(ctx context.Context, id string) error {
	return k.change(ctx, func(list []Key) ([]Key, error) {
		i := slices.IndexFunc(list, func(key Key) bool { return key.ID == id })
		if i < 0 {
			return nil, ErrNoKey
		}
		return slices.Delete(list, i, i+1), nil
	})
}

// List returns the keys in the order in which they were made, including expired keys.
func (k *Keys) List() ([]Key, error) {
	list, err := k.file.Read(context.Background())
	return slices.Clone(list.all), err
}

// change rewrites the file, one process at a time.
func (k *Keys) change(ctx context.Context, edit func([]Key) ([]Key, error)) error {
	return k.file.Update(ctx, func(list keyList) (_ keyList, err error) {
		list.all, err = edit(list.all)
		return list, err
	})
}

// maxKeysFile bounds the size of the file, in bytes. A file with maxKeys keys takes less than half of it.
const maxKeysFile = 8 << 20

// keysFile is the form of the file.
type keysFile struct {
	Version int   `json:"version"`
	Keys    []Key `json:"keys"`
}

// keyList holds the keys of a file. A file that does not exist has no keys.
type keyList struct {
	all  []Key
	byID map[string]*apiKey
}

// newKeyFile returns the file of keys at path. On systems with file modes, it refuses a file that other users may read
// or write.
func newKeyFile(path string) *statefile.File[keyList] {
	return &statefile.File[keyList]{
		Path: path,
		Load: func(path string) ([]byte, error) { return atomicfile.ReadPrivate(path, maxKeysFile) },
		Decode: func(_ context.Context, text []byte) (keyList, error) {
			list, err := decodeKeys(text)
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			return list, err
		},
		Encode: func(_ context.Context, list keyList) ([]byte, error) {
			return json.MarshalIndent(keysFile{1, list.all}, "", "  ")
		},
	}
}

func decodeKeys(text []byte) (keyList, error) {
	list := keyList{byID: map[string]*apiKey{}}
	if text == nil {
		return list, nil
	}
	var out keysFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // an unknown field might be a limit
	if err := d.Decode(&out); err != nil {
		return list, err
	}
	if out.Version != 1 {
		return list, fmt.Errorf("keys of version %d, and this program knows version 1", out.Version)
	}
	for _, key := range out.Keys {
		entry := &apiKey{Key: key}
		hash, err := hex.DecodeString(key.Hash)
		if err != nil || copy(entry.hash[:], hash) != len(hash) || len(hash) != sha256.Size {
			return list, fmt.Errorf("the key %.40q has no SHA-256", key.ID)
		}
		if err := key.check(); err != nil {
			return list, fmt.Errorf("the key %.40q: %w", key.ID, err)
		}
		groups := slices.Compact(slices.Sorted(slices.Values(key.Groups)))
		entry.identity = Identity{Principal: key.Principal(), Groups: groups, Views: key.Views, Expires: key.Expires}
		list.byID[key.ID] = entry
	}
	list.all = out.Keys
	return list, nil
}
