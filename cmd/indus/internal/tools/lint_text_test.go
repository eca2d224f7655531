package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/tools"
)

const nothing = `"findings":[],"changes":[],"refused":[]`

func TestALintSaysOnceWhatManyToolsHave(t *testing.T) {
	var tools []string
	for i := range 6 {
		also := ""
		if i == 1 {
			also = `,{"path":"/properties/a","rule":"format","did":"dropped format","lost":"format \"uri\""}`
		}
		if i == 2 || i == 3 {
			also = `,{"path":"","rule":"keyword","did":"took anyOf out","lost":"a | b","narrowed":"null"}`
		}
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","server":"s","findings":[],"refused":[],"changes":[
			{"path":"","rule":"closed","did":"dropped additionalProperties","lost":"additionalProperties false"}%s]}`, i, also))
	}
	tools = append(tools, `{"name":"fine","server":"s",`+nothing+`}`, `{"name":"fine","server":"other",`+nothing+`}`)
	prints(t, tools, false, `
s  7 tools
  t0, t1, t2, t3 and 2 more tools
      root: lost additionalProperties false
  t1
      /properties/a: lost format "uri"
  t2
      root: took anyOf out; lost: a | b; narrowed: null
  t3
      root: took anyOf out; lost: a | b; narrowed: null
`)
}

func TestALintSaysWhatIsLeftUnfit(t *testing.T) {
	prints(t, []string{
		`{"name":"a","server":"s","findings":[],"changes":[],"refused":[{"provider":"universal","path":"/type","rule":"type","message":"no \u001b[31m type; it must have one"}]}`,
		`{"name":"b","server":"s","quarantined":"too\ndeep",` + nothing + `}`,
		`{"name":"","server":"s","quarantined":"the row is no object: 42",` + nothing + `}`,
	}, false, `
s  3 tools
  a
      /type: refused even so: no [31m type; it must have one
  b
      quarantined: too deep
  (a row without a name)
      quarantined: the row is no object: 42
`)
}

func TestALintPutsProvidersOfOneMindTogether(t *testing.T) {
	prints(t, []string{`{"name":"a","server":"s","changes":[],"refused":[],"findings":[
		{"provider":"x","path":"/a","rule":"keyword","message":"a cannot stand there; accepted are b"},
		{"provider":"x","path":"/c","rule":"keyword","message":"a cannot stand there; accepted are b"},
		{"provider":"y","path":"/a","rule":"keyword","message":"a cannot stand there; accepted are b and c"},
		{"provider":"y","path":"/d","rule":"enum","message":"enum is empty; it must have a value"},
		{"provider":"z","path":"/a","rule":"keyword","message":"a is dropped there","ignored":true},
		{"provider":"z","path":"/e","rule":"keyword","message":"e is dropped there","ignored":true}
	]}`}, true, `
s  1 tool
  a
      /a: a cannot stand there (x, y; z drops it)
      /c: a cannot stand there; accepted are b (x)
      /d: enum is empty; it must have a value (y)
`)
}

func TestALintOfMuchIsBounded(t *testing.T) {
	var places, texts []string
	for i := range 30 {
		places = append(places,
			fmt.Sprintf(`{"path":"/p%d","rule":"format","did":"dropped format","lost":"format \"a\""}`, i))
		texts = append(texts, fmt.Sprintf(`{"path":"","rule":"enum","did":"dropped enum %d","lost":"it"}`, i))
	}
	var want strings.Builder
	for i := range 19 {
		fmt.Fprintf(&want, "      root: dropped enum %d; lost: it\n", i)
	}
	prints(t,
		[]string{`{"name":"a","server":"s","findings":[],"refused":[],"changes":[` + strings.Join(append(places, texts...),
			",") + `]}`}, false, `
s  1 tool
  a
      /p0, /p1, /p2, /p3 and 26 more places: lost format "a"
`+want.String()+`      and 11 more; --json has them all
`)
}

func prints(t *testing.T, reports []string, asked bool, want string) {
	t.Helper()
	got, err := tools.Remarks("["+strings.Join(reports, ",")+"]", asked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
