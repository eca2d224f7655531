package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/rank"
)

func Example() {
	documents := []rank.Document{
		{Name: "fs__read_file", Description: "Read a file as text.", Parameters: []string{"path"}},
		{Name: "git__log", Description: "The history of a branch.", Parameters: []string{"branch"}},
	}
	index := rank.New(documents)
	for _, hit := range index.Search("show the contents of a file", 5, nil) {
		fmt.Println(documents[hit.Document].Name)
	}
	// Output:
	// fs__read_file
}

// some are documents for what one line of a test is about.
var some = []rank.Document{
	{Name: "fs__readFile", Description: "Gives the text of a file.", Parameters: []string{"path", "maxBytes"}},
	{Name: "fs__read", Description: "Reads anything."},
	{Name: "web/HTTPRequest", Description: "Sends a request to a server. The answer of the server is limited to one megabyte."},
	{Name: "crypto__sha256", Description: "The checksum of a file."},
	{Name: "db__delete_row", Description: "Deletes rows from a table."},
	{Name: "übersetzen", Description: "Übersetzt einen Text."},
	{Name: "search_zh", Description: "在网页上搜索新闻"},
	{Name: "alpha__ping", Description: "Checks a connection."},
	{Name: "beta__ping", Description: "Checks a connection."},
	{Name: "find", Description: "Find a file, e.g. by its name. Files are on the disk."},
}

func TestSearch(t *testing.T) {
	index := rank.New(some)
	for _, tt := range []struct{ about, query, want string }{
		{"a name is its parts", "file read", "fs__readFile"},
		{"a name is its whole", "readfile", "fs__readFile"},
		{"however it is written", "Read-File", "fs__readFile"},
		{"with its group", "fs read file", "fs__readFile"},
		{"an exact name goes first", "read", "fs__read"},
		{"and one with its group", "FS.READ", "fs__read"},
		{"capitals part words", "http", "web/HTTPRequest"},
		{"digits part words", "sha", "crypto__sha256"},
		{"and belong to them", "sha256", "crypto__sha256"},
		{"endings do not count", "deleting", "db__delete_row"},
		{"a beginning is enough", "checks", "alpha__ping"},
		{"a beginning is enough, of a word nobody has", "megab", "web/HTTPRequest"},
		{"a slip is forgiven", "cheksum", "crypto__sha256"},
		{"two in a long word", "cehcksmu", "crypto__sha256"},
		{"a word for another", "erase", "db__delete_row"},
		{"letters of other alphabets", "ÜBERSETZEN", "übersetzen"},
		{"writing without spaces", "新闻", "search_zh"},
		{"of equals the earlier", "ping", "alpha__ping"},
		{"a parameter", "max bytes", "fs__readFile"},
		{"filler alone is looked for all the same", "on", "find"},
		{"filler does not count beside others", "what is the a an of table", "db__delete_row"},
		{"nothing", "", ""},
		{"punctuation", "?!…—\x00\u2028", ""},
		{"nothing that anybody has", "qqqqqq", ""},
		{"bytes that are no text", "\xff\xfe checksum \x80", "crypto__sha256"},
	} {
		got := ""
		if hits := index.Search(tt.query, 3, nil); len(hits) > 0 {
			got = some[hits[0].Document].Name
		}
		if got != tt.want {
			t.Errorf("%s: %q finds %q, not %q", tt.about, tt.query, got, tt.want)
		}
	}
}

func TestOnlyWhatIsKeptIsFound(t *testing.T) {
	index := rank.New(some)
	all := names(some, index.Search("file", 10, nil))
	kept := names(some, index.Search("file", 10, func(i int) bool { return some[i].Name != all[0] }))
	if diff := cmp.Diff(all[1:], kept); diff != "" {
		t.Errorf("without the first: -want +got:\n%s", diff)
	}
	if hits := index.Search("fs read", 5, func(int) bool { return false }); hits != nil {
		t.Errorf("found %v of nothing", hits)
	}
}

