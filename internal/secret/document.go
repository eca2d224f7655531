package secret

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
)

// The text that stands for a secret in a text of a person or a record has the number of characters that it hides.
const (
	markStart = "<secret: "
	markEnd   = " character"
)

// hiddenText returns the text that stands for a secret. Such texts in it count as the secrets that they stand for.
func hiddenText(s string) string {
	n := utf8.RuneCountInString(s)
	for at := strings.IndexByte(s, '<'); at >= 0; at = strings.IndexByte(s, '<') {
		s = s[at:]
		length := max(1, markLength(s))
		if length > 1 {
			number, _, _ := strings.Cut(s[len(markStart):], " ")
			inner, _ := strconv.Atoi(number)
			n += inner - length
		}
		s = s[length:]
	}
	var buffer [40]byte
	out := append(strconv.AppendInt(append(buffer[:0], markStart...), int64(n), 10), markEnd...)
	if n != 1 {
		out = append(out, 's')
	}
	return string(append(out, '>'))
}

// markLength returns the length of the text that stands for a secret at the start of s, or 0.
func markLength(s string) int {
	if !strings.HasPrefix(s, markStart) {
		return 0
	}
	n := len(markStart)
	for n < len(s) && n < len(markStart)+9 && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n == len(markStart) || !strings.HasPrefix(s[n:], markEnd) {
		return 0
	}
	n += len(markEnd)
	if n < len(s) && s[n] == 's' {
		n++
	}
	if n == len(s) || s[n] != '>' {
		return 0
	}
	return n + 1
}

// hiddenValue returns the text that stands for a value with the name of a secret, after the word in front of a
// credential. If s is such a text, the result is s.
func hiddenValue(s string) string {
	word := Scheme(s)
	return word + hiddenText(s[len(word):])
}

// maxNested is the depth of JSON documents in strings of documents.
const maxNested = 3

// maskNested masks a text that is in depth other documents.
func maskNested(s string, depth int) string {
	if depth < maxNested {
		if inner := strings.TrimSpace(s); inner != "" && (inner[0] == '{' || inner[0] == '[') && wire.Valid([]byte(inner)) {
			masked := string(maskDocument([]byte(inner), depth+1))
			if masked == inner {
				return s
			}
			return masked
		}
	}
	return replaceLikely(s, hiddenText)
}

// MaskLikely returns a JSON document with its likely secrets masked, each as "<secret: 12 characters>". These are the
// values of members with the name of a secret, whatever they are, and the likely secrets in all other texts. Nothing
// else changes. The result is valid JSON. The time is linear in the length of the document. A document that was cut off
// is masked up to its end.
func MaskLikely(raw json.RawMessage) json.RawMessage { return maskDocument(raw, 0) }

func maskDocument(raw []byte, depth int) []byte {
	d := document{raw: raw, depth: depth}
	d.read()
	if d.done == 0 {
		return raw
	}
	return append(d.out, raw[d.done:]...)
}

// document is the state of masking a document.
type document struct {
	raw   []byte
	out   []byte // the document up to done, masked
	done  int
	depth int // in other documents
	open  []container
	// deeper is the number of open containers that are not in open, because there are too many.
	deeper int
}

// container is an object or array that is open.
type container struct {
	object bool
	inKey  bool // the next string of the object is a key
	// hides reports that the next value is a secret, because of its name or the flag before it.
	hides bool
	named bool // the object has the name of a secret as a value: {"name": "token", "value": …}
	// schemas reports that the members of the object are schemas, and schema that it is the schema of a secret.
	schemas, schema bool
	key             string
	before          unnamed // the value of the member before, if it is of interest
}

// read reads the document. It takes no care of errors, because their only consequence is a document that is not valid.
func (d *document) read() {
	top := container{}
	for i := 0; i < len(d.raw); {
		c := &top
		if n := len(d.open); n > 0 {
			c = &d.open[n-1]
		}
		switch b := d.raw[i]; b {
		case '"':
			i = d.text(c, i)
		case '{', '[':
			i = d.container(c, i)
		case '}', ']':
			if d.deeper > 0 {
				d.deeper--
			} else if len(d.open) > 0 {
				d.open = d.open[:len(d.open)-1]
			}
			i++
		case ',':
			c.inKey, c.hides = c.object, c.hides && !c.object
			i++
		case ' ', '\n', '\t', '\r', ':':
			i++
		default:
			end := scalarEnd(d.raw, i)
			if isNumber := b == '-' || '0' <= b && b <= '9'; isNumber && c.hidesText(string(d.raw[i:end])) {
				d.replace(i, end, wire.Quote(hiddenText(string(d.raw[i:end]))))
			}
			c.hides = false
			i = end
		}
	}
}

// replace replaces a part of the document.
func (d *document) replace(from, to int, by []byte) {
	d.out = append(append(d.out, d.raw[d.done:from]...), by...)
	d.done = to
}

// unnamed is a value in front of its name: {"value": …, "name": "token"}.
type unnamed struct {
	from, to  int
	out, done int // the state of the document before it
	after     int // done after it
}

