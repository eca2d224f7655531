package uris

import (
	"errors"
	"fmt"
	"net/netip"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// URI is a URI in canonical form.
type URI struct {
	Text string
	// Plain is the text as a server may read it: with all characters decoded that a path may have, and without the user
	// and the fragment of a URL, which name no other resource.
	Plain                     string
	Scheme, Host, Path, Query string
	Port                      int64
	HasHost, HasPort          bool
	HasQuery                  bool
}

// uriSyntax splits a URI (RFC 3986, appendix B).
var uriSyntax = text.Pattern(`^([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$`)

// uriCharacters are the characters of a URI (RFC 3986, section 2). Others are percent-encoded.
const uriCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"

var defaultPorts = map[string]int64{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22}

// Canonical returns the canonical form of a URI (RFC 3986, section 6): the scheme and the host in lower case, no
// default port, no percent-encoding of characters that need none, no dot segments.
//
// A URI that servers can read in different ways has no canonical form: with an empty segment in the path, an encoded
// slash or control character, a host with characters beyond ASCII, or a number as its host that is no IP address. URIs
// of the schemes in specialSchemes have none either if a parser of URLs (WHATWG) reads them as another URI: without
// "//" or a host, with an empty user, password, query or fragment. Nor has a file with a host, a query or a fragment,
// which many servers drop.
func Canonical(text string) (string, error) {
	u, err := Parse(text)
	return u.Text, err
}

// Parse returns the canonical form of a URI, as [Canonical] does, with its parts.
func Parse(text string) (URI, error) {
	if err := CheckCharacters(text); err != nil {
		return URI{}, err
	}
	parts := uriSyntax().FindStringSubmatchIndex(text)
	if parts == nil {
		return URI{}, errors.New("a URI begins with a scheme, such as file or https")
	}
	group := func(i int) (string, bool) {
		if parts[2*i] < 0 {
			return "", false
		}
		return text[parts[2*i]:parts[2*i+1]], true
	}
	var u URI
	scheme, _ := group(1)
	u.Scheme = strings.ToLower(scheme)
	authority, hasAuthority := group(2)
	path, _ := group(3)
	query, hasQuery := group(4)
	fragment, hasFragment := group(5)
	u.HasQuery = hasQuery

	var err error
	special := slices.Contains(specialSchemes, u.Scheme)
	if special {
		if err := checkSpecial(u.Scheme, authority, path, hasAuthority,
			hasQuery && query == "" || hasFragment && fragment == ""); err != nil {
			return URI{}, err
		}
		if path == "" {
			path = "/"
		}
		query = strings.ReplaceAll(query, "'", "%27")
	}
	if u.Scheme == "file" && (hasQuery || hasFragment) {
		return URI{}, errors.New("a file has no query and no fragment")
	}
	written := u.Scheme + ":"
	if hasAuthority {
		if authority, err = u.authority(authority); err != nil {
			return URI{}, err
		}
		written += "//" + authority
	}
	if u.Path, err = CanonicalPath(path); err != nil {
		return URI{}, err
	}
	before := len(written)
	written += u.Path
	if u.Query, err = DecodeUnreserved(query); err != nil {
		return URI{}, err
	} else if hasQuery {
		written += "?" + u.Query
	}
	if fragment, err = DecodeUnreserved(fragment); err != nil {
		return URI{}, err
	} else if hasFragment {
		written += "#" + fragment
	}
	u.Text = written
	plain, err := decode(u.Path, isInPath)
	start, end := written[:before], written[before+len(u.Path):]
	if special && u.Scheme != "file" {
		start = u.Scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:]
		end, _, _ = strings.Cut(end, "#")
	}
	u.Plain = start + plain + end
	return u, err
}

// CheckCharacters returns an error if a text has a character that a URI cannot have.
func CheckCharacters(text string) error {
	if i := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(uriCharacters, r) }); i >= 0 {
		return fmt.Errorf("a URI cannot contain %q: percent-encode it", []rune(text[i:])[0])
	}
	return nil
}

// specialSchemes are the schemes that WHATWG calls special: its parser reads their URIs in more ways than RFC 3986.
var specialSchemes = []string{"file", "http", "https", "ws", "wss", "ftp"}

// userInfo matches a user and a password that all parsers keep as they are.
var userInfo = text.Pattern(`^[A-Za-z0-9._~!$&()*+,%-]+(?::[A-Za-z0-9._~!$&()*+,%-]+)?$`)

// drive matches a segment that parsers of URLs may take as a drive of Windows, which no dot segment removes.
var drive = text.Pattern(`^[A-Za-z](?:[:|]|%3[Aa]|%7[Cc])`)

// checkSpecial returns an error if a parser of URLs reads a URI of a special scheme as another one.
func checkSpecial(scheme, authority, path string, hasAuthority, emptyEnd bool) error {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	segments := strings.Split(path, "/")
	switch {
	case !hasAuthority:
		return fmt.Errorf("a URI of %s begins with %[1]s://", scheme)
	case scheme == "file" && authority != "":
		return errors.New("a file has no host: write file:///")
	case scheme == "file" && slices.ContainsFunc(segments, drive().MatchString) && hasDotSegment(segments):
		return errors.New("the path has a drive and a dot segment")
	case scheme != "file" && (host == "" || host[0] == ':'):
		return fmt.Errorf("a URI of %s needs a host", scheme)
	case emptyEnd:
		return errors.New("the query or the fragment is empty")
	}
	return nil
}

