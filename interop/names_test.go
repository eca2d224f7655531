package interop_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/indusagi/indus/interop/config"
)

var grammar = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

func TestQualifiedNameVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Qualify []struct{ Server, Tool, Want string }
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Qualify) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range vectors.Qualify {
		if got := config.QualifiedName(v.Server, v.Tool); got != v.Want {
			t.Errorf("QualifiedName(%q, %q) = %q, want %q", v.Server, v.Tool, got, v.Want)
		}
	}
}

func TestQualifiedNameTakesAHashWhereTheNameDoesNotFit(t *testing.T) {
	long := "a-very-long-tool-name-that-goes-on-and-on-until-no-provider-takes-it"
	for _, c := range []struct{ server, tool, want string }{
		{"fs", "read_file", "fs__read_file"},
		{"fs", "_private", "fs___private"},
		{"a", "b__c", "a__b__c"},
		{"a__b", "c", "a__b__c_a92700ce"},
		{"a_", "b", "a___b_a00766a3"},
		{"9lives", "x", "s9lives__x_f796b28e"},
		{"", "x", "s__x_3c7e9bc9"},
		{"fs", "", "fs___e4f425e1"},
		{"fs", "lire un fichier", "fs__lire_un_fichier_5afac9ad"},
		{"fs", "日本", "fs_____e4f708aa"},
		{"fs", long, "fs__a-very-long-tool-name-that-goes-on-and-on-until-no-_74666270"},
	} {
		got := config.QualifiedName(c.server, c.tool)
		if got != c.want {
			t.Errorf("QualifiedName(%q, %q) = %q, want %q", c.server, c.tool, got, c.want)
		}
		if !grammar.MatchString(got) {
			t.Errorf("QualifiedName(%q, %q) = %q: not in the grammar", c.server, c.tool, got)
		}
		if s := (config.Server{ID: c.server}); !s.MayOwn(got) {
			t.Errorf("server %q disowns %q", c.server, got)
		}
	}
}

// For every pair the name is legal, and no two pairs share a name without a hash.
func FuzzQualifiedName(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Add("a_", "b", "a", "_b")
	f.Add("fs", "x", "fs", "x\x00")
	f.Add("", "", "\xff", "")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		a, b := config.QualifiedName(s1, t1), config.QualifiedName(s2, t2)
		for _, name := range []string{a, b} {
			if !grammar.MatchString(name) {
				t.Fatalf("%q is not in the grammar", name)
			}
		}
		if a != config.QualifiedName(s1, t1) {
			t.Fatal("not a function")
		}
		if a == b && (s1 != s2 || t1 != t2) {
			t.Fatalf("(%q, %q) and (%q, %q) are both %q", s1, t1, s2, t2, a)
		}
		if !(config.Server{ID: s1}).MayOwn(a) {
			t.Fatalf("%q disowns %q", s1, a)
		}
	})
}
