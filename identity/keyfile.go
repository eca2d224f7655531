package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/indusagi/indus/internal/atomicfile"
)

// maxKeysFile bounds the file of keys, in bytes: those of maxKeys keys take less than half of it.
const maxKeysFile = 8 << 20

// keysFile is the form of the file.
type keysFile struct {
	Version int   `json:"version"`
	Keys    []Key `json:"keys"`
}

// readKeys reads the file at path; where there is none, there are no keys. One that others may read or write is refused where the
// system has modes.
func readKeys(path string) ([]Key, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer, and so would all requests
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if mode := info.Mode(); mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" { // there the mode says nothing
		return nil, fmt.Errorf("%s: others may read or write these keys (mode %04o); see that all of them are yours, then: chmod 600 %s", path, mode.Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeysFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeysFile {
		return nil, fmt.Errorf("%s: too large for a file of keys", path)
	}
	var out keysFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a field that says more than this version knows might be a limit
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if out.Version != 1 {
		return nil, fmt.Errorf("%s: keys of version %d, and this program knows version 1", path, out.Version)
	}
	return out.Keys, nil
}

// writeKeys replaces the file in one step, so that no crash leaves half of it. Call it with the lock held.
func writeKeys(path string, keys []Key) error {
	text, err := json.MarshalIndent(keysFile{1, keys}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(path, append(text, '\n'), nil)
}
