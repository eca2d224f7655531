package schema_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

// The corpus is in testdata/corpus. Its README describes it.

type specimen struct {
	name   string // of its file
	schema json.RawMessage
}

// corpus returns every schema of the corpus: breakers, tools of real servers, and results of generators.
func corpus(t testing.TB) []specimen {
	t.Helper()
	var out []specimen
	for _, b := range breakers(t) {
		out = append(out, specimen{"breakers/" + b.name, b.tool.InputSchema})
	}
	for _, file := range files(t, "servers/*.json") {
		for _, tool := range serverTools(t, file) {
			out = append(out, specimen{filepath.Base(file) + "/" + tool.Name, tool.InputSchema})
		}
	}
	for _, file := range files(t, "pydantic/*.json") {
		out = append(out, specimen{"pydantic/" + stem(file), read(t, file)})
	}
	for _, file := range files(t, "generators/*.txtar") {
		for _, f := range txtar.Parse(read(t, file)).Files {
			out = append(out, specimen{stem(file) + "/" + stem(f.Name), f.Data})
		}
	}
	return out
}

// breaker is a tool that some providers refuse, with the expected refusals.
type breaker struct {
	name    string
	tool    listedTool
	count   int // number of such tools in one list
	refused []refusal

	quarantined []string // profiles that cannot express the tool
}

// listedTool is a tool as a server lists it.
type listedTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// refusal is one line of a breaker: a profile, the possible rules of a finding, and a path. The finding is at or below
// the path. If follows is set, the refusal results from another one and may be missing from the findings.
type refusal struct {
	profile string
	rules   []string
	path    string
	follows bool
}

func (r refusal) is(f rule.Finding) bool {
	broken := f.Rule
	switch broken { // breakers do not distinguish refused from unlisted keywords, nor the root from schemas inside
	case rule.Unlisted:
		broken = rule.Keyword
	case rule.Objects:
		broken = rule.Properties
	}
	return slices.Contains(r.rules, string(broken)) && within(f.Path, r.path)
}

func breakers(t testing.TB) []breaker {
	t.Helper()
	var out []breaker
	for _, file := range files(t, "breakers/*.txtar") {
		b := breaker{name: stem(file), count: 1}
		for _, f := range txtar.Parse(read(t, file)).Files {
			switch f.Name {
			case "tool.json":
				if err := json.Unmarshal(f.Data, &b.tool); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			case "count":
				b.count, _ = strconv.Atoi(strings.TrimSpace(string(f.Data)))
			case "refused":
				b.refused = refusals(t, file, string(f.Data))
			case "quarantined":
				b.quarantined = strings.Fields(string(f.Data))
			}
		}
		out = append(out, b)
	}
	return out
}

// refusals parses lines of "profile,profile rule|rule path". A question mark marks a refusal that results from another
// one.
func refusals(t testing.TB, file, lines string) []refusal {
	t.Helper()
	var out []refusal
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		fields := append(strings.SplitN(line, " ", 3), "")
		if len(fields) < 3 {
			t.Fatalf("%s: %q is not profile, rule and path", file, line)
		}
		names, follows := strings.CutPrefix(fields[0], "?")
		for _, profile := range strings.Split(names, ",") {
			if schema.ProfileNamed(profile) == nil {
				t.Fatalf("%s: there is no profile %q", file, profile)
			}
			out = append(out, refusal{profile, strings.Split(fields[1], "|"), fields[2], follows})
		}
	}
	return out
}

// TestBreakersAreRefused compares Check with observed refusals. Each breaker is refused by exactly the listed profiles,
// for exactly the listed reasons.
func TestBreakersAreRefused(t *testing.T) {
	for _, b := range breakers(t) {
		for _, p := range shaped() {
			var want []refusal
			for _, r := range b.refused {
				if r.profile == p.Name() {
					want = append(want, r)
				}
			}
			got := refusing(b, p)
			for _, r := range want {
				if !r.follows && !slices.ContainsFunc(got, r.is) {
					t.Errorf("%s: %s does not refuse %s at %q", b.name, r.profile, r.rules, r.path)
				}
			}
			if want == nil && slices.Contains(added, p) {
				continue
			}
			for _, f := range got {
				if !slices.ContainsFunc(want, func(r refusal) bool { return r.is(f) }) {
					t.Errorf("%s: %s refuses %s at %q, which is not listed: %s", b.name, p.Name(), f.Rule, f.Path, f.Message)
				}
			}
		}
	}
}

// added lists profiles for which the breakers list some refusals, but not all.
var added = []*schema.Profile{schema.BedrockStrict, schema.DeepSeek, schema.XAI, schema.Groq, schema.CerebrasStrict, schema.LlamaCpp}

// refusing returns the findings for which a request is refused: the findings of Check that are not ignored, and the
// faults of the tool.
func refusing(b breaker, p *schema.Profile) []rule.Finding {
	found := slices.DeleteFunc(schema.Check(b.tool.InputSchema, p), func(f rule.Finding) bool { return f.Ignored })
	around := p.Rules().Tool
	if !matches(around.Name, b.tool.Name) {
		found = append(found, rule.Finding{Rule: rule.Name})
	}
	n := utf8.RuneCountInString(b.tool.Description)
	if n < around.MinDescription || around.MaxDescription > 0 && n > around.MaxDescription {
		found = append(found, rule.Finding{Rule: rule.Description})
	}
	if around.MaxTools > 0 && b.count > around.MaxTools {
		found = append(found, rule.Finding{Rule: rule.Count})
	}
	return found
}

// matches reports whether a name matches a grammar, by means of a regular expression.
func matches(g rule.Grammar, name string) bool {
	if g == (rule.Grammar{}) {
		return true
	}
	re := regexp.MustCompile("^[" + g.First + "][" + g.Rest + "]{0," + strconv.Itoa(cmp.Or(g.Max, 1000)-1) + "}$")
	return re.MatchString(name)
}

// TestEveryBreakerIsMended checks that every profile accepts each breaker after Adapt. The exceptions are the profiles
// listed as unable to express it.
func TestEveryBreakerIsMended(t *testing.T) {
	for _, b := range breakers(t) {
		for _, p := range shaped() {
			a, err := schema.Adapt(b.tool.InputSchema, p)
			if listed := slices.Contains(b.quarantined, p.Name()); listed != (err != nil) {
				t.Errorf("%s: %s: error %v, listed as quarantined: %v", b.name, p.Name(), err, listed)
			}
			if err != nil {
				continue
			}
			for _, f := range schema.Check(a.Schema, p) {
				t.Errorf("%s: %s refuses %s at %q of %s: %s", b.name, p.Name(), f.Rule, f.Path, a.Schema, f.Message)
			}
		}
	}
}

// TestTheWholeCorpusIsMended checks the same for the tools of real servers and for the results of generators. Only
// strict profiles quarantine some of them, because of their bounds.
func TestTheWholeCorpusIsMended(t *testing.T) {
	for _, s := range corpus(t) {
		for _, p := range shaped() {
			_, err := schema.Adapt(s.schema, p)
			if err != nil && p != schema.AnthropicStrict && p != schema.BedrockStrict && p != schema.OpenAIStrict {
				t.Errorf("%s: %s: %v", s.name, p.Name(), err)
			}
		}
	}
}

// serverTools reads the tools of a file in servers.
func serverTools(t testing.TB, file string) []listedTool {
	t.Helper()
	var tools []listedTool
	if err := json.Unmarshal(read(t, file), &tools); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return tools
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "corpus", filepath.FromSlash(pattern)))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in testdata/corpus: %v", pattern, err)
	}
	return found
}

func stem(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
