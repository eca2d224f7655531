package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig"
)

// userSettings belong to the user. A project has none, because a cloned repository must not choose where prompts and
// keys go.
type userSettings struct {
	Model   string `json:"model"`
	BaseURL string `json:"baseURL"`
	KeyFile string `json:"keyFile"` // relative to the file of settings
	KeyEnv  string `json:"keyEnv"`
	Context int    `json:"context"` // in tokens; 0 for the known size of the model

	path string
}

// maxSettings limits the size of a file of settings and of a key file, in bytes.
const maxSettings = 64 << 10

// readSettings reads settings.json of the user's configuration directory. If the file does not exist, the settings are
// empty.
func readSettings() (userSettings, error) {
	path, err := mcpconfig.PathOf(mcpconfig.User, nil)
	if err != nil {
		return userSettings{}, nil // there is no home directory
	}
	s := userSettings{path: filepath.Join(filepath.Dir(path), "settings.json")}
	b, err := atomicfile.ReadNamed(context.Background(), s.path, nil, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&s)
		if err == nil && d.More() {
			err = errors.New("something follows the object")
		}
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "all of it"), wrong.Value)
		}
	}
	if err == nil && s.Context < 0 {
		err = fmt.Errorf("context %d is no number of tokens", s.Context)
	}
	if err == nil && s.KeyFile != "" && s.KeyEnv != "" {
		err = errors.New("keyFile and keyEnv exclude each other")
	}
	if err != nil {
		return s, command.Usagef(
			"%s: %w; it is a JSON object of the strings model, baseURL, keyFile and keyEnv, and the number context", s.path, err)
	}
	if rest, ok := strings.CutPrefix(s.KeyFile, "~/"); ok {
		home, _ := os.UserHomeDir()
		s.KeyFile = filepath.Join(home, rest)
	} else if s.KeyFile != "" && !filepath.IsAbs(s.KeyFile) {
		s.KeyFile = filepath.Join(filepath.Dir(s.path), s.KeyFile)
	}
	return s, nil
}

// readKey returns the first line of a key file.
func readKey(path string) (string, error) {
	b, err := atomicfile.ReadNamed(context.Background(), path, nil, maxSettings)
	if err != nil {
		return "", command.AsUsage(err)
	}
	key, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	key = strings.TrimSpace(key)
	if key == "" {
		return "", command.Usagef("%s: there is no key in it", path)
	}
	return key, nil
}
