package lineedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
)

const (
	// maxHistory is the maximum number of stored texts. maxEntry is the maximum size of each, in bytes.
	maxHistory = 1000
	maxEntry   = 16 << 10
)

// History is the list of typed texts, in a file of JSON strings that only its user may read. Texts that begin with a
// blank or look like a credential are not stored. A nil History is empty and stores nothing.
type History struct {
	path    string
	entries []string
}

// OpenHistory reads the history from a file. If the file cannot be read, the history is empty.
func OpenHistory(path string) *History {
	h := &History{path: path}
	data, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	for line := range bytes.Lines(data) {
		var s string
		if json.Unmarshal(line, &s) == nil && s != "" {
			h.entries = append(h.entries, s)
		}
	}
	if n := len(h.entries) - maxHistory; n > 0 {
		h.entries = h.entries[n:]
		if n > maxHistory/2 { // so that not every start rewrites the file
			_ = h.rewrite()
		}
	}
	return h
}

// All returns the texts, the newest last.
func (h *History) All() []string {
	if h == nil {
		return nil
	}
	return h.entries
}

// Add stores a text. The error is the reason for which the text will be missing the next time.
func (h *History) Add(s string) error {
	if h == nil || strings.TrimSpace(s) == "" || s[0] == ' ' || len(s) > maxEntry || len(secret.Find(s)) > 0 {
		return nil
	}
	if n := len(h.entries); n > 0 && h.entries[n-1] == s {
		return nil
	}
	h.entries = append(h.entries, s)
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text.Quote(s), '\n'))
	return errors.Join(err, file.Close())
}

func (h *History) rewrite() error {
	var out bytes.Buffer
	for _, s := range h.entries {
		out.Write(append(text.Quote(s), '\n'))
	}
	return atomicfile.Replace(h.path, out.Bytes(), nil)
}
