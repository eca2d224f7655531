package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

// MaxTTL bounds how long clients may cache a list, even if its server allows more.
const MaxTTL = 24 * time.Hour

// Caching returns how long a list may be cached according to its members, or 0 if they have no such time. private
// reports whether only the same caller may use the cached list (2026-07-28, server/utilities/caching).
func Caching(members []wire.Member) (ttl time.Duration, private bool) {
	for i := range members {
		switch v := members[i].Value; members[i].Key {
		case "ttlMs":
			if ms, err := strconv.ParseInt(string(v), 10, 64); err == nil && ms > 0 {
				ttl = time.Duration(min(ms, MaxTTL.Milliseconds())) * time.Millisecond
			}
		case "cacheScope":
			private = private || string(v) == `"private"`
		}
	}
	return ttl, private
}

// List is a list that clients read page by page. It is immutable.
type List struct {
	Names  []string        // of the rows, without repeats
	Rows   [][]byte        // extents of Result
	Result json.RawMessage // the whole list as one page

	key     string
	members []string
}

// NewList returns a list with rows as the result of a list method. The rows are in the member key, and the other
// members follow.
func NewList(key string, names []string, rows [][]byte, members ...string) *List {
	l := &List{Names: names, Rows: rows, key: key, members: members, Result: joinRows(key, rows, members...)}
	at := len(`{"":[`) + len(key)
	for i, row := range rows {
		l.Rows[i] = l.Result[at : at+len(row) : at+len(row)]
		at += len(row) + 1
	}
	return l
}

// joinRows returns a result with these rows, followed by these members.
func joinRows(key string, rows [][]byte, members ...string) json.RawMessage {
	size := len(key) + 8
	for _, row := range rows {
		size += len(row) + 1
	}
	for _, m := range members {
		size += len(m) + 1
	}
	b := append(append(append(make([]byte, 0, size), `{"`...), key...), `":[`...)
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, row...)
	}
	b = append(b, ']')
	for _, m := range members {
		b = append(append(b, ','), m...)
	}
	return append(b, '}')
}

// Page returns the part of the list after a cursor, as a result of method. size is the number of rows on a page; 0
// means all. cursor is the JSON of the request's cursor; nil means the first page. Clients get sealed cursors. If the
// list is not split into pages, sealed is not used.
func (l *List) Page(method string, cursor json.RawMessage, size int, sealed Cursors) (json.RawMessage, error) {
	from := 0
	if len(cursor) > 0 && string(cursor) != "null" && string(cursor) != `""` {
		digests, err := openCursor(cursor, size, sealed)
		if err != nil {
			return nil, &RPCError{Code: CodeInvalidParams,
				Message: method + ": unknown cursor: " + err.Error() + "; begin with the first page"}
		}
		from = l.indexAfter(digests)
	}
	if size == 0 || from == 0 && size >= len(l.Rows) {
		return l.Result, nil
	}
	to := min(from+size, len(l.Rows))
	members := slices.Clone(l.members)
	if to < len(l.Rows) {
		members = append(members, `"nextCursor":"`+sealed.Seal(l.sentDigests(to))+`"`)
	}
	return joinRows(l.key, l.Rows[from:to], members...), nil
}

// digestSize is the length of the digest of a name in a cursor. It is so long that a server cannot choose a name with
// the digest of another name.
const digestSize = 6

func openCursor(cursor json.RawMessage, size int, sealed Cursors) (digests []byte, err error) {
	if size == 0 {
		return nil, errors.New("the list has one page")
	}
	s, _ := wire.Unquote(cursor)
	digests, err = sealed.Open(s)
	if err == nil && (len(digests) == 0 || len(digests)%digestSize != 0) {
		err = errors.New("it has no digests")
	}
	return digests, err
}

// Cursors seals the content of a cursor, in characters that need no escape in JSON, and opens it.
type Cursors interface {
	Seal(place []byte) string
	Open(cursor string) (place []byte, err error)
}

// sentDigests lists the digests of the rows before to, all of which were sent. With it, the next page starts at the
// right row even if the list changed in between: no remaining row is skipped, and none is sent twice.
func (l *List) sentDigests(to int) []byte {
	b := make([]byte, 0, to*digestSize)
	for _, name := range l.Names[:to] {
		sum := nameDigest(name)
		b = append(b, sum[:]...)
	}
	return b
}

