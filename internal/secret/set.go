package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	maxValues = 1000 // of a set: a file with more lines is not a credential
	// maxLearned is how many learned values are kept. A sign-in has one token at a time, and servers repeat only recent
	// tokens.
	maxLearned = 16
	// leastToken is the minimum length of a token that is masked in results, in bytes. Shorter tokens could be guessed
	// (RFC 6749 section 10.10). Without this limit, a client with a forwarded header could cause words to be masked for
	// all other clients.
	leastToken = 16
)

// Set holds the secrets of one server. A nil Set masks nothing. It is safe for concurrent use.
type Set struct {
	learned      atomic.Pointer[Set] // the set with the learned values after its own; nil if none were learned
	report       func(string)        // receives each learned value; nil if unused
	learnedLimit int                 // limit of learned values; 0 means maxLearned

	values      []string
	once        sync.Once
	byFirstByte [256][]needle  // the needles, by their first byte
	secondBytes [256][4]uint64 // the set of their second bytes, by their first byte
	plain       []string       // the values and their parts, unencoded
}

// needle is one form of a secret.
type needle struct {
	text          string
	base64        bool // in the standard alphabet; it also matches the other alphabet and line breaks
	hex           bool // in hexadecimal; it also matches bytes with separators, such as "68:75" or "0x68, 0x75"
	list          bool // decimal numbers with a comma after each; it also matches other separators
	before, after bool // its first or last character also holds bits of a neighbor
}

// New returns a set of values, each with its parts: lines, the credential after "Bearer ", user and password of "Basic
// ", the secrets of a URL and its query, and the strings of JSON. The work is done when the first text is masked.
func New(values ...string) *Set { return &Set{values: values} }

// With returns a set with additional values, or s itself if it has them already.
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

// OnLearn makes s call report with every value that it learns. It returns s. Call it before s is in use.
func (s *Set) OnLearn(report func(value string)) *Set {
	s.report = report
	return s
}

// LimitLearned makes s keep the last limit learned values, instead of 16. It returns s. Call it before s is in use.
func (s *Set) LimitLearned(limit int) *Set {
	s.learnedLimit = limit
	return s
}

// Learn adds a value while s is in use, such as the Authorization header of a sign-in after its token was renewed. The
// last 16 values are kept, or the number set by [Set.LimitLearned].
func (s *Set) Learn(value string) {
	for {
		last, all := s.learned.Load(), s.all()
		if value == "" || slices.Contains(all, value) {
			return
		}
		recent := all[max(len(s.values), len(all)+1-cmp.Or(s.learnedLimit, maxLearned)):]
		if s.learned.CompareAndSwap(last, New(slices.Concat(s.values, recent, []string{value})...)) {
			if s.report != nil {
				s.report(value)
			}
			return
		}
	}
}

// all returns the values, followed by the learned values.
func (s *Set) all() []string {
	if learned := s.learned.Load(); learned != nil {
		return learned.values
	}
	return s.values
}

// Result returns raw without the tokens that s has learned. Configured values stay, because they may be the requested
// data, unlike the token of a sign-in. It finds tokens only in plain form.
func (s *Set) Result(raw json.RawMessage) json.RawMessage {
	if s == nil {
		return raw
	}
	var tokens []string // each with the text that stands for it
	for _, v := range s.all()[len(s.values):] {
		token := v[strings.IndexByte(v, ' ')+1:] // without "Bearer "
		// Its end is compared first, because it is short and unique.
		if len(token) >= leastToken && bytes.Contains(raw, []byte(token[max(0, len(token)-32):])) {
			tokens = append(tokens, token, hiddenText(token))
		}
	}
	if tokens == nil {
		return raw
	}
	mask := strings.NewReplacer(tokens...).Replace
	return validOr([]byte(mask(string(raw))), raw, mask)
}

