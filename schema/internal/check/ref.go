package check

import (
	"strings"

	"github.com/indusagi/indus/schema/rule"
)

// ref checks a $ref: its form, the keywords beside it, and its target.
func (c *checker) ref(t, v *node) {
	if c.rules.RefAlone {
		var neighbors []string
		for _, m := range t.Fields {
			if m.Name != "$ref" && m.Name != "$defs" {
				neighbors = append(neighbors, shownKeyword(m.Name))
			}
		}
		if len(neighbors) > 0 {
			c.report(v, rule.Ref, "beside $ref stands %s; nothing is accepted there", shortened(joinNames(neighbors)))
		}
	}
	name, inDefs := strings.CutPrefix(v.ValidText(), "#/$defs/")
	if c.rules.RefDefs && v.ValidText() != "#" && (!inDefs || name == "" || strings.Contains(name, "/")) {
		c.report(v, rule.Ref, `$ref is %s; "#/$defs/" and a name is accepted, or "#"`, describeValue(v))
		return
	}
	switch target := c.LookUp(v.ValidText()); {
	case !strings.HasPrefix(v.ValidText(), "#"):
		c.report(v, rule.Ref, "$ref is %s, which is not in this schema; nothing is fetched", describeValue(v))
	case !target.Is("{tf"):
		c.report(v, rule.Ref, "$ref is %s, which leads to no schema", describeValue(v))
	case c.isCircular(target):
		c.report(v, rule.Ref, "$ref is %s, which leads to nothing but references", describeValue(v))
	case c.cycles[t]:
		c.report(v, rule.Recursion, "$ref is %s, which leads back to where it stands; a schema must not lead to itself",
			describeValue(v))
	}
}

// isCircular reports whether t belongs to a chain of references that never ends.
func (c *checker) isCircular(t *node) bool {
	var chain []*node
	seen := map[*node]bool{}
	result := false
	for t.Get("$ref").Is(`"`) && len(t.Fields) == 1 {
		known, ok := c.circular[t]
		result = known || seen[t]
		if ok || result {
			break
		}
		seen[t] = true
		chain = append(chain, t)
		t = c.LookUp(t.Get("$ref").ValidText())
	}
	for _, t := range chain {
		c.circular[t] = result
	}
	return result
}

// findCycles returns the schemas with a $ref to a schema that contains them or led to them. It enters each schema once.
func (c *checker) findCycles() map[*node]bool {
	const entered, left = 1, 2
	found, state := map[*node]bool{}, map[*node]int{}
	var definitions []*node
	var enter func(t *node)
	enter = func(t *node) {
		if state[t] != 0 {
			return
		}
		state[t] = entered
		for _, m := range t.Fields {
			for _, child := range subschemas(m) {
				if m.Name == "$defs" || m.Name == "definitions" {
					definitions = append(definitions, child) // holding a definition does not lead to it
					continue
				}
				enter(child)
			}
		}
		if ref := t.Get("$ref"); ref.Is(`"`) {
			if target := c.LookUp(ref.ValidText()); state[target] == entered {
				found[t] = true
			} else if target != nil {
				enter(target)
			}
		}
		state[t] = left
	}
	enter(c.Root)
	for len(definitions) > 0 {
		next := definitions[0]
		definitions = definitions[1:]
		enter(next)
	}
	return found
}
