package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
)

// FuzzAdapt checks, for every profile, the properties of Adapt that need no validator. Adapt accepts a schema or gives
// a reason, it is idempotent and deterministic, and its results are within bounds.
func FuzzAdapt(f *testing.F) {
	for _, seed := range hostile() {
		f.Add(seed)
	}
	for _, s := range corpus(f) {
		f.Add([]byte(s.schema))
	}
	for seed := range uint64(50) {
		f.Add(generated(seed).bytes())
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, p := range rotated(len(input)) {
			a, fault := examineAlone(input, p)
			if fault != nil {
				t.Fatalf("%s: %v", p.Name(), fault)
			}
			if a == nil {
				continue
			}
			if len(a.Schema) > schema.DefaultBytes || len(a.Note) > 4096 {
				t.Fatalf("%s: %d bytes, and a note of %d", p.Name(), len(a.Schema), len(a.Note))
			}
			if restored := a.Restore([]byte(`{"a":null,"input":{"b":[1,{}]}}`)); !json.Valid(restored) {
				t.Fatalf("%s: restored to %q", p.Name(), restored)
			}
			a.Path("/a/b~1c/0")
		}
	})
}

// FuzzAdaptGenerated checks all properties, including Restore, on generated schemas.
func FuzzAdaptGenerated(f *testing.F) {
	for i := range shaped() {
		f.Add(uint64(i), i)
	}
	profiles := shaped()
	f.Fuzz(func(t *testing.T, seed uint64, profile int) {
		p := profiles[(profile%len(profiles)+len(profiles))%len(profiles)]
		if fault, _ := examine(newSubject(generated(seed).bytes()), p, seed); fault != nil {
			t.Fatalf("%s: %s", p.Name(), minimal(seed, p, fault))
		}
	})
}

// FuzzRestore restores arguments of any form. JSON stays JSON, and nothing panics.
func FuzzRestore(f *testing.F) {
	specimens := corpus(f)
	for i, arguments := range []string{
		`{}`, `null`, `[]`, `"x"`, `{"input":1}`, `{"input":null,"input":[]}`, `{"a":{"b":[null]}}`, `{"tree":{"value":1,"children":[{"value":2}]}}`,
		`{"by_name":{"a":{"name":"b"}}}`, ` { "query" : "x" , "lang" : null } `, `{"lang":null,"lang":"de"}`, `{"\u0061":1}`, `{"a":1e400}`, `{`, ``,
		`{"filter_name_":"x"}`, `{"size":[1,2]}`, `{"size":{"item1":1}}`, `{"queryOrder":"1"}`, nest(20_000, "[", "]", ""), nest(5_000, `{"a":`, "}", "1"),
	} {
		for j := range 8 {
			f.Add([]byte(arguments), i*7+j*31, j)
		}
	}
	adapted := map[[2]int]*schema.Adapted{}
	profiles := shaped()
	f.Fuzz(func(t *testing.T, arguments []byte, specimen, profile int) {
		key := [2]int{wrap(specimen, len(specimens)), wrap(profile, len(profiles))}
		a, ok := adapted[key]
		if !ok {
			a, _ = schema.Adapt(specimens[key[0]].schema, profiles[key[1]])
			adapted[key] = a
		}
		if a == nil {
			return
		}
		before := bytes.Clone(arguments)
		restored := a.Restore(arguments)
		if !bytes.Equal(before, arguments) {
			t.Fatal("the arguments were changed")
		}
		if json.Valid(arguments) != json.Valid(restored) {
			t.Fatalf("%s, %s: %q became %q", specimens[key[0]].name, profiles[key[1]].Name(), arguments, restored)
		}
		if a.Changes == nil && !bytes.Equal(arguments, restored) {
			t.Fatalf("%s, %s, which nothing changed: %q became %q", specimens[key[0]].name, profiles[key[1]].Name(), arguments, restored)
		}
	})
}

func wrap(i, n int) int { return (i%n + n) % n }