// keep keeps a value until the next member with a text, which may be its name.
func (c *container) keep(v unnamed) {
	c.before = unnamed{}
	if c.key == "value" {
		c.before = v
	}
}

// replaceAgain hides a value whose name follows.
func (d *document) replaceAgain(v *unnamed) {
	s, _ := wire.Unquote(d.raw[v.from:v.to])
	hidden := hiddenValue(s)
	if s == "" || hidden == s || d.done != v.after {
		return
	}
	d.out, d.done = d.out[:v.out], v.done
	d.replace(v.from, v.to, wire.Quote(hidden))
}

// text reads the string at i, and returns the index after it.
func (d *document) text(c *container, i int) int {
	end := stringEnd(d.raw, i)
	s := strings.TrimSuffix(string(d.raw[i+1:end]), `"`)
	if strings.IndexByte(s, '\\') >= 0 {
		if plain, ok := wire.Unquote(d.raw[i:end]); ok { // it is not cut off
			s = plain
		}
	}
	if c.object && c.inKey {
		c.inKey = false
		c.key = s
		c.hides = c.isSecret(s)
		if masked := replaceLikely(s, hiddenText); masked != s {
			d.replace(i, end, wire.Quote(masked))
		}
		return end
	}
	before := unnamed{i, end, len(d.out), d.done, 0}
	var masked string
	if c.hidesText(s) {
		masked = hiddenValue(s)
	} else {
		masked = maskNested(s, d.depth)
	}
	if masked != s {
		d.replace(i, end, wire.Quote(masked))
	}
	switch {
	case c.object:
		c.hides = false
		if c.key == "name" || c.key == "key" || c.key == "header" {
			c.named = IsSecretName(s) && !strings.Contains(s, markStart)
			if c.named && c.before.to > 0 {
				d.replaceAgain(&c.before)
			}
		}
		before.after = d.done
		c.keep(before)
	default: // a flag of a command line
		c.hides = isSecretFlag(s) && !strings.ContainsAny(s, "= ")
	}
	return end
}

// hidesText reports whether a text is hidden because it is the next value.
func (c *container) hidesText(s string) bool {
	switch {
	case !c.hides || s == "":
		return false
	case c.object:
		return !isPlainKey(c.key) || isKey(s)
	}
	return s[0] != '-' // another flag
}

// isSecret reports whether the value of a member is a secret.
func (c *container) isSecret(key string) bool {
	if c.schema {
		switch key {
		case "default", "const", "enum", "examples", "example":
			return true
		}
	}
	return c.named && key == "value" || IsSecretName(key) && !strings.Contains(key, markStart)
}

// container reads the beginning of an object or array at i, or all of it if it is a secret. It returns the index after
// that.
func (d *document) container(c *container, i int) int {
	inner := container{object: d.raw[i] == '{', inKey: d.raw[i] == '{'}
	if c.object {
		inner.schemas = inner.object && (c.key == "properties" || c.key == "$defs")
		inner.key = c.key
	}
	if c.hides {
		end := valueEnd(d.raw, i)
		inner.schema = c.schemas && len(d.open) <= maxSchemaDepth && isSchema(d.raw[i:end])
		if !inner.schema {
			c.hides = false
			if end > i+2 { // not empty
				d.replace(i, end, wire.Quote(hiddenText(string(d.raw[i:end]))))
			}
			return end
		}
		c.hides = false
	}
	if len(d.open) == maxOpen {
		d.deeper++
	} else {
		d.open = append(d.open, inner)
	}
	return i + 1
}

// maxOpen is the depth of valid documents. In a deeper document, the names at that depth count.
const maxOpen = 10_000

// maxSchemaDepth is the depth up to which schemas are recognized. Each is read once more for this.
const maxSchemaDepth = 16

// schemaKeys are the keys of JSON Schema that a property has.
const schemaKeys = " type title description format pattern minLength maxLength minimum maximum multipleOf items " +
	"minItems maxItems uniqueItems properties required additionalProperties enum const default examples example " +
	"nullable anyOf oneOf allOf not $ref $defs deprecated readOnly writeOnly enumNames "

// isSchema reports whether a value is the schema of a property: a tool may have a property with the name of a secret.
func isSchema(raw []byte) bool {
	members, err := wire.Members(raw)
	if err != nil || len(members) == 0 {
		return false
	}
	for i := range members {
		if !strings.Contains(schemaKeys, " "+members[i].Key+" ") {
			return false
		}
	}
	return true
}

// scalarEnd returns the index after the string, number or word that begins at i, or i if there is none.
func scalarEnd(raw []byte, i int) int {
	if raw[i] == '"' {
		return stringEnd(raw, i)
	}
	for i < len(raw) && strings.IndexByte(" \n\t\r,:]}\"[{", raw[i]) < 0 {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// valueEnd returns the index after the object or array that begins at i.
func valueEnd(raw []byte, i int) int {
	for depth := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(raw)
}
