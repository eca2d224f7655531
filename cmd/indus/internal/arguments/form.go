package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/signature"
	chars "github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Form has a field for each argument of a tool, in the order of its schema with required arguments first. All texts in
// it come from the server.
type Form struct {
	Fields []Field
	// Rest counts the arguments without a field, which are possible only as JSON.
	Rest int
}

// Field is one field of a form. Its value is a text, and an empty text leaves the argument out.
type Field struct {
	// Path is the JSON Pointer of the argument.
	Path string
	// Name is the last name in Path. Title and About describe the argument.
	Name, Title, About string
	Kind               FieldKind
	// Type is the type of the argument in short notation.
	Type     string
	Required bool
	// Default and Example are values as texts, or "".
	Default, Example string
	// Choices holds the texts of a [Choice].
	Choices []string
	// Min, Max and Step limit a [Number]. Each is "" if there is no such limit.
	Min, Max, Step string
	// Fields has the fields of a [Group].
	Fields []Field

	schema signature.Schema
}

// FieldKind is the form of a field's text.
type FieldKind string

const (
	Line     FieldKind = "line"      // one line of text
	Lines    FieldKind = "lines"     // several lines of text
	Hidden   FieldKind = "password"  // one line that is not shown
	Number   FieldKind = "number"    // a number
	Date     FieldKind = "date"      // 2026-01-31
	DateTime FieldKind = "date-time" // 2026-01-31T15:04, in UTC
	Email    FieldKind = "email"     // an address
	URL      FieldKind = "url"       // an absolute URI
	Choice   FieldKind = "choice"    // one of Choices
	List     FieldKind = "list"      // a simple value on each line
	Group    FieldKind = "group"     // an object: it has fields and no text
	JSON     FieldKind = "json"      // any JSON value
)

const (
	maxFields  = 200
	maxDepth   = 3 // of groups
	maxChoices = 500
	maxAbout   = 2000 // bytes of one text
	maxDigits  = 40   // of a limit of a number
	// textsOfField is the number of bytes that a field usually has. A field with more counts as several fields, because
	// all fields of a schema can refer to one large definition.
	textsOfField = 2000
	// longText is the length of texts that get several lines.
	longText = 200
)

// NewForm returns the form of a tool's input schema. A schema without properties has an empty form.
func NewForm(schema json.RawMessage) *Form {
	f := &Form{}
	left := maxFields
	f.Fields = f.fields(signature.Parse(schema).Resolved(), "", 1, &left)
	return f
}

// isOdd reports whether a character can be altered by a browser, or is not shown as it is.
func isOdd(r rune) bool { return chars.KindOf(r) != chars.Plain || r == unicode.ReplacementChar }

// fields returns the fields of an object, and at most left.
func (f *Form) fields(s signature.Schema, path string, depth int, left *int) (all []Field) {
	seen := map[string]bool{}
	for _, p := range s.Parameters() {
		if *left <= 0 || seen[p.Name] || p.Name == "" || strings.ContainsFunc(p.Name, isOdd) {
			f.Rest++
			continue
		}
		*left--
		seen[p.Name] = true
		all = append(all, f.field(p, path+chars.Pointer(p.Name), depth, left))
	}
	return all
}

func (f *Form) field(p signature.Parameter, path string, depth int, left *int) Field {
	s := only(p.Schema)
	out := Field{
		Path: path, Name: p.Name, Required: p.Required, Type: p.Schema.Type(formStyle()), schema: s,
		Title: firstText("title", p.Schema, s), About: firstText("description", p.Schema, s),
	}
	out.Kind = kindOfField(s, p.Name)
	for _, from := range []signature.Schema{p.Schema, s} {
		if v := from.Get("default"); v != nil && !v.Is("n") && out.Default == "" {
			out.Default = fieldText(out.Kind, signature.Raw(v))
		}
		if all := from.List("examples"); len(all) > 0 && out.Example == "" {
			out.Example = fieldText(out.Kind, signature.Raw(all[0]))
		}
	}
	switch out.Kind {
	case Choice:
		out.Choices = choicesOf(s)
	case Number:
		out.setLimits(s)
	case Line:
		if strings.Contains(out.Default+out.Example, "\n") {
			out.Kind = Lines
		}
	case JSON:
		if depth >= maxDepth || !isGroup(s) {
			break
		}
		rest := f.Rest
		if out.Fields = f.fields(s, path, depth+1, left); out.Fields == nil {
			f.Rest = rest
			break
		}
		out.Kind, out.Default, out.Example = Group, "", ""
	}
	*left -= out.texts() / textsOfField
	return out
}