func TestLimit(t *testing.T) {
	documents := tools(t)
	index := rank.New(documents)
	all := index.Search("page of a browser", len(documents), nil)
	if !slices.IsSortedFunc(all, func(a, b rank.Hit) int {
		if a.Score != b.Score {
			return int(1e6 * (b.Score - a.Score))
		}
		return a.Document - b.Document
	}) {
		t.Error("not in order")
	}
	for limit := -1; limit < 100; limit++ {
		got := index.Search("page of a browser", limit, nil)
		if diff := cmp.Diff(all[:max(0, min(limit, len(all)))], append([]rank.Hit{}, got...)); diff != "" {
			t.Fatalf("limit %d: -want +got:\n%s", limit, diff)
		}
	}
}

func TestAnEmptyIndexFindsNothing(t *testing.T) {
	for _, documents := range [][]rank.Document{nil, {{}}, {{Name: "__"}, {Description: "..."}}} {
		if hits := rank.New(documents).Search("a file", 5, nil); hits != nil {
			t.Errorf("%v: %v", documents, hits)
		}
	}
}

// Queries that are made to cost much are answered as soon as others: what they cost is
// bounded by what of them is read.
func TestHostileQueries(t *testing.T) {
	documents := tools(t)
	index := rank.New(documents)
	for _, query := range []string{
		strings.Repeat("a", 1<<20),
		strings.Repeat("file ", 1<<18),
		strings.Repeat("aB", 1<<19),
		strings.Repeat("1a", 1<<19),
		strings.Repeat("_", 1<<20),
		strings.Repeat("\xff", 1<<20),
		strings.Repeat("é", 1<<19),
		strings.Repeat("İ", 1<<19),
		strings.Repeat("𝒜", 1<<18),
		strings.Repeat("the ", 1<<18),
		strings.Repeat("字", 1<<18),
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if hits := index.Search(query, 5, nil); len(hits) > 5 {
				t.Errorf("%.10q…: %d hits", query, len(hits))
			}
		})
		if allocated > 5000 {
			t.Errorf("%.10q…: %.0f allocations", query, allocated)
		}
	}
}

func TestSearchesDoNotDisturbOneAnother(t *testing.T) {
	index := rank.New(tools(t))
	queries := lines(t, "testdata/questions.txt")
	want := make([][]rank.Hit, len(queries))
	for i, q := range queries {
		want[i] = index.Search(q, 5, nil)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i, q := range queries {
				if got := index.Search(q, 5, nil); !slices.Equal(got, want[i]) {
					t.Errorf("%s: %v, and then %v", q, want[i], got)
				}
			}
		})
	}
	all.Wait()
}

// FuzzSearch: whatever is indexed and asked, the answer is in order, holds every
// document once, and is the same the next time.
func FuzzSearch(f *testing.F) {
	f.Add("fs__read_file", "Read a file.", "path", "read file", 3)
	f.Add("HTTPServer2", "e.g. a. b", "aB1", "http server", 1)
	f.Add("__", "\xff", "字", "字\x80", 0)
	f.Add("a/b.c__d", "etc. and more", "", "abcd", 9)
	f.Fuzz(func(t *testing.T, name, description, parameter, query string, limit int) {
		documents := append([]rank.Document{{Name: name, Description: description, Parameters: []string{parameter}}}, some...)
		index := rank.New(documents)
		hits := index.Search(query, limit, nil)
		if len(hits) > max(0, limit) {
			t.Fatalf("%d hits, limit %d", len(hits), limit)
		}
		seen := map[int]bool{}
		for i, h := range hits {
			if seen[h.Document] || h.Document < 0 || h.Document >= len(documents) || !(h.Score > 0) || i > 0 && h.Score > hits[i-1].Score {
				t.Fatalf("%v", hits)
			}
			seen[h.Document] = true
		}
		if again := index.Search(query, limit, nil); !slices.Equal(hits, again) {
			t.Fatalf("%v, and then %v", hits, again)
		}
		if found := index.Search(name, 1, nil); len(name) <= rank.MaxQuery && len(found) > 0 && found[0].Score >= 2000 && !sameName(documents[found[0].Document].Name, name) {
			t.Fatalf("%q finds the name %q", name, documents[found[0].Document].Name)
		}
	})
}

func sameName(a, b string) bool {
	return rank.Fold(a) == rank.Fold(b)
}
