package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

const (
	maxValues = 1000 // of a set: a file of so many lines is no credential
	// maxLearned is how many values are learned: a sign-in has one token at a time, and what comes back is not much older.
	maxLearned = 16
	// leastToken is how long a token must be to be masked in results, in bytes: none that nobody can guess is shorter (RFC 6749 section 10.10),
	// and a client whose header is forwarded could otherwise have words masked for all others.
	leastToken = 16
)

// Set is the secrets of one server. Nil masks nothing. It is safe for concurrent use.
type Set struct {
	learned atomic.Pointer[Set] // the set with what was learned behind its values; nil: nothing was
	report  func(string)        // is given what is learned; nil: nothing is
	most    int                 // of the learned; 0: maxLearned

	values []string
	once   sync.Once
	by     [256][]needle // by the first byte
	plain  []string      // the values as they are, with what is in them
}

// needle is one form of a secret.
type needle struct {
	text          string
	base64        bool // in the standard alphabet; the other matches too, and so do line breaks
	before, after bool // a character of it holds bits of a neighbour too
}

// New is a set of values, each with what may be in it: lines, the credential behind
// "Bearer ", user and password of "Basic ", those of a URL and its query, the strings of
// JSON. Nothing is done before the first text is masked.
func New(values ...string) *Set { return &Set{values: values} }

// With is a set of more values; s itself where it has them.
func (s *Set) With(values ...string) *Set {
	if s == nil {
		return New(values...)
	}
	all := s.all()
	if !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(all, v) }) {
		return s
	}
	return New(slices.Concat(all, values)...)
}

// Reporting has every value that s learns given to report too. It returns s, which is not in use yet.
func (s *Set) Reporting(report func(value string)) *Set {
	s.report = report
	return s
}

// Keeping has s keep the last most values that it learns, in place of 16. It returns s, which is not in use yet.
func (s *Set) Keeping(most int) *Set {
	s.most = most
	return s
}

// Learn adds a value that comes up while s is in use: the Authorization of a sign-in, whose token is renewed. The
// last 16 are kept, or as many as [Set.Keeping] says.
func (s *Set) Learn(value string) {
	for {
		last, all := s.learned.Load(), s.all()
		if value == "" || slices.Contains(all, value) {
			return
		}
		kept := all[max(len(s.values), len(all)+1-cmp.Or(s.most, maxLearned)):]
		if s.learned.CompareAndSwap(last, New(slices.Concat(s.values, kept, []string{value})...)) {
			if s.report != nil {
				s.report(value)
			}
			return
		}
	}
}

// all are the values, with those that were learned behind them.
func (s *Set) all() []string {
	if learned := s.learned.Load(); learned != nil {
		return learned.values
	}
	return s.values
}

// Result is what the server was asked for, without the tokens that s has learned: what is configured may well be what was asked
// for, and the token of a sign-in is not. It looks for them as they are.
func (s *Set) Result(raw json.RawMessage) json.RawMessage {
	if s == nil {
		return raw
	}
	masked := raw
	for _, v := range s.all()[len(s.values):] {
		token := v[strings.IndexByte(v, ' ')+1:] // without "Bearer "
		// Its end is compared first: it is short, and that of no other token.
		if len(token) >= leastToken && bytes.Contains(raw, []byte(token[max(0, len(token)-32):])) {
			masked = bytes.ReplaceAll(masked, []byte(token), []byte(Mask))
		}
	}
	if bytes.Equal(masked, raw) {
		return raw
	}
	return valid(masked)
}

func (s *Set) build() {
	seen := map[string]bool{}
	for _, v := range s.values {
		s.add(v, seen, 0)
	}
	for _, v := range s.plain {
		s.needle(needle{text: v})
		s.needle(needle{text: hex.EncodeToString([]byte(v))})
		s.needle(needle{text: strings.ToUpper(hex.EncodeToString([]byte(v)))})
		for shift := range 3 { // bits 8*shift to 8*(shift+len) of a longer text, six to a character
			raw := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), v...))
			from, to := (8*shift+5)/6, 8*(shift+len(v))/6
			s.needle(needle{text: raw[from:to], base64: true, before: shift > 0, after: to < len(raw)})
		}
	}
}

func (s *Set) needle(n needle) { s.by[n.text[0]] = append(s.by[n.text[0]], n) }

// add takes a value, and what is in it.
func (s *Set) add(v string, seen map[string]bool, depth int) {
	v = strings.TrimSpace(v)
	if len(v) < Least || depth > 3 || seen[v] || len(seen) > maxValues || isPlace(v) {
		return
	}
	seen[v] = true
	inner := func(values ...string) {
		for _, one := range values {
			s.add(one, seen, depth+1)
		}
	}
	s.plain = append(s.plain, v)
	if strings.Contains(v, "\n") {
		inner(strings.Split(v, "\n")...)
	}
	if word := Scheme(v); word != "" {
		inner(v[len(word):])
		if login, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v[len(word):])); err == nil && strings.EqualFold(word, "basic ") {
			_, password, _ := strings.Cut(string(login), ":")
			inner(string(login), password)
		}
	}
	if strings.Contains(v, "://") {
		inner(InURL(v)...)
	}
	if v[0] == '{' || v[0] == '[' {
		d := json.NewDecoder(strings.NewReader(v))
		for t, err := d.Token(); err == nil; t, err = d.Token() {
			if text, ok := t.(string); ok && len(text) >= 3*Least { // else keys and the like
				inner(text)
			}
		}
	}
	inner(In(v)...)
}

// InURL are the secrets of a URL: who logs in, in the query, and what looks like a key in
// the path.
func InURL(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var found []string
	if password, ok := u.User.Password(); ok {
		found = append(found, password, u.User.Username()+":"+password)
	} else if u.User != nil {
		found = append(found, u.User.Username())
	}
	for name, list := range u.Query() {
		for _, v := range list {
			if Named(name) || len(v) >= 2*Least || strings.ContainsAny(v, digits) { // else a word, such as "require"
				found = append(found, v)
			}
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if keyLike(part) {
			found = append(found, part)
		}
	}
	return append(found, u.Fragment)
}

// Ordinary reports a header whose value is no secret.
func Ordinary(header string) bool {
	switch http.CanonicalHeaderKey(header) {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Origin":
		return true
	}
	return false
}

func isPort(s string) bool { return s != "" && len(s) <= 5 && strings.Trim(s, digits) == "" }

// isHost reports what has only what names and addresses of hosts have.
func isHost(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !alphanumeric(byte(r)) && !strings.ContainsRune(".:-_", r)
	}) < 0
}

// isPlace reports a path into this machine's file system, whether or not it leads
// anywhere, a host and port, or a URL that is an origin.
func isPlace(v string) bool {
	if u, err := url.Parse(v); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && strings.Trim(u.Path, "/") == "" {
		return true
	}
	if host, port, err := net.SplitHostPort(v); err == nil && isPort(port) && (host == "localhost" || strings.ContainsAny(host, ".:")) && isHost(host) {
		return true
	}
	if !filepath.IsAbs(v) {
		return false
	}
	top, _, _ := strings.Cut(filepath.ToSlash(v)[1:], "/")
	_, err := os.Lstat("/" + top)
	return err == nil && top != ""
}
