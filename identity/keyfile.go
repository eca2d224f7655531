package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
)

// maxKeysFile bounds the file of keys, in bytes: those of maxKeys keys take less than half of it.
const maxKeysFile = 8 << 20

// keysFile is the form of the file.
type keysFile struct {
	Version int   `json:"version"`
	Keys    []Key `json:"keys"`
}

// keyList is the keys of a file. A file that is not there has none.
type keyList struct {
	all  []Key
	byID map[string]*apiKey
}

// newKeyFile is the file of keys at path. A file that others may read or write is refused where the system has modes.
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
	d.DisallowUnknownFields() // a field that says more than this version knows might be a limit
	if err := d.Decode(&out); err != nil {
		return list, err
	}
	if out.Version != 1 {
		return list, fmt.Errorf("keys of version %d, and this program knows version 1", out.Version)
	}
	for _, one := range out.Keys {
		entry := &apiKey{Key: one}
		hash, err := hex.DecodeString(one.Hash)
		if err != nil || copy(entry.hash[:], hash) != len(hash) || len(hash) != sha256.Size {
			return list, fmt.Errorf("the key %.40q has no SHA-256", one.ID)
		}
		entry.identity = Identity{Principal: one.Principal(), Views: one.Views, Expires: one.Expires}
		list.byID[one.ID] = entry
	}
	list.all = out.Keys
	return list, nil
}
