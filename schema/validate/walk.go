package validate

import "github.com/indusagi/indus/internal/keyword"

// dataKeywords hold values that may look like schemas.
var dataKeywords = map[string]bool{"const": true, "enum": true, "default": true, "examples": true, "example": true}

// walk visits every schema within doc, the outer before the inner, which visit may change in place. What stands under a
// keyword that nobody knows is visited too: references lead there.
func walk(doc any, visit func(map[string]any)) {
	switch v := doc.(type) {
	case []any:
		for _, one := range v {
			walk(one, visit)
		}
	case map[string]any:
		visit(v)
		for key, inner := range v {
			named, isMap := inner.(map[string]any)
			switch {
			case dataKeywords[key]:
			case isMap && keyword.IsNamed(key):
				for _, one := range named {
					walk(one, visit)
				}
			default:
				walk(inner, visit)
			}
		}
	}
}
