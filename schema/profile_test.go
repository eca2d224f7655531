package schema_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

func TestProfile(t *testing.T) {
	const raw = ` {"type":"string", "default":1} `
	tests := []struct {
		profile    *schema.Profile
		name, want string
	}{
		{nil, "original", raw},
		{schema.Original, "original", raw},
		{schema.Seed, "seed", `{"type":"string"}`},
	}
	for _, c := range tests {
		if got := c.profile.Name(); got != c.name {
			t.Errorf("name %q, want %q", got, c.name)
		}
		if a, err := schema.Adapt(json.RawMessage(raw), c.profile); err != nil || string(a.Schema) != c.want {
			t.Errorf("%s: %v, %v; want %s", c.name, a, err, c.want)
		}
	}
}

func TestOriginalKeepsWhatIsNoSchema(t *testing.T) {
	for _, raw := range []json.RawMessage{nil, {}, json.RawMessage("{")} {
		a, err := schema.Adapt(raw, schema.Original)
		if err != nil || string(a.Schema) != string(raw) || (a.Schema == nil) != (raw == nil) {
			t.Errorf("%q became %v, %v", raw, a, err)
		}
	}
}

func TestProfilesAreFoundByName(t *testing.T) {
	for _, p := range schema.Profiles() {
		if schema.ProfileNamed(p.Name()) != p || p.About() == "" {
			t.Errorf("%q: %q", p.Name(), p.About())
		}
	}
	if p := schema.ProfileNamed("nobody"); p != nil {
		t.Errorf("%v", p.Name())
	}
}

