//go:build !race

package validate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/schema/validate"
)

// nested returns objects nested to the given depth.
func nested(name string, depth int) string {
	return strings.Repeat(`{"`+name+`":`, depth) + "{}" + strings.Repeat("}", depth)
}

// spent fails the test if f takes more than a few seconds, or much memory.
func spent(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%v, %d MiB", took.Round(time.Millisecond), allocated)
	if took > 30*time.Second || allocated > 2<<10 {
		t.Errorf("it took %v and %d MiB", took, allocated)
	}
}

const (
	unread    = "unread"    // New returns an error
	unchecked = "unchecked" // Validate returns ErrUnchecked
	fits      = "fits"
	misfits   = "misfits"
)

func outcome(t *testing.T, schema, arguments string) string {
	t.Helper()
	v, err := validate.New(json.RawMessage(schema))
	if err != nil {
		t.Log(err)
		return unread
	}
	err = v.Validate(json.RawMessage(arguments))
	misfit := (*validate.Error)(nil)
	switch {
	case err == nil:
		return fits
	case errors.As(err, &misfit):
		if text := err.Error(); len(text) > 2500 {
			t.Errorf("an error of %d bytes", len(text))
		}
		return misfits
	case errors.Is(err, validate.ErrUnchecked):
		if len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		t.Log(err)
		return unchecked
	}
	t.Fatalf("an error of no kind: %v", err)
	return ""
}

