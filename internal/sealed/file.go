package sealed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
)

const maxKeyFile = 64 << 10 // bytes

// KeyFile reads keys from a file: one on each line, in hexadecimal or base64. Empty lines and lines that
// begin with # are left out. While a key rotates, the file has two lines, and the first key seals (see
// [NewKeys]). If there is no file, KeyFile makes one with a new key that only its owner can read (0600).
// Several processes that do so at once use the same key. If the system has file modes, a file that other
// users may read or write is refused. Errors name the file and never show its contents.
func KeyFile(ctx context.Context, path string) (*Keys, error) {
	keys, err := ReadKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	unlock, err := statefile.LockFile(ctx, path, "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if keys, err := ReadKeyFile(path); !errors.Is(err, fs.ErrNotExist) { // another process has made it
		return keys, err
	}
	if err := atomicfile.Replace(atomicfile.Real(path), []byte(NewKeyText()+"\n"), nil); err != nil {
		return nil, err
	}
	return ReadKeyFile(path)
}

// NewKeyText returns a new key in the form that [ParseKeys] reads.
func NewKeyText() string { return hex.EncodeToString(newKey()) }

// ReadKeyFile is [KeyFile] without making a file. If there is no file, the error is [fs.ErrNotExist].
func ReadKeyFile(path string) (*Keys, error) {
	keys, err := ReadKeys(path)
	switch {
	case errors.Is(err, errNoKey):
		return nil, fmt.Errorf("%w; remove it, and a new one is made", err)
	case err != nil:
		return nil, err
	}
	return NewKeys(keys...)
}

// ReadKeys returns the keys themselves of a file in the format of a [KeyFile], for a use other than tokens.
func ReadKeys(path string) ([][]byte, error) {
	text, err := atomicfile.ReadPrivate(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	keys, line, err := parseKeys(string(text))
	switch {
	case line > 0:
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// Reread makes k seal and open with the current keys of a [KeyFile], and reports whether they are others. If the file
// cannot be read, k stays as it is.
func (k *Keys) Reread(path string) (changed bool, err error) {
	now, err := ReadKeyFile(path)
	if err != nil {
		return false, err
	}
	before := k.all.Swap(now.all.Load())
	return !slices.EqualFunc(*before, *now.all.Load(), sealing.same), nil
}

func (s sealing) same(other sealing) bool { return bytes.Equal(s.nonces, other.nonces) }

// ParseKeys reads keys in the format of a [KeyFile].
func ParseKeys(text string) (*Keys, error) {
	keys, _, err := parseKeys(text)
	if err != nil {
		return nil, err
	}
	return NewKeys(keys...)
}

var errNoKey = errors.New("no key in it")

// parseKeys also returns the number of the first invalid line, or 0.
func parseKeys(text string) (keys [][]byte, line int, err error) {
	for s := range strings.Lines(text) {
		line++
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			continue
		}
		key := parseKey(s)
		if key == nil {
			return nil, line, fmt.Errorf("no key of %d bytes in hexadecimal or base64", KeySize)
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, 0, errNoKey
	}
	return keys, 0, nil
}

// parseKey returns nil if s is not a key.
func parseKey(s string) []byte {
	if key, err := hex.DecodeString(s); err == nil && len(key) == KeySize {
		return key
	}
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	if key, err := base64.RawStdEncoding.DecodeString(s); err == nil && len(key) == KeySize {
		return key
	}
	return nil
}
