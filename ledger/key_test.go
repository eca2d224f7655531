package ledger_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

func vectors(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestContentKeyVectors(t *testing.T) {
	var all []struct {
		Name   string
		Schema json.RawMessage
		Key    ledger.Key
	}
	vectors(t, "ledger-keys.json", &all)
	if len(all) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range all {
		if got := ledger.ContentKey(v.Name, v.Schema); got != v.Key {
			t.Errorf("ContentKey(%q, %s) = %s, want %s", v.Name, v.Schema, got, v.Key)
		}
	}
	if got := ledger.ContentKey("github__create_issue", nil); got != "bk_189bf8c3e054c2302eaf3bd87efd8ea7" {
		t.Errorf("no schema is not null: %s", got)
	}
}

func TestNameVectors(t *testing.T) {
	var all struct {
		ServerOf []struct{ Name, Want string } `json:"server_of"`
		Qualify  []struct{ Server, Tool, Want string }
	}
	vectors(t, "names.json", &all)
	if len(all.ServerOf) == 0 || len(all.Qualify) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range all.ServerOf {
		if got, _ := ledger.SplitName(v.Name); got != v.Want {
			t.Errorf("the server of %q is %q, want %q", v.Name, got, v.Want)
		}
	}
	for _, v := range all.Qualify {
		got := config.QualifiedName(v.Server, v.Tool)
		if server, tool := ledger.SplitName(got); got != v.Want || server != v.Server || tool != v.Tool {
			t.Errorf("QualifiedName(%q, %q) = %q, and back %q, %q", v.Server, v.Tool, got, server, tool)
		}
	}
	for name, want := range map[string]string{"__leading": "__leading", "plain": "plain", "": "", "a__b__c": "b__c"} {
		if _, got := ledger.SplitName(name); got != want {
			t.Errorf("the tool of %q is %q, want %q", name, got, want)
		}
	}
}

// The key depends on the whole name of a tool, even if the mounted name is shortened.
func TestContentKeyTellsLongNamesApart(t *testing.T) {
	long := strings.Repeat("x", 100)
	if ledger.ContentKey(config.QualifiedName("s", long+"a"), nil) == ledger.ContentKey(config.QualifiedName("s", long+"b"), nil) {
		t.Error("two names, one key")
	}
}

var contentKey = regexp.MustCompile(`^bk_[0-9a-f]{32}$`)

func TestContentKeyIsTotal(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	seen := map[ledger.Key]string{}
	for _, schema := range []string{"{", `{"a":1,"a":2}`, `{"a":1e400}`, "\"\xff\"", `"\ud800"`, deep, "nonsense", "\x00", `{"a":1}`, "1", "[]", " "} {
		for _, name := range []string{"s__t", "\xff", "\xfe", `"`, ""} {
			k := ledger.ContentKey(name, json.RawMessage(schema))
			if !contentKey.MatchString(string(k)) {
				t.Errorf("ContentKey(%q, %.20q) = %q", name, schema, k)
			}
			if other, ok := seen[k]; ok {
				t.Errorf("%.30q has the key of %.30q", name+schema, other)
			}
			seen[k] = name + schema
		}
	}
}

func FuzzContentKey(f *testing.F) {
	f.Add("s__t", []byte(`{"type":"object","properties":{"b":{},"a":{}}}`))
	f.Add("\xff", []byte(`{"a":9007199254740993,"a":1e999}`))
	f.Fuzz(func(t *testing.T, name string, schema []byte) {
		k := ledger.ContentKey(name, schema)
		if !contentKey.MatchString(string(k)) || k != ledger.ContentKey(name, schema) {
			t.Errorf("ContentKey(%q, %q) = %q", name, schema, k)
		}
	})
}

func TestNewKeysSort(t *testing.T) {
	var last ledger.Key
	for range 10_000 {
		k := ledger.NewKey()
		if len(k) != 26 || k <= last {
			t.Fatalf("%q follows %q", k, last)
		}
		last = k
	}
	var mu sync.Mutex
	var all []ledger.Key
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				k := ledger.NewKey()
				mu.Lock()
				all = append(all, k)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	if len(slices.Compact(all)) != 8000 {
		t.Error("a key was given twice")
	}
}