// One goroutine checks a schema, so the race detector would find nothing. With it, this test takes six times as long.
func TestHostileSchemasAndArguments(t *testing.T) {
	twice := `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["y"]}]}}}`
	once := `{"properties":{"c":{"$ref":"#"}},"additionalProperties":false}`
	for _, tt := range []struct{ name, schema, arguments, want string }{
		{"allOf fans out", fanOut("allOf", 40), `{}`, fits},
		{"anyOf fans out, and the first would do", fanOut("anyOf", 40), `{}`, fits},
		{"oneOf fans out", fanOut("oneOf", 40), `{}`, misfits},
		{"allOf fans out a little", fanOut("allOf", 8), `{}`, fits},
		{"properties fan out in shallow arguments", twice, nested("c", 3), misfits},
		{"properties fan out in deep arguments", twice, nested("c", 60), misfits},
		{"recursion that does not fan out", once, nested("c", 500), fits},
		{"its end is wrong", once, nested("c", 400)[:400*5] + `{"d":1}` + strings.Repeat("}", 400), misfits},
		{"arguments beyond the depth", once, nested("c", 600), unchecked},
		{"arguments beyond all depth", once, strings.Repeat("[", 1_000_000), unchecked},
		{"arguments beyond the nodes", `{"items":{"type":"integer"}}`, "[" + strings.Repeat("1,", 200_000) + "1]", unchecked},
		{"arguments beyond the bytes", `{}`, `"` + strings.Repeat("x", validate.MaxBytes) + `"`, unchecked},
		{"a cycle", `{"$ref":"#"}`, `{}`, unchecked},
		{"a cycle of three", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#"}}}}`, `{}`, unchecked},
		{"a chain of 2,000", `{"$ref":"#/$defs/d0","$defs":{` + each(2000, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
		}) + `,"d2000":{"type":"object"}}}`, `{}`, fits},
		{"a chain of 500, at each of 100 levels", `{"$ref":"#/$defs/d0","$defs":{` + each(500, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
		}) + `,"d500":{"properties":{"c":{"$ref":"#"}}}}}`, nested("c", 100), unchecked},
		{"references to places that are none", `{"foo":{` + each(3000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) +
			`},"properties":{` + each(3000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/foo/p%d"}`, i, i) }) + `}}`, `{}`, fits},
		{"the same, behind percent signs", `{"foo":{` + each(3000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) +
			`},"properties":{` + each(3000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#%%2Ffoo/p%d"}`, i, i) }) + `}}`, `{}`, fits},
		{"references into bases of their own", `{"$defs":{` + each(1500, func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"p%d","$ref":"#/x","x":{}}`, i, i) }) + `}}`, `{}`, fits},
		{"bases", `{"$defs":{` + each(4000, func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"p%d"}`, i, i) }) + `}}`, `{}`, fits},
		{"wide and deep", strings.Repeat(`{"items":`, 60) + `{"properties":{` + each(9000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}` + strings.Repeat("}", 60), `[[1]]`, fits},
		{"wide and deep and wrong in every draft", strings.Repeat(`{"items":`, 60) + `{"properties":{` + each(9000, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + `}}` + strings.Repeat("}", 60), `[[1]]`, unread},
		{"a number that is too large", `{"minimum":1e999999999}`, `1`, unread},
		{"a number that is too small", `{"multipleOf":1e-999999999}`, `0`, unread},
		{"a number whose exponent is too long", `{"enum":[1E+99999999999999999999]}`, `0`, unread},
		{"numbers that are just not too large", `{"enum":[` + each(9000, func(i int) string { return fmt.Sprintf("%d.5e399", i) }) + `]}`, `1e399`, misfits},
		{"the largest number of an Ethereum contract", `{"maximum":115792089237316195423570985008687907853269984665640564039457584007913129639935}`, `115792089237316195423570985008687907853269984665640564039457584007913129639936`, misfits},
		{"arguments that are too large a number", `{"type":"integer","minimum":5,"multipleOf":3}`, `1e999999999`, unchecked},
		{"arguments that are too small a number", `{"type":"integer"}`, `1e-999999999`, unchecked},
		{"arguments of a million digits", `{"type":"integer","minimum":5,"multipleOf":3}`, strings.Repeat("9", 1_000_000), unchecked},
		{"unique items of too large numbers", `{"uniqueItems":true}`, "[" + each(30, func(i int) string { return fmt.Sprintf("1e99999999999999999999%d", i) }) + "]", unchecked},
		{"many unique items", `{"uniqueItems":true}`, "[" + each(20_000, func(i int) string { return fmt.Sprint(i) }) + "]", fits},
		{"many unique items, often", fmt.Sprintf(`{"allOf":[%s]}`, each(500, func(int) string { return `{"uniqueItems":true}` })), "[" + each(20_000, func(i int) string { return fmt.Sprint(i) }) + "]", unchecked},
		{"a count that wraps", `{"maxLength":18446744073709551615,"minItems":-1e30}`, `"a"`, fits},
		{"a large count", `{"maxLength":18446744073709551615}`, `"a"`, fits},
		{"a large enum for many items", `{"items":{"enum":[` + each(5000, func(i int) string { return fmt.Sprint(i) }) + `]}}`, "[" + each(50_000, func(i int) string { return fmt.Sprint(i) }) + "]", misfits},
		{"many wrong items", `{"items":{"type":"string"}}`, "[" + each(90_000, func(i int) string { return fmt.Sprint(i) }) + "]", misfits},
		{"many wrong items, twice", `{"anyOf":[{"items":{"type":"string"}},{"items":{"type":"null"}}]}`, "[" + each(90_000, func(i int) string { return fmt.Sprint(i) }) + "]", misfits},
		{"a pattern that is too large", `{"pattern":"((a{100}){100}){100}"}`, `"b"`, fits},
		{"many patterns", `{"anyOf":[` + each(3000, func(i int) string { return fmt.Sprintf(`{"pattern":"(a%d[a-z]{900})"}`, i) }) + `]}`, `"b"`, fits},
		{"a large pattern in a large text", `{"pattern":"(x+x+)+[a-z]{900}y"}`, `"` + strings.Repeat("x", 1_000_000) + `"`, unchecked},
		{"patterns for many names", `{"patternProperties":{` + each(1000, func(i int) string { return fmt.Sprintf(`"^%d":{}`, i) }) + `}}`, "{" + each(50_000, func(i int) string { return fmt.Sprintf(`"%d":1`, i) }) + "}", unchecked},
		{"unevaluated everywhere", `{"unevaluatedProperties":false,"allOf":[` + each(3000, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{}}}`, i) }) + `]}`, "{" + each(3000, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + "}", unchecked},
		{"more faults than are kept, before others", `{"items":{"items":{"type":"string"}},"allOf":[{"type":"object"}]}`, "[[" + strings.Repeat("1,", 998) + "1],[" + strings.Repeat("1,", 998) + "1]]", misfits},
		{"many faults of many names, often", `{"$defs":{"x":{"allOf":[` + each(1000, func(int) string { return `{"type":"null"}` }) + `]}},"allOf":[` +
			each(200, func(int) string { return `{"unevaluatedProperties":{"$ref":"#/$defs/x"}}` }) + `]}`, "{" + each(500, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + "}", unchecked},
		{"many numbers that are too large", `{}`, "[" + strings.Repeat("1e999,", 40_000) + "1]", unchecked},
		{"a long name above many", `{"properties":{"` + strings.Repeat("x", 500_000) + `":{"properties":{` + each(4000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}}}`, `1`, fits},
		{"a long base of many", `{"$id":"http://x/` + strings.Repeat("x", 500_000) + `/","$defs":{` + each(2000, func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"a%d"}`, i, i) }) + `}}`, `1`, unread},
		{"a long text, often", `{"allOf":[` + each(1000, func(int) string { return `{"not":{"const":{}}}` }) + `]}`, `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`, unchecked},
		{"one fault often, in long arguments", `{"allOf":[` + each(900, func(int) string { return `{"properties":{"z":{"type":"string"}}}` }) + `]}`, `{"a":"` + strings.Repeat("x", 10_000_000) + `","z":1}`, misfits},
		{"many references to describe", `{"description":"` + strings.Repeat("x", 800_000) + `","$defs":{"t":{}},"anyOf":[` + each(3, func(int) string {
			return `{"type":"object","properties":{` + each(1500, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/t"}`, i) }) + `}}`
		}) + `]}`, `1`, misfits},
		{"a letter beyond ASCII", `{"pattern":"^\\w+$"}`, `"über"`, unchecked},
		{"a space beyond ASCII", `{"pattern":"^a\\sb$"}`, `"a\u00a0b"`, unchecked},
		{"a name beyond ASCII", `{"patternProperties":{"^\\w$":{}},"additionalProperties":false}`, `{"é":1}`, unchecked},
		{"a letter beyond ASCII that any reader takes", `{"pattern":"\\S","required":["a"]}`, `"é"`, fits},
		{"a letter beyond ASCII that no reader takes", `{"pattern":"^[a-z\\\\w]+$"}`, `"é"`, misfits},
		{"patterns within schemas as arguments", `{"items":{"$ref":"http://json-schema.org/draft-07/schema#"}}`, "[" + each(2000, func(int) string { return `{"pattern":"[a-z]{900}[b-z]{900}"}` }) + "]", fits},
		{"the metaschema", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, nested("items", 100), fits},
		{"the metaschema, and no schema", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, `{"type":"strin"}`, misfits},
		{"references that depend on who asks", `{"$dynamicAnchor":"a","properties":{"c":{"$dynamicRef":"#a"}}}`, `{}`, unread},
		{"what is no JSON", `{"type":"object"}`, `{"a":`, unchecked},
		{"what is no UTF-8", `{"type":"object"}`, "{\"a\":\"\xff\"}", unchecked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spent(t, func() {
				if got := outcome(t, tt.schema, tt.arguments); got != tt.want {
					t.Errorf("it is %s, want %s", got, tt.want)
				}
			})
		})
	}
}
