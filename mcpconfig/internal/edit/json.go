package edit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// JSON is a text with comments that changes step by step.
type JSON struct {
	Doc *tree.Doc
	// Limit is the largest size of the text in bytes. 0 is no limit.
	Limit int
}

// Put sets an object's member of that name, or adds it. If expanded is set, the value takes several lines, unless the
// object is on one line.
func (j *JSON) Put(list *hujson.Value, name string, value hujson.Value, expanded bool) error {
	if old := tree.At(list, name); old != nil {
		return j.replace(old, value)
	}
	return j.add(list, string(hujson.String(name)), value, expanded)
}

// replace writes a value in the layout of the old one, on one line or several.
func (j *JSON) replace(old *hujson.Value, value hujson.Value) error {
	t := j.text()
	if bytes.Equal(packed(*old), packed(value)) { // both mean the same to every reader
		return nil
	}
	inline := !bytes.Contains(t.text[old.StartOffset:old.EndOffset], []byte("\n"))
	by := t.value("", value, t.indentAt(old.StartOffset), inline, !inline)
	return j.apply([]tree.Cut{{From: old.StartOffset, To: old.EndOffset, By: by}})
}

// add adds an item behind the last one of an object, or of a list if there is no key.
func (j *JSON) add(list *hujson.Value, key string, value hujson.Value, expanded bool) error {
	return j.apply(j.additionCuts(list, key, value, expanded))
}

func (j *JSON) additionCuts(list *hujson.Value, key string, value hujson.Value, expanded bool) []tree.Cut {
	t := j.text()
	return t.insert(itemsOf(list), func(indent string, inline bool) string {
		return t.value(key, value, indent, inline, expanded && !inline)
	})
}

// remove removes an item.
func (j *JSON) remove(list *hujson.Value, i int) error {
	return j.apply(j.text().remove(itemsOf(list), i))
}

// apply changes the text in some places, and parses it again.
func (j *JSON) apply(cuts []tree.Cut) error {
	if len(cuts) == 0 {
		return nil
	}
	text := tree.Splice(j.Doc.Text, cuts)
	if j.Limit > 0 && len(text) > j.Limit {
		return fmt.Errorf("would be %w", atomicfile.TooLarge(int64(j.Limit)))
	}
	doc, wrong := tree.Parse(text, tree.JSON)
	if wrong != nil {
		return fmt.Errorf("could not be read any more: %w", wrong)
	}
	j.Doc = doc
	return nil
}

// packed returns a value without comments and blanks.
func packed(v hujson.Value) []byte {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	v.Minimize()
	return v.Pack()
}

// itemList holds the items of an object or a list, by offsets.
type itemList struct {
	open, close int // of the brackets
	items       []span
	trailing    bool // a comma follows the last item
}

// span is one item. If a comma follows it, comma is its offset.
type span struct{ start, end, comma int }

func itemsOf(v *hujson.Value) itemList {
	it := itemList{open: v.StartOffset, close: v.EndOffset - 1}
	for name, v := range tree.Items(v) {
		it.items = append(it.items, span{tree.Start(name, v), v.EndOffset, v.EndOffset + len(v.AfterExtra)})
		it.trailing = v.AfterExtra != nil
	}
	return it
}

// jsonText is the text of a file, with its style of writing.
type jsonText struct {
	text          []byte
	newline, unit string
	colon, comma  string
	trailing      bool // a comma follows the last item
}

func (j *JSON) text() *jsonText {
	t := &jsonText{text: j.Doc.Text, newline: "\n", unit: "  ", colon: ": ", comma: ", "}
	if i := bytes.IndexByte(t.text, '\n'); i > 0 && t.text[i-1] == '\r' {
		t.newline = "\r\n"
	}
	top := j.Doc.Root.Value.(*hujson.Object)
	if len(top.Members) == 0 {
		return t
	}
	first := top.Members[0]
	if indent := t.indentAt(first.Name.StartOffset); indent != "" && t.startsLine(first.Name.StartOffset) {
		t.unit = indent
	}
	if len(first.Value.BeforeExtra) == 0 {
		t.colon, t.comma = ":", ","
	}
	t.trailing = itemsOf(&j.Doc.Root).trailing
	return t
}

// insert adds an item behind the last one. write returns its text.
func (t *jsonText) insert(list itemList, write func(indent string, inline bool) string) []tree.Cut {
	n := len(list.items)
	if n == 0 {
		return t.insertFirst(list, write)
	}
	last := list.items[n-1]
	indent := t.indentAt(last.start)
	switch inline := !t.startsLine(last.start); {
	case inline && list.trailing:
		return []tree.Cut{{From: last.comma + 1, To: last.comma + 1, By: t.comma[1:] + write(indent, true) + ","}}
	case inline:
		return []tree.Cut{{From: last.end, To: last.end, By: t.comma + write(indent, true)}}
	case list.trailing:
		at := t.tail(last.comma + 1)
		return []tree.Cut{{From: at, To: at, By: t.newline + indent + write(indent, false) + ","}}
	}
	at := t.tail(last.end)
	return []tree.Cut{
		{From: last.end, To: last.end, By: ","},
		{From: at, To: at, By: t.newline + indent + write(indent, false)},
	}
}

// insertFirst adds an item to an empty object or list.
func (t *jsonText) insertFirst(list itemList, write func(indent string, inline bool) string) []tree.Cut {
	at, base := t.tail(list.open+1), t.indentAt(list.open)
	indent := base + t.unit
	by := t.newline + indent + write(indent, false)
	if t.trailing {
		by += ","
	}
	if rest := t.text[at:list.close]; len(bytes.TrimLeft(rest, " \t")) == 0 {
		return []tree.Cut{{From: at, To: list.close, By: by + t.newline + base}}
	}
	return []tree.Cut{{From: at, To: at, By: by}}
}