func hasDotSegment(segments []string) bool {
	return slices.ContainsFunc(segments, func(s string) bool {
		s = strings.ReplaceAll(strings.ToLower(s), "%2e", ".")
		return s == "." || s == ".."
	})
}

// authority reads user, host and port, and returns their canonical form.
func (u *URI) authority(text string) (string, error) {
	user, host, hasUser := CutLast(text, "@")
	if !hasUser {
		user, host = "", text
	} else if !userInfo().MatchString(user) {
		return "", errors.New("the user or the password is empty, or has characters that need percent-encoding")
	}
	host, port, err := splitPort(host)
	if err != nil {
		return "", err
	}
	if host, err = CanonicalHost(host); err != nil {
		return "", err
	}
	if hasUser && host == "" {
		return "", errors.New("the user has no host")
	}
	u.Host, u.HasHost = strings.Trim(host, "[]"), host != ""
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", fmt.Errorf("the port %q is not a number up to 65535", port)
		}
		if u.Port = int64(n); u.Port != defaultPorts[u.Scheme] {
			u.HasPort = true
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	if !hasUser {
		return host, nil
	}
	user, err = DecodeUnreserved(user)
	return user + "@" + host, err
}

// CutLast cuts a text at the last separator.
func CutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func splitPort(text string) (host, port string, err error) {
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 || end+1 < len(text) && text[end+1] != ':' {
			return "", "", fmt.Errorf("the host %q is no IPv6 address in brackets", text)
		}
		return text[:end+1], strings.TrimPrefix(text[end+1:], ":"), nil
	}
	host, port, _ = strings.Cut(text, ":")
	return host, port, nil
}

// hostName matches a registered name. Percent-encoded and international names have no canonical form here: their
// readers differ.
var hostName = text.Pattern(`^[a-z0-9._~!$&'()*+,;=-]*$`)

// numericHost matches hosts that some readers take as an IPv4 address: 127.1, 0x7f000001, 2130706433.
var numericHost = text.Pattern(`(?:^|\.)(?:0x[0-9a-f]*|[0-9]+)$`)

// CanonicalHost returns the canonical form of a host, without its port.
func CanonicalHost(host string) (string, error) {
	host = strings.ToLower(host)
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" {
			return "", fmt.Errorf("the host %s is no plain IPv6 address", host)
		}
		return "[" + ip.String() + "]", nil
	}
	if host != "." {
		host = strings.TrimSuffix(host, ".")
	}
	if host != "" && slices.Contains(strings.Split(host, "."), "") {
		return "", fmt.Errorf("the host %q has an empty label", host)
	}
	if !hostName().MatchString(host) {
		return "", fmt.Errorf("the host %q must be written in ASCII without percent-encoding", host)
	}
	if numericHost().MatchString(host) {
		if ip, err := netip.ParseAddr(host); err != nil || ip.String() != host {
			return "", fmt.Errorf("the host %q is a number and no IPv4 address", host)
		}
	}
	return host, nil
}

// CanonicalPath decodes characters that need no encoding, and removes dot segments.
func CanonicalPath(path string) (string, error) {
	path, err := DecodeUnreserved(path)
	if err != nil {
		return "", err
	}
	if strings.Contains(path, "%2F") || strings.Contains(path, "%5C") {
		return "", errors.New("the path has an encoded slash or backslash")
	}
	if path == "" {
		return "", nil
	}
	relative, isRooted := strings.CutPrefix(path, "/")
	segments := strings.Split(relative, "/")
	last := segments[len(segments)-1]
	isDot := func(segment string) bool { return segment == "." || segment == ".." }
	switch {
	case slices.Contains(segments[:len(segments)-1], ""):
		return "", errors.New("the path has an empty segment")
	case !isRooted && slices.ContainsFunc(segments, isDot):
		return "", errors.New("the path has a dot segment and no root")
	case !isRooted:
		return path, nil
	}
	clean := pathpkg.Clean(path)
	if clean != "/" && (last == "" || isDot(last)) {
		clean += "/"
	}
	return clean, nil
}

// DecodeUnreserved decodes the percent-encoding of unreserved characters, and writes the other encodings in upper case.
func DecodeUnreserved(text string) (string, error) { return decode(text, isUnreserved) }

// decode decodes the percent-encoding of some characters, and writes the other encodings in upper case.
func decode(text string, isPlain func(byte) bool) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", errors.New("a percent sign is not followed by two hexadecimal digits")
		}
		n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		switch c := byte(n); {
		case err != nil:
			return "", errors.New("a percent sign is not followed by two hexadecimal digits")
		case c < ' ' || c == 0x7f:
			return "", fmt.Errorf("the URI encodes the control character %q", rune(c))
		case isPlain(c):
			b.WriteByte(c)
		default:
			b.WriteString(strings.ToUpper(text[i : i+3]))
		}
		i += 2
	}
	return b.String(), nil
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// isInPath reports whether a segment of a path may have a character as it is (RFC 3986, section 3.3).
func isInPath(c byte) bool { return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0 }

// IsSpecial reports whether a URI has a scheme that WHATWG calls special: file, http, https, ws, wss or ftp.
func IsSpecial(text string) bool {
	scheme, _, _ := strings.Cut(text, ":")
	return slices.Contains(specialSchemes, strings.ToLower(scheme))
}
