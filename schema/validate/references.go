package validate

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// The library checks again what a reference leads to where that is no usual place for a schema, and copies its index of
// the schema for it. So references are counted before it sees any.
const (
	maxReferred = 30_000    // values, of all that different references lead to
	maxCopied   = 3_000_000 // values of the schema, times different references
)

var errReferences = errors.New("it has too many references into itself")

// checkReferences bounds what it takes to resolve the references of a schema.
func checkReferences(doc any) error {
	var all []string
	bases := 0 // a reference is relative to the $id around it
	walk(doc, func(s map[string]any) {
		if ref, ok := s["$ref"].(string); ok && ref != "#" {
			all = append(all, ref)
		}
		if hasString(s, "$id") || hasString(s, "id") {
			bases++
		}
	})
	size := sizeOf(doc)
	known, referred, count := map[string]bool{}, 0, 0
	for _, ref := range all {
		address, path := fragment(ref)
		switch {
		case known[ref]:
			continue
		case bases > 1 || address != "": // to wherever
			referred += size
		case strings.HasPrefix(path, "/"):
			known[ref] = true
			referred += sizeOf(follow(doc, path))
		}
		if count++; referred > maxReferred || count*size > maxCopied {
			return errReferences
		}
	}
	return nil
}

func hasString(s map[string]any, key string) bool {
	_, ok := s[key].(string)
	return ok
}

// fragment parts a reference, and takes the percent signs out of its path as the library does.
func fragment(ref string) (address, path string) {
	address, path, _ = strings.Cut(ref, "#")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return address, path
}

// follow is the value that a pointer leads to, nil where there is none.
func follow(v any, path string) any {
	for _, token := range strings.Split(path, "/")[1:] {
		token = text.FromPointerStep(token)
		switch inner := v.(type) {
		case map[string]any:
			v = inner[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(inner) {
				return nil
			}
			v = inner[i]
		default:
			return nil
		}
	}
	return v
}

// sizeOf is how many values there are, v included.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += sizeOf(member)
		}
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	}
	return n
}