// formStyle is [Style] with short types.
func formStyle() signature.Style {
	s := Style
	s.Bytes = maxAbout
	return s
}

// texts returns the bytes of the texts of a field, without the fields of a group.
func (f *Field) texts() int {
	all := len(f.Type) + len(f.Title) + len(f.About) + len(f.Default) + len(f.Example)
	for _, one := range f.Choices {
		all += len(one)
	}
	return all
}

// isGroup reports whether a schema takes only objects, with properties that no alternative changes.
func isGroup(s signature.Schema) bool {
	other := slices.ContainsFunc(Wanted(s), func(kind string) bool { return kind != "object" && kind != "null" })
	return !other && s.Get("properties").Is("{") && s.Get("anyOf") == nil && s.Get("oneOf") == nil
}

// only returns the one schema of s that is not for null, such as string in string | null. Otherwise it returns s.
func only(s signature.Schema) signature.Schema {
	for range maxDepth {
		if !s.Is("{") || s.Types() != nil || s.Get("enum") != nil || s.Get("const") != nil || s.Get("properties") != nil {
			break
		}
		alternatives := slices.DeleteFunc(s.Alternatives("anyOf", "oneOf", "allOf"), func(a signature.Schema) bool {
			return slices.Equal(Wanted(a), []string{"null"})
		})
		if len(alternatives) != 1 {
			break
		}
		s = alternatives[0]
	}
	return s
}

func notNull(types []string) []string {
	return slices.DeleteFunc(types, func(kind string) bool { return kind == "null" })
}

func firstText(keyword string, from ...signature.Schema) string {
	for _, s := range from {
		if text := s.String(keyword); text != "" {
			return chars.Clip(text, maxAbout)
		}
	}
	return ""
}

// longNames matches names of arguments that usually have several lines.
var longNames = chars.Pattern(
	`(?i)(^|[_-])(content|text|body|code|query|sql|script|prompt|message|markdown|html|patch|diff)$`)

// kindOfField returns the kind of a field without regard to nested fields: an object is JSON.
func kindOfField(s signature.Schema, name string) FieldKind {
	want := notNull(Wanted(s))
	isScalar := func(kind string) bool {
		return slices.Contains([]string{"string", "number", "integer", "boolean"}, kind)
	}
	switch {
	case len(want) == 0 || !s.Is("{"):
		return JSON
	case choicesOf(s) != nil:
		return Choice
	case len(want) == 1 && want[0] == "array":
		items := only(s.Sub("items"))
		kind := kindOfField(items, "")
		if s.Get("prefixItems") != nil || kind == JSON || kind == List || kind == DateTime {
			return JSON
		}
		return List
	case slices.ContainsFunc(want, func(kind string) bool { return !isScalar(kind) }):
		return JSON
	case !slices.ContainsFunc(want, func(kind string) bool { return kind != "number" && kind != "integer" }):
		return Number
	case len(want) > 1:
		return Line
	}
	switch format := s.String("format"); format {
	case "date", "date-time", "email":
		return FieldKind(format)
	case "uri", "url":
		return URL
	case "password":
		return Hidden
	case "textarea", "multiline", "multi-line":
		return Lines
	}
	longest := 0
	if v := s.Get("maxLength"); v.Is("0") {
		longest, _ = strconv.Atoi(string(signature.Raw(v)))
	}
	switch {
	case s.Get("writeOnly").Is("t"):
		return Hidden
	case s.Get("contentMediaType") != nil, longest >= longText, s.String("format") == "" && longNames().MatchString(name):
		return Lines
	}
	return Line
}

// choicesOf returns the texts of the values, if a schema lists its values and each has another text.
func choicesOf(s signature.Schema) (texts []string) {
	values := s.List("enum")
	if v := s.Get("const"); v != nil {
		values = append(values, v)
	}
	if values == nil && slices.Equal(notNull(s.Types()), []string{"boolean"}) {
		return []string{"true", "false"}
	}
	for _, v := range values {
		text := string(signature.Raw(v))
		if v.Is(`"`) {
			text = v.Content()
		}
		switch {
		case v.Is("n"):
		case v.Is("{["), text == "", len(text) > maxAbout, slices.Contains(texts, text), len(texts) == maxChoices,
			strings.ContainsFunc(text, isOdd):
			return nil
		default:
			texts = append(texts, text)
		}
	}
	return texts
}

