package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
)

func TestDescribe(t *testing.T) {
	long := strings.Repeat("word ", 2100)
	for _, tt := range []struct{ in, want, did string }{
		{"", "", ""},
		{"Reads a file.\n\tSlowly – as it's big.", "Reads a file.\n\tSlowly – as it's big.", ""},
		{"a\r\nb\x00\x1b[31mc\x7f\u0085", "a\nb[31mc", "took out 5 control characters"},
		{"one\x07", "one", "took out 1 control character"},
		{"\u202ereads\u2069 \u200fa\u061c file", "reads a file", "took out 4 direction marks"},
		{"a\xffb", "a\uFFFDb", "replaced bytes that are not UTF-8"},
		{"add\U000E0069\U000E0067 two\u200b, می\u200cخواهم 👩\u200d💻", "add two, می\u200cخواهم 👩\u200d💻", "took out 3 invisible characters"},
		{strings.Repeat("ä", 10_000), strings.Repeat("ä", 10_000), ""},
		{strings.Repeat("ä", 10_001), strings.Repeat("ä", 9_999) + "…", "cut to 10000 characters"},
		{long, long[:9_999] + "…", "cut to 10000 characters"},
		{"a" + long, "a" + long[:9_994] + "…", "cut to 10000 characters"},
		{long[:9_990] + "in\twords that are", long[:9_990] + "in\twords…", "cut to 10000 characters"},
	} {
		got, changes := schema.Describe(tt.in, schema.Flat)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.40q: %s", tt.in, diff)
		}
		if len(changes) > 1 || (tt.did == "") != (changes == nil) || changes != nil && (changes[0].Did != tt.did || changes[0].Rule != rule.Description) {
			t.Errorf("%.40q: %v, want %q", tt.in, changes, tt.did)
		}
	}
}

func TestDescribeLeavesAsItIsWhereNothingIsAsked(t *testing.T) {
	dirty := "\x1b\u202e" + strings.Repeat("x", 20_000)
	for _, p := range []*schema.Profile{nil, schema.Original, schema.Seed} {
		if got, changes := schema.Describe(dirty, p); got != dirty || changes != nil {
			t.Errorf("%s changed it: %v", p.Name(), changes)
		}
	}
}

// A note is appended once, takes at most half of the room, and the description is cut to make room for it.
func TestDescribeWithANote(t *testing.T) {
	a := &schema.Adapted{Note: "one of url, path is required"}
	for _, tt := range []struct{ in, want string }{
		{"", a.Note},
		{"Reads.", "Reads.\n\n" + a.Note},
		{"Reads.\n\n" + a.Note, "Reads.\n\n" + a.Note},
		{a.Note, a.Note},
		{strings.Repeat("ä", 10_000), strings.Repeat("ä", 10_000-len(a.Note)-3) + "…\n\n" + a.Note},
	} {
		if got, _ := a.Describe(tt.in, schema.Flat); got != tt.want {
			t.Errorf("%.40q became %q, want %q", tt.in, got, tt.want)
		}
	}
	huge := &schema.Adapted{Note: strings.Repeat("x", 20_000)}
	if got, _ := huge.Describe("Reads.", schema.Flat); utf8.RuneCountInString(got) > 10_000 || !strings.HasPrefix(got, "Reads.\n\nxxx") {
		t.Errorf("a note that is too long displaces the description: %d bytes", len(got))
	}
}

// FuzzDescribe checks that describing a result again changes nothing, and that CheckTool and CheckHidden find no fault.
func FuzzDescribe(f *testing.F) {
	f.Add("Reads a file.", "")
	f.Add("\u202e\x1b\xff"+strings.Repeat("wörd ", 400), "a note")
	f.Add(strings.Repeat("x", 10_100), strings.Repeat("y ", 600))
	f.Fuzz(func(t *testing.T, description, note string) {
		a := &schema.Adapted{Note: note}
		for _, p := range schema.Profiles() {
			once, changes := a.Describe(description, p)
			for _, found := range schema.CheckTool("name", once, p) {
				if once != "" && note == "" {
					t.Fatalf("%s: %q: %s", p.Name(), once, found.Message)
				}
			}
			if found := schema.CheckHidden(once, nil); found != nil && changes != nil {
				t.Fatalf("%s: %q: %s", p.Name(), once, found[0].Message)
			}
			if (changes == nil) != (once == description) && note == "" {
				t.Fatalf("%s: %q became %q with %v", p.Name(), description, once, changes)
			}
			if limit := p.Rules().Tool.MaxDescription; limit > 0 && utf8.RuneCountInString(once) > limit {
				t.Fatalf("%s: %d characters", p.Name(), utf8.RuneCountInString(once))
			}
			if twice, again := a.Describe(once, p); twice != once || note == "" && again != nil {
				t.Fatalf("%s: %q became %q: %v", p.Name(), once, twice, again)
			}
		}
	})
}

// TestLongDescriptionsStayWhole checks that long descriptions are not cut. OpenAI's bound of 1,024 characters no longer
// exists, and the text after it often describes the workflow.
func TestLongDescriptionsStayWhole(t *testing.T) {
	long := strings.Repeat("First search, then read. ", 300)
	for _, p := range []*schema.Profile{schema.Universal, schema.Flat, schema.OpenAI, schema.OpenAIStrict} {
		if got, changes := schema.Describe(long, p); got != long || changes != nil {
			t.Errorf("%s: %d characters are %d, %v", p.Name(), len(long), len(got), changes)
		}
	}
}

func ExampleDescribe() {
	text, changes := schema.Describe("Reads a file.\x1b[2J", schema.Universal)
	fmt.Printf("%q, %s\n", text, changes[0].Did)
	// Output: "Reads a file.[2J", took out 1 control character
}
