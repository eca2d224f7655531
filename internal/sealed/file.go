package sealed

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/filelock"
)

const maxKeyFile = 64 << 10 // bytes

// KeyFile reads keys from a file: one on each line, in hexadecimal or base64; empty lines and
// lines that begin with # are left out. Two lines while one key rotates: the first seals, see
// [NewKeys]. Where there is no file, it makes one with a new key, for its owner alone
// (0600); processes that do so at once agree on one. A file that others may read or write
// is refused where the system has modes. Errors name the file and never show what is in it.
func KeyFile(ctx context.Context, path string) (*Keys, error) {
	keys, err := ReadKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	at := atomicfile.Real(path)
	unlock, err := filelock.Lock(ctx, at+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if keys, err := ReadKeyFile(path); !errors.Is(err, fs.ErrNotExist) { // another process has made it
		return keys, err
	}
	if err := atomicfile.Replace(at, []byte(NewKeyText()+"\n"), nil); err != nil {
		return nil, err
	}
	return ReadKeyFile(path)
}

// NewKeyText is a new key as [ParseKeys] reads it.
func NewKeyText() string { return hex.EncodeToString(newKey()) }

// ReadKeyFile is [KeyFile] that makes no file: one that is not there is [fs.ErrNotExist].
func ReadKeyFile(path string) (*Keys, error) {
	text, err := atomicfile.ReadPrivate(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	keys, line, err := parseKeys(string(text))
	switch {
	case line > 0:
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w; remove it, and a new one is made", path, err)
	}
	return keys, nil
}

// Reread has k seal and open with the keys that a [KeyFile] has now. If it cannot be read, k stays as it is.
func (k *Keys) Reread(path string) error {
	now, err := ReadKeyFile(path)
	if err == nil {
		k.all.Store(now.all.Load())
	}
	return err
}

// ParseKeys reads keys as they stand in a [KeyFile].
func ParseKeys(text string) (*Keys, error) {
	keys, _, err := parseKeys(text)
	return keys, err
}

// parseKeys also says in which line there is something else; 0: in none.
func parseKeys(text string) (*Keys, int, error) {
	var keys [][]byte
	n := 0
	for line := range strings.Lines(text) {
		n++
		s := strings.TrimSpace(line)
		if s == "" || s[0] == '#' {
			continue
		}
		key := parseKey(s)
		if key == nil {
			return nil, n, fmt.Errorf("no key of %d bytes in hexadecimal or base64", KeySize)
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, 0, errors.New("no key in it")
	}
	k, err := NewKeys(keys...)
	return k, 0, err
}

// parseKey is nil where s is no key.
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