// bombs are large schemas, and small schemas that a careless adapter makes large.
var bombs = []struct {
	name string
	make func() string
}{
	{"8,000 deep", func() string { return nest(8_000, `{"type":"object","properties":{"a":`, `}}`, `{}`) }},
	{"8,000 arrays deep", func() string { return nest(8_000, `{"items":`, `}`, `{}`) }},
	{"8,000 unions deep", func() string { return nest(8_000, `{"anyOf":[`, `]}`, `{}`) }},
	{"60 deep", func() string { return nest(30, `{"type":"object","properties":{"a":`, `}}`, `{"type":"string"}`) }},
	{"1,000,000 wide", func() string {
		return `{"type":"object","properties":{` + joined(1_000_000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`
	}},
	{"1,000,000 values in an enum", func() string {
		return `{"type":"object","properties":{"a":{"enum":[` + joined(1_000_000, func(i int) string { return fmt.Sprint(i) }) + `]}}}`
	}},
	{"4,900 wide", func() string {
		return `{"type":"object","properties":{` + joined(4_900, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`
	}},
	{"9,000 values in an enum", func() string {
		return `{"type":"object","properties":{"a":{"enum":[` + joined(9_000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `]}}}`
	}},
	{"a DAG of references", func() string { return dag(30, `{"type":"object","properties":{"l":%s,"r":%s}}`) }},
	{"a DAG of unions", func() string { return dag(30, `{"anyOf":[%s,%s]}`) }},
	{"a DAG of intersections", func() string { return dag(30, `{"allOf":[%s,%s]}`) }},
	{"a DAG of both", func() string {
		return dag(30, `{"type":"object","properties":{"l":{"allOf":[%s]},"r":{"oneOf":[%s,{"type":"null"}]}}}`)
	}},
	{"a product of unions", func() string {
		return `{"type":"object","properties":{"a":{"allOf":[` + joined(12, func(i int) string {
			return `{"anyOf":[` + joined(12, func(j int) string {
				return fmt.Sprintf(`{"type":"object","properties":{"p%d_%d":{"type":"string"}}}`, i, j)
			}) + `]}`
		}) + `]}}}`
	}},
	{"a product of unions at the root", func() string {
		return `{"type":"object","allOf":[` + joined(40, func(i int) string {
			return `{"oneOf":[` + joined(10, func(j int) string { return fmt.Sprintf(`{"required":["p%d_%d"]}`, i, j) }) + `]}`
		}) + `]}`
	}},
	{"unions in unions", func() string { return nest(28, `{"anyOf":[{"type":"string"},`, `]}`, `{"type":"null"}`) }},
	{"lists of types", func() string {
		return `{"type":"object","properties":{"a":` + nest(20, `{"type":["array","object","null"],"items":{},"properties":{"x":`, `}}`, `{}`) + `}}`
	}},
	{"3,000 keys that collide", func() string {
		return `{"type":"object","properties":{` + joined(3_000, func(i int) string { return fmt.Sprintf(`"%s":{}`, string(rune(0x4e00+i))) }) + `}}`
	}},
	{"10,000 keys that collide", func() string {
		return `{"type":"object","properties":{` + joined(10_000, func(i int) string { return fmt.Sprintf(`"%s":{}`, string(rune(0x4e00+i))) }) + `}}`
	}},
	{"one key 4,000 times", func() string {
		return `{"type":"object","properties":{` + joined(4_000, func(i int) string { return fmt.Sprintf(`"a":{"type":"string","description":"%d"}`, i) }) + `}}`
	}},
	{"mutual recursion of 200", func() string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + joined(200, func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, i, (i*7+1)%200, (i*3+2)%200)
		}) + `}}`
	}},
	{"a chain of 3,000 references", func() string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + joined(3_000, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
		}) + `,"d3000":{"type":"string"}}}`
	}},
	{"a megabyte of description", func() string {
		return `{"type":"object","description":"` + strings.Repeat("a", 500_000) + `","properties":{"a":{"type":"string","description":"` + strings.Repeat("é", 200_000) + `"}}}`
	}},
	{"a long pattern again and again", func() string {
		return `{"type":"object","properties":{` + joined(1_000, func(i int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","pattern":"%s"}`, i, strings.Repeat("(a+)+", 100))
		}) + `}}`
	}},
	{"defaults of a kilobyte", func() string {
		return `{"type":"object","properties":{` + joined(800, func(i int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","default":"%s"}`, i, strings.Repeat("x", 1000))
		}) + `}}`
	}},
}

// allowance is the maximum number of bytes that may be allocated for one schema. Refusing unreadable JSON needs little.
// The largest schemas within the default limits need a few times their size.
const allowance = 64 << 20

// TestBombsAreBounded checks that every bomb is refused or adapted within the allowance, and that each result is within
// the limits.
func TestBombsAreBounded(t *testing.T) {
	for n, bomb := range bombs {
		input := []byte(bomb.make())
		for _, p := range rotated(n) {
			var a *schema.Adapted
			var err error
			used := allocated(func() { a, err = schema.Adapt(input, p) })
			if used > allowance {
				t.Errorf("%s: %s: %d MiB for %d bytes", bomb.name, p.Name(), used>>20, len(input))
			}
			if err != nil {
				continue
			}
			if err := schema.Measure(a.Schema, schema.Limits{}); err != nil {
				t.Errorf("%s: %s: %v", bomb.name, p.Name(), err)
			}
			if findings := schema.Check(a.Schema, p); len(findings) > 0 {
				t.Errorf("%s: %s: %+v", bomb.name, p.Name(), findings[0])
			}
		}
	}
}

// TestWhatIsBeyondTheLimitsIsRefused checks that refusing an oversized schema costs almost nothing.
func TestWhatIsBeyondTheLimitsIsRefused(t *testing.T) {
	for _, bomb := range bombs[:6] {
		input := []byte(bomb.make())
		if bomb.name == "60 deep" {
			continue
		}
		for _, p := range shaped() {
			var err error
			used := allocated(func() { _, err = schema.Adapt(input, p) })
			if over := (*schema.LimitError)(nil); !errors.As(err, &over) {
				t.Errorf("%s: %s: %v", bomb.name, p.Name(), err)
			}
			if used > 1<<20 {
				t.Errorf("%s: %s: %d KiB", bomb.name, p.Name(), used>>10)
			}
		}
	}
}

// allocated returns the number of bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func joined(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String()
}

// dag returns n definitions, each with two references to the next.
func dag(n int, format string) string {
	return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + joined(n, func(i int) string {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		return fmt.Sprintf(`"d%d":`+format, i, ref, ref)
	}) + fmt.Sprintf(`,"d%d":{"type":"string"}}}`, n)
}
