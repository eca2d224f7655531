package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/wire"
)

// Pages is a list of a server's that is read page by page, as far as it goes on.
type Pages struct {
	Method, Key string // of the request, and of the member of its results that has the rows
	Most        int    // pages
	MaxBytes    int    // of all of them
}

// Read asks for one page after the other: params is nil for the first. each takes a page's members, and its rows.
// Where a server repeats a cursor, or there is no end, rest says why the rest is not read; "": all is. An error is ask's, or
// a [*PageError]. A cursor is any string, the empty one too (2025-11-25, server/utilities/pagination).
func (p Pages) Read(ask func(params json.RawMessage) (json.RawMessage, error), each func(page []wire.Member, rows []json.RawMessage)) (rest string, err error) {
	seen := map[string]bool{}
	size, count := 0, 0
	for page, params := 1, json.RawMessage(nil); ; page++ {
		result, err := ask(params)
		if err != nil {
			return "", err
		}
		members, rows, cursor, err := p.split(result)
		if err != nil {
			return "", err
		}
		if count += len(rows); count > wire.MaxParts {
			return fmt.Sprintf("%s has more than %d rows: from page %d on they are not read", p.Method, wire.MaxParts, page), nil
		}
		each(members, rows)
		size += len(result)
		switch key := string(cursor); {
		case cursor == nil:
			return "", nil
		case seen[key]:
			return fmt.Sprintf("%s repeats the cursor %s: reading stopped after page %d", p.Method, Printable(key, 60), page), nil
		case page >= p.Most:
			return fmt.Sprintf("%s goes on after %d pages: the rest is not read", p.Method, page), nil
		case size > p.MaxBytes:
			return fmt.Sprintf("%s is over %d bytes: the rest is not read", p.Method, p.MaxBytes), nil
		default:
			seen[key] = true
		}
		params = wire.Object{}.Raw("cursor", cursor).JSON()
	}
}

// split takes a page apart. cursor is nil on the last one.
func (p Pages) split(result json.RawMessage) (members []wire.Member, rows []json.RawMessage, cursor json.RawMessage, err error) {
	if members, err = wire.Members(result); err != nil {
		return nil, nil, nil, &PageError{"a " + p.Method + " result that is no object", err}
	}
	found := false
	for i := range members {
		switch m := &members[i]; m.Key {
		case p.Key:
			if rows, err = wire.Elements(m.Value); err != nil {
				return nil, nil, nil, &PageError{p.Method + " whose " + p.Key + " are no array", err}
			}
			found = true
		case "nextCursor":
			if cursor = m.Value; cursor[0] != '"' {
				cursor = nil
			}
		}
	}
	if !found {
		return nil, nil, nil, &PageError{"a " + p.Method + " result without " + p.Key, nil}
	}
	return members, rows, cursor, nil
}

// PageError is a page that is none.
type PageError struct {
	What  string
	Cause error // nil: there is no more to say
}

func (e *PageError) Error() string {
	if e.Cause == nil {
		return e.What
	}
	return e.What + ": " + e.Cause.Error()
}

func (e *PageError) Unwrap() error { return e.Cause }