func nameDigest(name string) [digestSize]byte {
	sum := sha256.Sum256([]byte(name))
	return [digestSize]byte(sum[:])
}

// indexAfter returns the index of the page after the rows with these digests. The page starts after the last of these
// rows that still exists.
func (l *List) indexAfter(digests []byte) int {
	indexes := make(map[[digestSize]byte]int, len(l.Names))
	for i, name := range l.Names {
		indexes[nameDigest(name)] = i
	}
	for len(digests) > 0 {
		last := len(digests) - digestSize
		if i, ok := indexes[[digestSize]byte(digests[last:])]; ok {
			return i + 1
		}
		digests = digests[:last]
	}
	return 0
}

// Pages reads a list of a server page by page until its end.
type Pages struct {
	Method, Key string // name of the request, and of the member with the rows in its results
	MaxPages    int    // maximum number of pages
	MaxBytes    int    // limit for all pages together
}

// Read requests one page after the other. params is nil for the first page. handle receives the members and the rows
// of a page. If a server repeats a cursor, or the list has no end, stopReason is the reason why the remaining pages
// were not read. It is "" if all were read. An error comes from request, or is a [*PageError]. A cursor is any string,
// even an empty one (2025-11-25, server/utilities/pagination).
func (p Pages) Read(
	request func(params json.RawMessage) (json.RawMessage, error),
	handle func(page []wire.Member, rows []json.RawMessage),
) (stopReason string, err error) {
	seen := map[string]bool{}
	size, count := 0, 0
	var before []json.RawMessage
	for page, params := 1, json.RawMessage(nil); ; page++ {
		result, err := request(params)
		if err != nil && seen[`""`] && errors.As(err, new(*RPCError)) { // an empty cursor meant the end
			return fmt.Sprintf("%s refuses its own cursor \"\": reading stopped after page %d", p.Method, page-1), nil
		}
		if err != nil {
			return "", err
		}
		members, rows, cursor, err := p.split(result)
		if err != nil {
			return "", err
		}
		isSame := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if string(cursor) == `""` && seen[`""`] && slices.EqualFunc(rows, before, isSame) {
			return "", nil // an empty cursor meant the end, and the page came again
		}
		before = rows
		count += len(rows)
		if count > wire.MaxParts {
			return fmt.Sprintf("%s has more than %d rows: from page %d on they are not read", p.Method, wire.MaxParts, page), nil
		}
		handle(members, rows)
		size += len(result)
		switch key := string(cursor); {
		case cursor == nil:
			return "", nil
		case seen[key]:
			stopReason = fmt.Sprintf("%s repeats the cursor %s: reading stopped after page %d",
				p.Method, Printable(key, 60), page)
			return stopReason, nil
		case page >= p.MaxPages:
			return fmt.Sprintf("%s goes on after %d pages: the rest is not read", p.Method, page), nil
		case size > p.MaxBytes:
			return fmt.Sprintf("%s is over %d bytes: the rest is not read", p.Method, p.MaxBytes), nil
		default:
			seen[key] = true
		}
		params = wire.Object{}.Raw("cursor", cursor).JSON()
	}
}

// split parses a page. cursor is nil on the last page.
func (p Pages) split(result json.RawMessage) (
	members []wire.Member, rows []json.RawMessage, cursor json.RawMessage, err error,
) {
	if members, err = wire.Members(result); err != nil {
		return nil, nil, nil, &PageError{"a " + p.Method + " result that is no object", err}
	}
	found := false
	for i := range members {
		switch m := &members[i]; m.Key {
		case p.Key:
			if rows, err = wire.Elements(m.Value); err != nil {
				return nil, nil, nil, &PageError{"a " + p.Method + " result with " + p.Key + " that are no array", err}
			}
			found = true
		case "nextCursor":
			cursor = m.Value
			if c := cursor[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
				cursor = nil // a number is returned as it came
			}
		}
	}
	if !found {
		return nil, nil, nil, &PageError{"a " + p.Method + " result without " + p.Key, nil}
	}
	return members, rows, cursor, nil
}

// PageError reports a result that is not a page.
type PageError struct {
	Problem string
	Cause   error // nil if there is no further cause
}

func (e *PageError) Error() string {
	if e.Cause == nil {
		return e.Problem
	}
	return e.Problem + ": " + e.Cause.Error()
}

func (e *PageError) Unwrap() error { return e.Cause }
