package sealed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/indusagi/indus/internal/filelock"
)

const (
	maxKeyFile  = 64 << 10 // bytes
	othersModes = 0o077
)

// KeyFile reads keys from a file: one on each line, in hexadecimal or base64; empty lines and
// lines that begin with # are left out. Two lines while one key rotates: the first seals, see
// [NewKeys]. Where there is no file, it makes one with a new key, for its owner alone
// (0600); processes that do so at once agree on one. A file that others may read or write
// is refused where the system has modes. Errors name the file and never show what is in it.
func KeyFile(ctx context.Context, path string) (*Keys, error) {
	keys, err := readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	unlock, err := filelock.Lock(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if keys, err = readKeyFile(path); !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	key := newKey()
	if err := writeKeyFile(path, key); err != nil {
		return nil, err
	}
	return NewKeys(key)
}

func readKeyFile(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&othersModes != 0 { // there the mode says nothing
		return nil, fmt.Errorf("%s: others may read or write this key (mode %04o); replace it if they may have, then: chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("%s: too large for a file of keys", path)
	}
	var keys [][]byte
	n := 0
	for line := range bytes.Lines(text) {
		n++
		s := string(bytes.TrimSpace(line))
		if s == "" || s[0] == '#' {
			continue
		}
		key := parseKey(s)
		if key == nil {
			return nil, fmt.Errorf("%s:%d: no key of %d bytes in hexadecimal or base64", path, n, KeySize)
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, fmt.Errorf("%s: no key in it; remove it, and a new one is made", path)
	}
	return NewKeys(keys...)
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

// writeKeyFile makes the file in one step, so that no crash leaves half of a key. Call it
// with the lock held.
func writeKeyFile(path string, key []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // 0600, O_EXCL
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
