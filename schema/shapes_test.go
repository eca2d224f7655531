package schema_test

import (
	"fmt"
	"strings"
)

// The shapes are schemas that are expensive for a careless normaliser, each about n bytes long.
var shapes = []struct {
	name string
	make func(n int) string
}{
	{"typical", typical},
	{"wide", func(n int) string {
		return object(list(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","default":1}`, i) }), "")
	}},
	{"wide required", func(n int) string {
		names := func(format string) string {
			return list(n/2, func(i int) string { return fmt.Sprintf(format, i) })
		}
		return object(names(`"%d":{}`), names(`"%d"`))
	}},
	{"one key again and again", func(n int) string {
		return object(list(n, func(int) string { return `"a":{"type":"string","enum":["x"]}` }), "")
	}},
	{"deep", func(n int) string {
		return nest(n/40, `{"properties":{"p":`, `},"type":"object"}`, `{"type":"string"}`)
	}},
	{"1,000 deep, the weight at the bottom", func(n int) string {
		return nest(999, `{"items":`, `,"type":"array"}`, typical(n))
	}},
	{"1,000 deep, the weight beside", func(n int) string {
		return nest(999, `{"type":"array","enum":["`+strings.Repeat("x", n/1000)+`"],"items":`, `}`, `{"type":"string"}`)
	}},
	{"a long tuple", func(n int) string {
		return `{"type":"array","items":[` + list(n, func(int) string { return `{"type":"string"}` }) + `]}`
	}},
	{"a kept keyword of brackets", func(n int) string {
		return `{"type":"string","enum":[` + list(n, func(int) string { return "[[],[]]" }) + `]}`
	}},
	{"a long string of escapes", func(n int) string {
		return `{"type":"object","properties":{"` + strings.Repeat(`\u0061`, n/6) + `":{"type":"string"}}}`
	}},
	{"whitespace", func(n int) string { return `{"type":` + strings.Repeat(" ", n) + `"string"}` }},
	{"open brackets", func(n int) string { return strings.Repeat("[", n) }},
}

// typical returns about n bytes of schemas like the schemas of real servers: objects with a few described parameters.
func typical(n int) string {
	return object(list(n, func(i int) string {
		return fmt.Sprintf(`"item%d":{"type":"object","description":"What to do with the item, \"quoted\" once.",`+
			`"properties":{"path":{"type":"string","default":"/tmp"},"tags":{"type":"array","items":{"type":"string"}},`+
			`"mode":{"type":"string","enum":["fast","safe"]},"limit":{"type":"integer","minimum":0,"maximum":1e3}},`+
			`"required":["path","mode"],"additionalProperties":false}`, i)
	}), `"item0"`)
}

func object(properties, required string) string {
	return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
}

// list joins at least one element, and as many as fill n bytes.
func list(n int, element func(i int) string) string {
	var b strings.Builder
	b.WriteString(element(0))
	for i := 1; b.Len() < n; i++ {
		b.WriteString("," + element(i))
	}
	return b.String()
}

// nest puts core inside n pairs of open and shut.
func nest(n int, open, shut, core string) string {
	return strings.Repeat(open, n) + core + strings.Repeat(shut, n)
}
