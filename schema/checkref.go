package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// ref looks at a $ref: its form, what is beside it, and where it leads.
func (c *checker) ref(t, v *tree, at *spot) {
	if c.rules.RefAlone {
		var others []string
		for _, m := range t.members {
			if m.name != "$ref" && m.name != "$defs" {
				others = append(others, shownKeyword(m.name))
			}
		}
		if len(others) > 0 {
			c.find(at, RuleRef, "beside $ref stands %s; nothing is accepted there", shortened(sentence(others)))
		}
	}
	name, inDefs := strings.CutPrefix(v.text, "#/$defs/")
	if c.rules.RefDefs && v.text != "#" && (!inDefs || name == "" || strings.Contains(name, "/")) {
		c.find(at, RuleRef, `$ref is %s; "#/$defs/" and a name is accepted, or "#"`, v.describe())
		return
	}
	switch target := c.resolve(v.text); {
	case !strings.HasPrefix(v.text, "#"):
		c.find(at, RuleRef, "$ref is %s, which is not in this schema; nothing is fetched", v.describe())
	case !target.is("{tf"):
		c.find(at, RuleRef, "$ref is %s, which leads to no schema", v.describe())
	case c.circles(target):
		c.find(at, RuleRef, "$ref is %s, which leads to nothing but references", v.describe())
	case c.cycles[t]:
		c.find(at, RuleRecursion, "$ref is %s, which leads back to where it stands; a schema must not lead to itself", v.describe())
	}
}

// resolve returns what a reference into this schema leads to, or nil.
func (c *checker) resolve(ref string) *tree {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if fragment == "" {
		return c.top
	}
	pointer, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		return c.anchors[fragment]
	}
	t := c.top
	for step := range strings.SplitSeq(pointer, "/") {
		if t = t.child(text.FromPointerStep(step)); t == nil {
			return nil
		}
	}
	return t
}

// child is the member or the element of that name.
func (t *tree) child(step string) *tree {
	if t.kind != '[' {
		return t.get(step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(t.elems) || strconv.Itoa(i) != step {
		return nil
	}
	return t.elems[i]
}

// circles reports whether t is a reference to references only, which end nowhere.
func (c *checker) circles(t *tree) bool {
	var chain []*tree
	seen := map[*tree]bool{}
	result := false
	for t.get("$ref").is(`"`) && len(t.members) == 1 {
		known, ok := c.circling[t]
		if result = known || seen[t]; ok || result {
			break
		}
		seen[t] = true
		chain = append(chain, t)
		t = c.resolve(t.get("$ref").text)
	}
	for _, t := range chain {
		c.circling[t] = result
	}
	return result
}

// anchorsOf finds the schemas that a $anchor names.
func anchorsOf(top *tree) map[string]*tree {
	anchors := map[string]*tree{}
	var look func(t *tree)
	look = func(t *tree) {
		if a := t.get("$anchor"); a.is(`"`) && anchors[a.text] == nil {
			anchors[a.text] = t
		}
		for _, child := range t.subschemas() {
			look(child)
		}
	}
	look(top)
	return anchors
}

// findCycles finds the schemas whose $ref leads to one that they are in, or that led to them. Each schema is entered once.
func (c *checker) findCycles() map[*tree]bool {
	const entered, left = 1, 2
	found, state := map[*tree]bool{}, map[*tree]int{}
	var definitions []*tree
	var enter func(t *tree)
	enter = func(t *tree) {
		if state[t] != 0 {
			return
		}
		state[t] = entered
		for steps, child := range t.subschemas() {
			if steps[0] == "$defs" || steps[0] == "definitions" {
				definitions = append(definitions, child) // t does not lead there by holding it
				continue
			}
			enter(child)
		}
		if ref := t.get("$ref"); ref.is(`"`) {
			if target := c.resolve(ref.text); state[target] == entered {
				found[t] = true
			} else if target != nil {
				enter(target)
			}
		}
		state[t] = left
	}
	enter(c.top)
	for len(definitions) > 0 {
		next := definitions[0]
		definitions = definitions[1:]
		enter(next)
	}
	return found
}
