package validate

import (
	"encoding/json"
	"strings"

	"github.com/indusagi/indus/schema"
)

const (
	maxRefs    = 100 // references that one value follows in a row
	maxInteger = 25  // bytes of a number that is written as an integer: enough for 64 bits
)

// Complete returns arguments with the defaults of missing properties, and with whole numbers (1.0, 1e2) written as
// integers where the schema asks for an integer. It follows properties, items, $ref and allOf. The defaults themselves
// are not completed. Arguments that need no change, or that are too large to check, are returned as they are.
func (v *Validator) Complete(arguments json.RawMessage) json.RawMessage {
	if schema.Measure(arguments, schema.Limits{Depth: MaxDepth, Nodes: MaxNodes, Bytes: MaxBytes}) != nil {
		return arguments
	}
	given, err := decode(arguments)
	if err != nil {
		return arguments
	}
	c := &completion{}
	given = c.complete(v.root, given, 0)
	if !c.changed || c.spent > maxWork {
		return arguments
	}
	out, err := json.Marshal(given)
	if err != nil {
		return arguments
	}
	return out
}

// completion is one run of [Validator.Complete].
type completion struct {
	changed bool
	spent   int
}

func (c *completion) complete(r *rule, v any, refs int) any {
	if c.spent++; r == nil || refs > maxRefs || c.spent > maxWork {
		return v
	}
	v = c.complete(r.ref, v, refs+1)
	for _, sub := range r.allOf {
		v = c.complete(sub, v, refs+1)
	}
	switch value := v.(type) {
	case map[string]any:
		for name, sub := range r.properties {
			inner, ok := value[name]
			switch {
			case ok:
				value[name] = c.complete(sub, inner, 0)
			case sub.preset != nil:
				value[name], c.changed = *sub.preset, true
			}
		}
		if r.additional != nil {
			for name, inner := range value {
				if r.properties[name] == nil {
					value[name] = c.complete(r.additional, inner, 0)
				}
			}
		}
	case []any:
		for i := range value {
			if i < len(r.tuple) {
				value[i] = c.complete(r.tuple[i], value[i], 0)
			} else {
				value[i] = c.complete(r.items, value[i], 0)
			}
		}
	case json.Number:
		return c.integer(r, value)
	}
	return v
}

// integer is a number, written as an integer where r asks for one.
func (c *completion) integer(r *rule, n json.Number) any {
	if len(r.types) != 1 || r.types[0] != "integer" || !strings.ContainsAny(string(n), ".eE") {
		return n
	}
	whole := rational(n)
	if whole == nil || !whole.IsInt() {
		return n
	}
	if digits := whole.Num().String(); len(digits) <= maxInteger {
		c.changed = true
		return json.Number(digits)
	}
	return n
}