func (s *Set) build() {
	seen := map[string]bool{}
	for _, v := range s.values {
		s.add(v, seen, 0)
	}
	for _, v := range s.plain {
		s.addNeedle(needle{text: v})
		s.addNeedle(needle{text: hex.EncodeToString([]byte(v)), hex: true})
		s.addNeedle(needle{text: strings.ToUpper(hex.EncodeToString([]byte(v))), hex: true})
		s.addNeedle(needle{text: strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(v)), " ", ","), "[]"), list: true})
		for _, n := range base64Needles(v) {
			s.addNeedle(n)
			for _, twice := range base64Needles(n.text) { // such as the login in a file of Docker, within a Secret
				s.addNeedle(twice)
			}
		}
	}
}

// base64Needles returns a value in base64, at each place that it can have in a longer text.
func base64Needles(v string) (all []needle) {
	for shift := range 3 { // bits 8*shift to 8*(shift+len) of a longer text, six bits to a character
		raw := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), v...))
		from, to := (8*shift+5)/6, 8*(shift+len(v))/6
		all = append(all, needle{text: raw[from:to], base64: true, before: shift > 0, after: to < len(raw)})
	}
	return all
}

func (s *Set) addNeedle(n needle) {
	first, second := n.text[0], n.text[1]
	s.byFirstByte[first] = append(s.byFirstByte[first], n)
	s.secondBytes[first][second/64] |= 1 << (second % 64)
}

// add adds a value and its parts.
func (s *Set) add(v string, seen map[string]bool, depth int) {
	v = strings.TrimSpace(v)
	if len(v) < Least || depth > 3 || seen[v] || len(seen) > maxValues || isAddress(v) {
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
		if login, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v[len(word):])); err == nil &&
			strings.EqualFold(word, "basic ") {
			_, password, _ := strings.Cut(string(login), ":")
			inner(string(login), password)
		}
	}
	if strings.Contains(v, "://") {
		inner(FindInURL(v)...)
	}
	if v[0] == '{' || v[0] == '[' {
		d := json.NewDecoder(strings.NewReader(v))
		for t, err := d.Token(); err == nil; t, err = d.Token() {
			if text, ok := t.(string); ok && len(text) >= 3*Least { // shorter strings are mostly keys
				inner(text)
			}
		}
	}
	inner(Find(v)...)
}

// FindInURL returns the secrets of a URL: login, values of the query, and parts of the path that look like a key.
func FindInURL(address string) []string {
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
			if IsSecretName(name) || len(v) >= 2*Least || strings.ContainsAny(v, digits) { // otherwise a word, such as "require"
				found = append(found, v)
			}
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if looksLikeKey(part) {
			found = append(found, part)
		}
	}
	return append(found, u.Fragment)
}

// IsOrdinaryHeader reports whether a header's value is never a secret.
func IsOrdinaryHeader(header string) bool {
	switch http.CanonicalHeaderKey(header) {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Origin":
		return true
	}
	return false
}

func isPort(s string) bool { return s != "" && len(s) <= 5 && strings.Trim(s, digits) == "" }

// isHost reports whether s has only characters of host names and addresses.
func isHost(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !alphanumeric(byte(r)) && !strings.ContainsRune(".:-_", r)
	}) < 0
}

// isAddress reports whether v is a path in this machine's file system (which need not exist), a host and port, or a URL
// with only an origin.
func isAddress(v string) bool {
	if u, err := url.Parse(v); err == nil && u.Scheme != "" && u.Host != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == "" && strings.Trim(u.Path, "/") == "" {
		return true
	}
	if host, port, err := net.SplitHostPort(v); err == nil && isPort(port) &&
		(host == "localhost" || strings.ContainsAny(host, ".:")) && isHost(host) {
		return true
	}
	if !filepath.IsAbs(v) {
		return false
	}
	top, _, _ := strings.Cut(filepath.ToSlash(v)[1:], "/")
	_, err := os.Lstat("/" + top)
	return err == nil && top != ""
}
