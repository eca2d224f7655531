package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/schema/rule"
)

// keyGrammar returns the grammar of property names, at the root or inside it.
func (a *adapter) keyGrammar(root bool) rule.Grammar {
	if root {
		return cmp.Or(a.rules.RootKey, a.rules.Key)
	}
	return a.rules.Key
}

// sanitised returns name rewritten to follow the grammar, and shortened to its maximum. It returns "" if no characters
// are left.
func sanitised(name string, g rule.Grammar) string {
	var b strings.Builder
	for _, r := range name {
		first, rest := r < 0x80 && g.Has(0, byte(r)), r < 0x80 && g.Has(1, byte(r))
		switch {
		case b.Len() == 0 && !first && rest && g.Has(0, '_'):
			b.WriteByte('_')
			b.WriteRune(r)
		case b.Len() == 0 && first || b.Len() > 0 && rest:
			b.WriteRune(r)
		case b.Len() == 0 || !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= g.Max {
			break
		}
	}
	return strings.TrimRight(b.String()[:min(b.Len(), g.Max)], "_")
}

// newNames returns new names for the properties with names that the consumer does not accept. A new name is the old
// name without the refused characters. It also gets a hash of the old name if it is taken or very short, or if the old
// name is too long.
func (o *objectAdapter) newNames(props *node) map[string]string {
	g := o.keyGrammar(o.builder.root)
	var refused []string
	for i := range props.Fields {
		if name := props.Fields[i].Name; !g.Accepts(name) || o.isNotKey(name) || !utf8.ValidString(name) {
			refused = append(refused, name)
		}
	}
	if refused == nil {
		return nil
	}
	if g.Max == 0 {
		g = safeKey
	}
	isDeclared, isInUse := lookUpFields(props.Fields), lookUpFields(o.out.Fields)
	isRequired := lookUpNames(o.builder.get("required").Elements())
	assigned := map[string]bool{}
	isTaken := func(name string) bool {
		return assigned[name] || isDeclared(name) || isRequired(name) || isInUse(name)
	}
	wanted := make(map[string]int, len(refused))
	for _, name := range refused {
		wanted[sanitised(name, g)]++
	}
	names := make(map[string]string, len(refused))
	for _, name := range refused {
		clean := sanitised(name, g)
		if slices.Contains(o.rules.NotKeys, clean) {
			clean += "_"
		}
		if wanted[clean] > 1 || len(clean) < 2 || len(name) > g.Max || slices.Contains(o.rules.NotKeys, clean) ||
			isTaken(clean) {
			clean = withHash(clean, name, g, isTaken)
		}
		names[name] = clean
		assigned[clean] = true
	}
	return names
}

const hashDigits = 8

func withHash(clean, name string, g rule.Grammar, isTaken func(string) bool) string {
	if clean == "" {
		clean = "key"
	}
	for salt := 0; ; salt++ {
		sum := sha256.Sum256([]byte(name + strings.Repeat("\x00", min(salt, 1)) + strconv.Itoa(salt)))
		hashed := clean[:min(len(clean), g.Max-1-hashDigits)] + "_" + hex.EncodeToString(sum[:])[:hashDigits]
		if !isTaken(hashed) {
			return hashed
		}
	}
}

func (a *adapter) isNotKey(name string) bool { return slices.Contains(a.rules.NotKeys, name) }
