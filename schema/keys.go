package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// nameGrammar is a Grammar in the form that Adapt uses. The zero value accepts every name.
type nameGrammar struct {
	first, rest [256]bool
	max         int
}

func (g Grammar) read() nameGrammar {
	if g == (Grammar{}) {
		return nameGrammar{}
	}
	return nameGrammar{byteClass(g.First), byteClass(g.Rest), g.Max}
}

func byteClass(class string) (set [256]bool) {
	exp := regexp.MustCompile("^[" + class + "]$")
	for c := range 128 {
		set[c] = exp.MatchString(string(rune(c)))
	}
	return set
}

// accepts reports whether a name follows the grammar.
func (g *nameGrammar) accepts(name string) bool {
	if g.max == 0 {
		return true
	}
	if len(name) == 0 || len(name) > g.max || !g.first[name[0]] {
		return false
	}
	for i := 1; i < len(name); i++ {
		if !g.rest[name[i]] {
			return false
		}
	}
	return true
}

// sanitised returns name rewritten to follow the grammar, and shortened to its maximum. It returns "" if no characters
// are left.
func sanitised(name string, g *nameGrammar) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r < 0x80 && b.Len() == 0 && !g.first[r] && g.rest[r] && g.first['_']:
			b.WriteByte('_')
			b.WriteRune(r)
		case r < 0x80 && (b.Len() == 0 && g.first[r] || b.Len() > 0 && g.rest[r]):
			b.WriteRune(r)
		case b.Len() == 0 || !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= g.max {
			break
		}
	}
	return strings.TrimRight(b.String()[:min(b.Len(), g.max)], "_")
}

// newNames returns new names for the properties with names that the consumer does not accept. A new name is the old
// name without the refused characters. It also gets a hash of the old name if it is taken or very short, or if the old
// name is too long.
func (o *objectAdapter) newNames(props *node) map[string]string {
	g := &o.parsed.key
	if o.builder.root {
		g = &o.parsed.rootKey
	}
	var refused []string
	for i := range props.Fields {
		if name := props.Fields[i].Name; !g.accepts(name) || o.isNotKey(name) || !utf8.ValidString(name) {
			refused = append(refused, name)
		}
	}
	if refused == nil {
		return nil
	}
	if g.max == 0 {
		g = &anyKey
	}
	isDeclared := lookUpFields(props.Fields)
	isRequired := lookUpNames(o.builder.get("required").Elements())
	assigned := map[string]bool{}
	isTaken := func(name string) bool {
		return assigned[name] || isDeclared(name) || isRequired(name) || o.hasName(name)
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
		if wanted[clean] > 1 || len(clean) < 2 || len(name) > g.max || slices.Contains(o.rules.NotKeys, clean) ||
			isTaken(clean) {
			clean = withHash(clean, name, g, isTaken)
		}
		names[name] = clean
		assigned[clean] = true
	}
	return names
}

var anyKey = safeKey.read()

const hashDigits = 8

func withHash(clean, name string, g *nameGrammar, isTaken func(string) bool) string {
	if clean == "" {
		clean = "key"
	}
	for salt := 0; ; salt++ {
		sum := sha256.Sum256([]byte(name + strings.Repeat("\x00", min(salt, 1)) + strconv.Itoa(salt)))
		hashed := clean[:min(len(clean), g.max-1-hashDigits)] + "_" + hex.EncodeToString(sum[:])[:hashDigits]
		if !isTaken(hashed) {
			return hashed
		}
	}
}

func (a *adapter) isNotKey(name string) bool { return slices.Contains(a.rules.NotKeys, name) }