func (f *Field) setLimits(s signature.Schema) {
	number := func(keyword string) string {
		if v := s.Get(keyword); v.Is("0") && len(signature.Raw(v)) <= maxDigits {
			return string(signature.Raw(v))
		}
		return ""
	}
	f.Min, f.Max, f.Step = number("minimum"), number("maximum"), number("multipleOf")
	isWhole := kindOf(json.RawMessage(f.Min)) != "number"
	switch {
	case f.Min != "" && (f.Step != "" || !isWhole), !slices.Contains(s.Types(), "integer") && f.Step == "":
		f.Step = "any" // a browser counts steps from the minimum
	case f.Step == "":
		f.Step = "1"
	}
}

// fieldText returns a value as the text of a field, or "" if it has no such text.
func fieldText(kind FieldKind, value json.RawMessage) string {
	if len(value) > maxAbout {
		return ""
	}
	text, isText := wire.Unquote(value)
	switch {
	case kind == JSON:
		return string(value)
	case kind == List:
		values, err := wire.Elements(value)
		if err != nil || kindOf(value) != "array" {
			return ""
		}
		var lines []string
		for _, v := range values {
			lines = append(lines, fieldText(Line, v))
		}
		return strings.Join(lines, "\n")
	case isText && kind == DateTime:
		return strings.TrimSuffix(text, "Z")
	case isText:
		return text
	case slices.Contains([]string{"object", "array", "null"}, kindOf(value)):
		return ""
	}
	return string(value)
}

// Object returns the arguments as a JSON object. text returns the text of a field by its path. If a text is no value of
// its field, wrong has the reason by the path.
func (f *Form) Object(text func(path string) string) (object json.RawMessage, wrong map[string]error) {
	wrong = map[string]error{}
	object = objectOf(f.Fields, text, wrong)
	if object == nil {
		object = json.RawMessage(`{}`)
	}
	return object, wrong
}

// objectOf returns an object with the values of fields, or nil if there are none.
func objectOf(fields []Field, text func(path string) string, wrong map[string]error) json.RawMessage {
	var out wire.Object
	for i := range fields {
		one := &fields[i]
		if one.Kind == Group {
			group := objectOf(one.Fields, text, wrong)
			if group == nil && one.Required {
				group = json.RawMessage(`{}`)
			}
			out = out.Raw(one.Name, group)
			continue
		}
		value, err := one.value(text(one.Path))
		if err != nil {
			wrong[one.Path] = err
			continue
		}
		out = out.Raw(one.Name, value)
	}
	if len(out) == 0 {
		return nil
	}
	return out.JSON()
}

// isoMinutes matches a time without a zone.
var isoMinutes = chars.Pattern(`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$`)

// value returns the value of a field's text, or nil if the text is empty.
func (f *Field) value(text string) (json.RawMessage, error) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n") // browsers send line ends so
	trimmed := strings.TrimSpace(text)
	if text == "" || trimmed == "" && f.Kind != Line && f.Kind != Lines && f.Kind != Hidden {
		return nil, nil
	}
	switch f.Kind {
	case JSON:
		if !wire.Valid([]byte(text)) {
			return nil, fmt.Errorf("this is not JSON: %w", json.Unmarshal([]byte(text), new(any)))
		}
		return json.RawMessage(trimmed), nil
	case Choice:
		if !slices.Contains(f.Choices, text) {
			return nil, errors.New("this is not one of the values")
		}
	case List:
		return listOf(text, only(f.schema.Sub("items")))
	case DateTime:
		if parts := isoMinutes().FindStringSubmatch(trimmed); parts != nil {
			if parts[1] == "" {
				trimmed += ":00"
			}
			trimmed += "Z"
		}
		text = trimmed
	case Line:
		if len(notNull(Wanted(f.schema))) > 1 {
			return Setting(text, f.schema)
		}
	}
	return parseValue(text, f.schema)
}

// listOf returns an array with a value for each line that is not empty.
func listOf(text string, items signature.Schema) (json.RawMessage, error) {
	values := []json.RawMessage{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		value, err := parseValue(line, items)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(values)+1, err)
		}
		values = append(values, value)
	}
	return chars.JSON(values)
}