// remove removes an item, with its comma and the rest of its lines.
func (t *jsonText) remove(list itemList, i int) []tree.Cut {
	item, final := list.items[i], i == len(list.items)-1
	end := item.comma + 1
	var cuts []tree.Cut
	if final && !list.trailing {
		end = item.end
		if i > 0 {
			comma := list.items[i-1].comma
			cuts = append(cuts, tree.Cut{From: comma, To: comma + 1})
		}
	}
	next := t.blanks(t.tail(end))
	if t.text[next] == '\r' {
		next++
	}
	ends := t.text[next] == '\n'
	start := t.blankStart(item.start)
	switch leads := t.startsLine(item.start); {
	case leads && ends:
		cuts = append(cuts, tree.Cut{From: t.upTo(start, next+1), To: t.downTo(list, i, next+1)})
	case !leads && (final || ends):
		cuts = append(cuts, tree.Cut{From: start, To: end})
	case final:
		cuts = append(cuts, tree.Cut{From: item.start, To: end})
	default:
		cuts = append(cuts, tree.Cut{From: item.start, To: t.blanks(end)})
	}
	return cuts
}

// upTo returns where a removal of whole lines begins. That is before the empty line in front of them, if another empty
// line or a bracket would follow.
func (t *jsonText) upTo(start, end int) int {
	next := t.blanks(end)
	if !bytes.ContainsAny(t.text[next:next+1], "\r\n}]") || start == 0 {
		return start
	}
	before := t.blankStart(start - 1)
	if before > 0 && t.text[before-1] == '\r' {
		before = t.blankStart(before - 1)
	}
	if before > 0 && t.text[before-1] == '\n' {
		return before
	}
	return start
}

// downTo returns where a removal of whole lines ends. For the first item, it includes the empty line behind it.
func (t *jsonText) downTo(list itemList, i, end int) int {
	next := t.blanks(end)
	if t.text[next] == '\r' {
		next++
	}
	if i == 0 && len(bytes.TrimSpace(t.text[list.open+1:list.items[0].start])) == 0 && t.text[next] == '\n' {
		return next + 1
	}
	return end
}

// blankStart returns the start of the blanks in front of an offset.
func (t *jsonText) blankStart(offset int) int {
	for offset > 0 && (t.text[offset-1] == ' ' || t.text[offset-1] == '\t') {
		offset--
	}
	return offset
}

// blanks returns the end of the blanks behind an offset.
func (t *jsonText) blanks(offset int) int {
	for offset < len(t.text) && (t.text[offset] == ' ' || t.text[offset] == '\t') {
		offset++
	}
	return offset
}

// startsLine reports whether an offset is the first on its line.
func (t *jsonText) startsLine(offset int) bool {
	offset = t.blankStart(offset)
	return offset == 0 || t.text[offset-1] == '\n'
}

// indentAt returns the indentation of the line of an offset.
func (t *jsonText) indentAt(offset int) string {
	start := bytes.LastIndexByte(t.text[:offset], '\n') + 1
	return string(t.text[start:t.blanks(start)])
}

// tail returns the end of the comments behind an offset, on the same line.
func (t *jsonText) tail(offset int) int {
	end := offset
	for {
		i := t.blanks(end)
		rest := t.text[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n > 0 && rest[n-1] == '\r' {
				n--
			}
			return i + n
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest, []byte("*/"))
			if bytes.IndexByte(rest[:n], '\n') >= 0 {
				return end
			}
			end = i + n + 2
		default:
			return end
		}
	}
}

// maxLine is the largest number of characters in a line that this package lays out itself.
const maxLine = 100

// isExpanded reports whether the rows of a list take several lines each.
func (t *jsonText) isExpanded(list *hujson.Value) (expanded bool) {
	for _, v := range tree.Items(list) {
		if v.Value.Kind() == '{' && v.EndOffset-v.StartOffset > 2 {
			expanded = bytes.IndexByte(t.text[v.StartOffset:v.EndOffset], '\n') >= 0
		}
	}
	return expanded
}

// value returns the text of a member, or of a value if there is no key. It is on one line if inline is set, or if it
// fits and expanded is not set.
func (t *jsonText) value(key string, v hujson.Value, indent string, inline, expanded bool) string {
	if key != "" {
		key += t.colon
	}
	flat := key + t.inlineText(v)
	if inline || !expanded && utf8.RuneCountInString(indent+flat) <= maxLine {
		return flat
	}
	var items []string
	deeper := indent + t.unit
	brackets := "{}"
	for _, m := range tree.Members(&v) {
		items = append(items, t.value(string(m.Name.Value.(hujson.Literal)), m.Value, deeper, false, false))
	}
	for _, e := range tree.Elements(&v) {
		brackets = "[]"
		items = append(items, t.value("", *e, deeper, false, false))
	}
	if len(items) == 0 {
		return flat
	}
	end := ""
	if t.trailing {
		end = ","
	}
	between := "," + t.newline + deeper
	return key + brackets[:1] + t.newline + deeper + strings.Join(items, between) + end + t.newline + indent + brackets[1:]
}

// inlineText returns a value on one line.
func (t *jsonText) inlineText(v hujson.Value) string {
	var items []string
	for _, m := range tree.Members(&v) {
		items = append(items, string(m.Name.Value.(hujson.Literal))+t.colon+t.inlineText(m.Value))
	}
	for _, e := range tree.Elements(&v) {
		items = append(items, t.inlineText(*e))
	}
	switch v.Value.Kind() {
	case '{':
		return "{" + strings.Join(items, t.comma) + "}"
	case '[':
		return "[" + strings.Join(items, t.comma) + "]"
	}
	return string(v.Value.(hujson.Literal))
}