// setRules returns the rules that a profile sets, without the rules for JSON and size, which apply to all profiles.
func setRules(p *schema.Profile) []rule.Rule {
	var all []rule.Rule
	for _, r := range rule.All() {
		if p.Rules().Accepts(r) != "" {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	return all
}

// lastReview is a month. A refusal that was last seen before it no longer counts as certain.
const lastReview = "2025-11"

// Every rule that a profile sets has a source, and there is no source without a rule.
func TestRulesHaveSources(t *testing.T) {
	source := regexp.MustCompile(`^(https://[a-z.-]+/[\w./#-]+|[\w.-]+/[\w.-]+#[0-9]+)$`)
	for _, p := range withRules() {
		var sourced []rule.Rule
		for r, s := range p.Rules().Sources {
			if s.Class == rule.Seen && s.Date != "" && s.Date < lastReview {
				t.Errorf("%s: %s was last seen in %s: name a newer thread, or make it conservative", p.Name(), r, s.Date)
			}
			if r != rule.JSON {
				sourced = append(sourced, r)
			}
			if !source.MatchString(s.At) || s.Class == "" || s.Date != "" && s.Class == rule.Documented {
				t.Errorf("%s: the source of %s is neither a URL nor a thread, or has no class: %+v", p.Name(), r, s)
			}
		}
		slices.Sort(sourced)
		if diff := cmp.Diff(setRules(p), sourced); diff != "" {
			t.Errorf("%s: -set +sourced:\n%s", p.Name(), diff)
		}
	}
	for _, p := range []*schema.Profile{schema.Original, schema.Seed} {
		if rules := p.Rules(); !reflect.ValueOf(rules).IsZero() {
			t.Errorf("%s has rules: %+v", p.Name(), rules)
		}
	}
}

// withRules returns all profiles except Original and Seed.
func withRules() []*schema.Profile {
	return slices.DeleteFunc(schema.Profiles(), func(p *schema.Profile) bool { return p == schema.Original || p == schema.Seed })
}

// Each provider accepts every schema that Universal and Flat accept.
func TestIntersections(t *testing.T) {
	providers := []*schema.Profile{
		schema.Anthropic, schema.OpenAI, schema.Gemini, schema.GeminiJSONSchema, schema.Bedrock, schema.Mistral, schema.Moonshot,
		schema.Ollama, schema.DeepSeek, schema.XAI, schema.Groq, schema.LlamaCpp,
	}
	for _, provider := range providers {
		isWithin(t, schema.Universal, provider)
	}
	for _, provider := range append(providers, schema.BedrockNova, schema.Universal) {
		isWithin(t, schema.Flat, provider)
	}
}

// isWithin reports differences in which narrow accepts more than wide.
func isWithin(t *testing.T, narrow, wide *schema.Profile) {
	t.Helper()
	n, w := narrow.Rules(), wide.Rules()
	fault := func(format string, args ...any) {
		t.Errorf("%s is not within %s: "+format, append([]any{narrow.Name(), wide.Name()}, args...)...)
	}
	keywordsWithin(n.Root.Only, w.Root, func(k string) { fault("%s at the root", k) })
	keywordsWithin(n.Nested.Only, w.Nested, func(k string) { fault("%s inside", k) })
	if w.Types != nil && !isSubset(n.Types, w.Types) {
		fault("types %v", n.Types)
	}
	if w.Enum != nil && !isSubset(n.Enum, w.Enum) {
		fault("values %v in enum", n.Enum)
	}
	for _, name := range demanded(w) {
		if !slices.Contains(demanded(n), name) {
			fault("%s is not demanded", name)
		}
	}
	for _, key := range w.NotKeys {
		if !slices.Contains(n.NotKeys, key) && follows(key, n.Key) {
			fault("a property %q", key)
		}
	}
	for _, wideKey := range []rule.Grammar{w.Key, w.RootKey} {
		grammarWithin(n.Key, wideKey, func(what string) { fault("properties: %s", what) })
	}
	grammarWithin(n.Tool.Name, w.Tool.Name, func(what string) { fault("names: %s", what) })
	limitsWithin(n.Limits, w.Limits, func(what string) { fault("limits: %s", what) })
	if n.Tool.MinDescription < w.Tool.MinDescription || exceeds(n.Tool.MaxDescription, w.Tool.MaxDescription) {
		fault("descriptions")
	}
	if exceeds(n.Tool.MaxTools, w.Tool.MaxTools) {
		fault("%d tools", n.Tool.MaxTools)
	}
	if n.Nested.Takes("$ref") || n.Nested.Takes("format") || n.Nested.Takes("pattern") || len(w.Bounds) > 0 && n.Nested.Takes("minItems") {
		fault("this test says nothing of references, formats, patterns and bounds")
	}
}

// demanded returns the names of the boolean rules that are set, and whether booleans are refused as schemas.
func demanded(r rule.Set) []string {
	var names []string
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Type.Kind() == reflect.Bool && field.Name != "Ignores" && field.Name != "RootListed" && v.Field(i).Bool() != (field.Name == "Booleans") {
			names = append(names, field.Name)
		}
	}
	if !r.Nested.Takes("$ref") { // no rules apply to references then
		names = append(names, "RefAlone", "RefDefs", "NoRecursion")
	}
	if r.RequiredDeclared { // no name can be declared without properties
		names = append(names, "RequiredBeside")
	}
	if !r.Nested.Takes("pattern") {
		names = append(names, "PlainPattern", "RustPattern", "AnchoredPattern")
	}
	return names
}

func keywordsWithin(narrow []string, wide rule.Keywords, fault func(string)) {
	if len(narrow) == 0 {
		fault("any keyword")
	}
	for _, k := range narrow {
		if !wide.Takes(k) {
			fault(k)
		}
	}
}

func isSubset(narrow, wide []string) bool {
	return len(narrow) > 0 && !slices.ContainsFunc(narrow, func(s string) bool { return !slices.Contains(wide, s) })
}

// exceeds reports whether narrow is a wider bound than wide. 0 means no bound.
func exceeds(narrow, wide int) bool { return wide > 0 && (narrow == 0 || narrow > wide) }

func grammarWithin(narrow, wide rule.Grammar, fault func(string)) {
	if wide == (rule.Grammar{}) {
		return
	}
	if exceeds(narrow.Max, wide.Max) {
		fault("too long")
	}
	for c := range rune(128) {
		if follows(string(c), narrow) && !follows(string(c), wide) {
			fault("begins with " + string(c))
		}
		if first := narrow.First[:1]; follows(first+string(c), narrow) && !follows(first+string(c), wide) {
			fault("has " + string(c))
		}
	}
}

// follows reports whether a name follows a grammar, by means of a regular expression.
func follows(name string, g rule.Grammar) bool {
	if g == (rule.Grammar{}) {
		return true
	}
	class := func(c string) string { return "[" + strings.ReplaceAll(c, "-]", `\-]`) + "]" }
	return len(name) <= g.Max && regexp.MustCompile(`^`+class(g.First)+class(g.Rest)+`*$`).MatchString(name)
}

func limitsWithin(narrow, wide rule.Limits, fault func(string)) {
	n, w := reflect.ValueOf(narrow), reflect.ValueOf(wide)
	for i := range n.NumField() {
		if name := n.Type().Field(i).Name; name == "Repeats" || name == "Items" || name == "Together" || name == "Request" {
			continue // narrow accepts no such keyword, or the limit counts over a whole request
		}
		if exceeds(int(n.Field(i).Int()), int(w.Field(i).Int())) {
			fault(n.Type().Field(i).Name)
		}
	}
}

// Check accepts exactly the names that follow the grammar.
func TestGrammars(t *testing.T) {
	for _, p := range withRules() {
		g := p.Rules().Tool.Name
		for c := range rune(200) {
			for _, name := range []string{string(c), "a" + string(c), strings.Repeat("a", int(c))} {
				fault := slices.ContainsFunc(schema.CheckTool(name, "x", p), func(f rule.Finding) bool { return f.Rule == rule.Name })
				if want := follows(name, g); fault == want {
					t.Errorf("%s: of %q Check finds a fault: %v", p.Name(), name, fault)
				}
			}
		}
	}
}
