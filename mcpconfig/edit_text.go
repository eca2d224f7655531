package mcpconfig

import (
	"bytes"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// items is what stands in an object or a list, by offsets.
type items struct {
	open, close int // of the brackets
	each        []span
	trailing    bool // a comma behind the last
}

// span is one item. Its comma, if it has one, stands at comma.
type span struct{ start, end, comma int }

func itemsOf(v *hujson.Value) items {
	it := items{open: v.StartOffset, close: v.EndOffset - 1}
	add := func(start int, v hujson.Value) {
		it.each = append(it.each, span{start, v.EndOffset, v.EndOffset + len(v.AfterExtra)})
		it.trailing = v.AfterExtra != nil
	}
	switch list := v.Value.(type) {
	case *hujson.Object:
		for _, m := range list.Members {
			add(m.Name.StartOffset, m.Value)
		}
	case *hujson.Array:
		for _, v := range list.Elements {
			add(v.StartOffset, v)
		}
	}
	return it
}

// jsonText is a file's, with the habits of who wrote it.
type jsonText struct {
	text          []byte
	newline, unit string
	colon, comma  string
	trailing      bool // a comma behind the last item
}

func (e *Edit) text() *jsonText {
	t := &jsonText{text: e.doc.Text, newline: "\n", unit: "  ", colon: ": ", comma: ", "}
	if i := bytes.IndexByte(t.text, '\n'); i > 0 && t.text[i-1] == '\r' {
		t.newline = "\r\n"
	}
	top := e.doc.Root.Value.(*hujson.Object)
	if len(top.Members) == 0 {
		return t
	}
	first := top.Members[0]
	if indent := t.indentAt(first.Name.StartOffset); indent != "" && t.leads(first.Name.StartOffset) {
		t.unit = indent
	}
	if len(first.Value.BeforeExtra) == 0 {
		t.colon, t.comma = ":", ","
	}
	t.trailing = itemsOf(&e.doc.Root).trailing
	return t
}

// insert adds an item behind the last; write writes it.
func (t *jsonText) insert(in items, write func(indent string, inline bool) string) []tree.Cut {
	n := len(in.each)
	if n == 0 {
		return t.insertFirst(in, write)
	}
	last := in.each[n-1]
	indent := t.indentAt(last.start)
	switch inline := !t.leads(last.start); {
	case inline && in.trailing:
		return []tree.Cut{{From: last.comma + 1, To: last.comma + 1, By: t.comma[1:] + write(indent, true) + ","}}
	case inline:
		return []tree.Cut{{From: last.end, To: last.end, By: t.comma + write(indent, true)}}
	case in.trailing:
		at := t.tail(last.comma + 1)
		return []tree.Cut{{From: at, To: at, By: t.newline + indent + write(indent, false) + ","}}
	}
	at := t.tail(last.end)
	return []tree.Cut{{From: last.end, To: last.end, By: ","}, {From: at, To: at, By: t.newline + indent + write(indent, false)}}
}

// insertFirst adds an item where there is none.
func (t *jsonText) insertFirst(in items, write func(indent string, inline bool) string) []tree.Cut {
	at, base := t.tail(in.open+1), t.indentAt(in.open)
	indent := base + t.unit
	by := t.newline + indent + write(indent, false)
	if t.trailing {
		by += ","
	}
	if rest := t.text[at:in.close]; len(bytes.TrimLeft(rest, " \t")) == 0 {
		return []tree.Cut{{From: at, To: in.close, By: by + t.newline + base}}
	}
	return []tree.Cut{{From: at, To: at, By: by}}
}

// remove takes an item out, with its comma and what else is on its lines.
func (t *jsonText) remove(in items, i int) []tree.Cut {
	item, final := in.each[i], i == len(in.each)-1
	end := item.comma + 1
	var cuts []tree.Cut
	if final && !in.trailing {
		end = item.end
		if i > 0 {
			comma := in.each[i-1].comma
			cuts = append(cuts, tree.Cut{From: comma, To: comma + 1})
		}
	}
	next := t.blanks(t.tail(end))
	if t.text[next] == '\r' {
		next++
	}
	ends := t.text[next] == '\n'
	start := t.back(item.start)
	switch leads := t.leads(item.start); {
	case leads && ends:
		cuts = append(cuts, tree.Cut{From: t.upTo(start, next+1), To: t.downTo(in, i, next+1)})
	case !leads && (final || ends):
		cuts = append(cuts, tree.Cut{From: start, To: end})
	case final:
		cuts = append(cuts, tree.Cut{From: item.start, To: end})
	default:
		cuts = append(cuts, tree.Cut{From: item.start, To: t.blanks(end)})
	}
	return cuts
}

// upTo is where a removal of whole lines begins: before the empty line in front of
// them, if another empty line or a bracket would follow it.
func (t *jsonText) upTo(start, end int) int {
	next := t.blanks(end)
	if !bytes.ContainsAny(t.text[next:next+1], "\r\n}]") || start == 0 {
		return start
	}
	before := t.back(start - 1)
	if before > 0 && t.text[before-1] == '\r' {
		before = t.back(before - 1)
	}
	if before > 0 && t.text[before-1] == '\n' {
		return before
	}
	return start
}

// downTo is where a removal of whole lines ends: of the first item behind the empty
// line that parts it from the second.
func (t *jsonText) downTo(in items, i, end int) int {
	next := t.blanks(end)
	if t.text[next] == '\r' {
		next++
	}
	if i == 0 && len(bytes.TrimSpace(t.text[in.open+1:in.each[0].start])) == 0 && t.text[next] == '\n' {
		return next + 1
	}
	return end
}

// back is where the blanks in front of an offset begin.
func (t *jsonText) back(at int) int {
	for at > 0 && (t.text[at-1] == ' ' || t.text[at-1] == '\t') {
		at--
	}
	return at
}

// blanks is where the blanks behind an offset end.
func (t *jsonText) blanks(at int) int {
	for at < len(t.text) && (t.text[at] == ' ' || t.text[at] == '\t') {
		at++
	}
	return at
}

// leads reports whether an offset is the first on its line.
func (t *jsonText) leads(at int) bool {
	at = t.back(at)
	return at == 0 || t.text[at-1] == '\n'
}

// indentAt is how far the line of an offset is indented.
func (t *jsonText) indentAt(at int) string {
	start := bytes.LastIndexByte(t.text[:at], '\n') + 1
	return string(t.text[start:t.blanks(start)])
}

// tail is where the comments end that stand behind an offset, on its line.
func (t *jsonText) tail(at int) int {
	end := at
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
