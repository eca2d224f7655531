package schema_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

func FuzzCheck(f *testing.F) {
	n := len(schema.Profiles())
	for i, seed := range hostile() {
		f.Add(seed, i%n)
	}
	for _, group := range checks {
		for _, c := range group.cases {
			if len(c.raw) < 5_000 {
				f.Add([]byte(c.raw), slices.Index(schema.Profiles(), group.profile))
			}
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, which int) {
		p := schema.Profiles()[uint(which)%uint(n)]
		before := bytes.Clone(input)
		findings := schema.Check(input, p)
		if !bytes.Equal(before, input) {
			t.Fatal("the input was changed")
		}
		if again := schema.Check(input, p); !reflect.DeepEqual(findings, again) {
			t.Fatalf("not deterministic:\n%v\n%v", findings, again)
		}
		if len(findings) > 1_000 {
			t.Fatalf("%d findings", len(findings))
		}
		value := numbered(input)
		for _, one := range findings {
			checkFinding(t, value, p, one)
		}
	})
}

// checkFinding checks that a finding has a source and a message of one line, and that its path leads to a value.
func checkFinding(t *testing.T, value any, p *schema.Profile, f rule.Finding) {
	t.Helper()
	if f.Rule == rule.JSON || f.Rule == rule.Size {
		return
	}
	if s := p.Rules().Sources[f.Rule]; f.Source != s.At || f.Class != s.Class || f.Date != s.Date || f.Source == "" {
		t.Errorf("%s: %+v has another source than its rule", p.Name(), f)
	}
	if f.Message == "" || strings.ContainsAny(f.Message, "\n\r\x00") {
		t.Errorf("%s: %q is not one line", p.Name(), f.Message)
	}
	if f.Ignored && !p.Rules().Ignores {
		t.Errorf("%s: %+v is ignored", p.Name(), f)
	}
	if !resolves(f.Path, value) {
		t.Errorf("%s: %q leads nowhere", p.Name(), f.Path)
	}
}

// numbered decodes JSON without changing its numbers. It returns nil if the input is not JSON.
func numbered(input []byte) any {
	var value any
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// resolves reports whether a JSON Pointer leads to a value.
func resolves(pointer string, value any) bool {
	if pointer == "" {
		return true
	}
	step, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		return ok && resolves(rest, next)
	case []any:
		for i, e := range v {
			if digits(i) == step {
				return resolves(rest, e)
			}
		}
	}
	return false
}
