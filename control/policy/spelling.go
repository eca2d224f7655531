package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/uris"
)

// Misspelt returns the rules that compare a resource with a URI, or a part of one, that is not in canonical form.
// Requests have URIs in canonical form only, so that such a comparison never finds one equal.
func (s *Set) Misspelt() (out []Finding) {
	for _, r := range s.rules {
		for _, text := range r.misspelt() {
			out = append(out, Finding{r.Rule, text})
		}
	}
	return out
}

// misspelt returns a text for each literal of the rule that no resource has.
func (r *rule) misspelt() (texts []string) {
	note := func(what, literal, form string, err error) {
		switch {
		case err != nil:
			texts = append(texts, fmt.Sprintf("never matches %s%q: %v", what, literal, err))
		case literal != form:
			texts = append(texts, fmt.Sprintf("never matches %s%q: write %q", what, literal, form))
		}
	}
	entity := func(uid types.EntityUID) {
		server, name, hasName := strings.Cut(string(uid.ID), "/")
		if uid.Type != "Resource" || strings.Contains(name, "{") { // a template has its own name
			return
		}
		if !hasName {
			note("Resource::", string(uid.ID), "", errors.New("write SERVER/URI"))
			return
		}
		u, err := uris.Parse(name)
		note("Resource::", string(uid.ID), server+"/"+u.Text, err)
	}
	if r.resource.entity != (types.EntityUID{}) {
		entity(r.resource.entity)
	}
	for _, c := range r.ast.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if v, ok := n.(ast.NodeTypeLike); ok {
				if part := resourcePart(v.Arg); part != "" {
					pattern := patternText(v.Value)
					form, err := canonicalPattern(part, pattern)
					note("resource."+part+" like ", pattern, form, err)
				}
				return true
			}
			b := operandsOf(n)
			for _, pair := range [][2]ast.IsNode{{b.Left, b.Right}, {b.Right, b.Left}} {
				if variable(pair[0]) == "resource" {
					entities, _ := entitiesOf(pair[1])
					for _, uid := range entities {
						entity(uid)
					}
				}
				if part := resourcePart(pair[0]); part != "" {
					for _, literal := range stringsOf(literalOf(pair[1])) {
						form, err := canonicalPart(part, literal)
						note("resource."+part+" == ", literal, form, err)
					}
				}
			}
			return true
		})
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// resourcePart returns the name of the part of a URI that an expression reads from the resource, or "".
func resourcePart(n ast.IsNode) string {
	if v, ok := n.(ast.NodeTypeAccess); ok && variable(v.Arg) == "resource" && slices.Contains(uriParts, string(v.Value)) {
		return string(v.Value)
	}
	return ""
}

// stringsOf returns the strings that a literal is, or has in its set.
func stringsOf(v types.Value) (all []string) {
	switch v := v.(type) {
	case types.String:
		return []string{string(v)}
	case types.Set:
		for e := range v.All() {
			all = append(all, stringsOf(e)...)
		}
	}
	return all
}

// canonicalPart returns the canonical form of a part of a URI.
func canonicalPart(part, literal string) (form string, err error) {
	switch part {
	case "uri":
		u, err := uris.Parse(literal)
		return u.Text, err
	case "scheme":
		return strings.TrimSuffix(strings.ToLower(literal), ":"), nil
	case "host":
		host := literal
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		form, err = uris.CanonicalHost(host)
		return strings.Trim(form, "[]"), err
	}
	if err := uris.CheckCharacters(literal); err != nil {
		return "", err
	}
	if part == "path" {
		return uris.CanonicalPath(literal)
	}
	return uris.DecodeUnreserved(strings.TrimPrefix(literal, "?"))
}

// patternText returns a pattern with a star for each of its wildcards.
func patternText(p types.Pattern) string {
	var parts []json.RawMessage
	raw, _ := p.MarshalJSON()
	_ = json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, part := range parts {
		var literal struct{ Literal string }
		if json.Unmarshal(part, &literal) != nil {
			literal.Literal = "*"
		}
		b.WriteString(literal.Literal)
	}
	return b.String()
}

// cutEncoding matches a percent-encoding whose digits are unknown.
var cutEncoding = text.Pattern(`%[0-9A-Fa-f]?\*`)

// canonicalPattern is canonicalPart for a pattern. A star is a character of URIs, which stands here for any text. It
// returns the pattern itself if it cannot find that no text matches.
func canonicalPattern(part, pattern string) (string, error) {
	if cutEncoding().MatchString(pattern) {
		return pattern, nil
	}
	switch part {
	case "host", "scheme": // "10.*" is no host, but hosts match it
		return strings.ToLower(pattern), nil
	case "uri":
		u, err := uris.Parse(pattern)
		if err == nil && u.Text != pattern+"/" {
			return u.Text, nil
		}
		part = "query" // "https://h*" is no URI, but URIs match it: only its characters are checked
	}
	return canonicalPart(part, pattern)
}
