package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

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
	text, err := atomicfile.ReadPrivate(path, maxKeysFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
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
