package page

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/atomicfile"
)

// linkLife is how long a link can be used.
const linkLife = 10 * time.Minute

// links makes and checks one-time links. A link is a time, random bytes, and their HMAC with the secret. The secret is
// in a file that only the user can read, so that "indus page" can make links. It is never sent.
type links struct {
	secret []byte

	mu     sync.Mutex
	used   map[string]time.Time // the links that were used, until they expire
	path   string               // the file, "" if there is none
	closed bool                 // there is no file any more
}

// servedPage is the content of the file: a page that is served.
type servedPage struct {
	Address string    `json:"address"` // scheme and host
	Started time.Time `json:"started"`
	Secret  []byte    `json:"secret"`
}

// pagesDir returns the directory of the files, or "".
func pagesDir() string { return command.StatePath("pages") }

// announce writes the file. Without a state directory there is none, and "indus page" does not find the page.
func (l *links) announce(address string) error {
	dir := pagesDir()
	l.mu.Lock()
	defer l.mu.Unlock()
	if dir == "" || l.closed {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(servedPage{Address: address, Started: time.Now(), Secret: l.secret})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d.json", os.Getpid()))
	if err := atomicfile.Publish(path, append(text, '\n')); err != nil {
		return err
	}
	l.path = path
	return nil
}

// withdraw removes the file.
func (l *links) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.path != "" {
		_ = os.Remove(l.path)
	}
}

// newLink returns a link that can be used once.
func newLink(secret []byte, now time.Time) string {
	text := binary.BigEndian.AppendUint64(nil, uint64(now.Add(linkLife).Unix()))
	text = append(text, rand.Text()...)
	return base64.RawURLEncoding.EncodeToString(append(text, sign(secret, text)...))
}

func sign(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("indus page link\x00"))
	mac.Write(text)
	return mac.Sum(nil)
}

// use reports whether a link is good, and uses it up.
func (l *links) use(link string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(link)
	if err != nil || len(raw) <= 8+sha256.Size {
		return false
	}
	text, mac := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if !hmac.Equal(mac, sign(l.secret, text)) {
		return false
	}
	now := time.Now()
	expires := time.Unix(int64(binary.BigEndian.Uint64(text)), 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.used, func(_ string, until time.Time) bool { return now.After(until) })
	if _, isUsed := l.used[string(text)]; isUsed || now.After(expires) {
		return false
	}
	l.used[string(text)] = expires
	return true
}

// Announce lets "indus page" find the page.
func (s *Site) Announce() error { return s.access.links.announce(s.Address) }

// Link returns the address of the page with a one-time link for the operator.
func (s *Site) Link() string { return linkTo(s.Address, newLink(s.access.links.secret, time.Now())) }

func linkTo(address, link string) string { return address + "/enter?link=" + link }

// findRunning returns the pages that are served, the latest first. It removes the files of processes that have ended.
func findRunning(ctx context.Context) (all []servedPage, err error) {
	dir := pagesDir()
	if dir == "" {
		return nil, errors.New("there is no place where pages are found: set $HOME or $XDG_STATE_HOME")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		var r servedPage
		text, err := atomicfile.ReadPrivate(path, MaxForm)
		if err == nil && len(text) > 0 {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !r.answers(ctx) {
			_ = os.Remove(path)
			continue
		}
		all = append(all, r)
	}
	return all, nil
}
