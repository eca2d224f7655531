package standard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

func TestLs(t *testing.T) {
	dir := tree(t, map[string]string{
		"b": "12345", "a": "", "zoo/x": "", ".git/config": "", ".env": "SECRET=1", "empty/": "",
	})
	link(t, "b", filepath.Join(dir, "link"))
	_, r := readRegistry(t, dir)
	all := ".git/\nempty/\nzoo/\n.env\t8\na\t0\nb\t5\nlink@"
	tests := []struct{ name, input, want string }{
		{"here", `{}`, all},
		{"nothing at all", ``, all},
		{"by name", `{"path":"."}`, all},
		{"absolute", fmt.Sprintf(`{"path":%q}`, dir), all},
		{"without hidden ones", `{"hidden":false}`, "empty/\nzoo/\na\t0\nb\t5\nlink@\n(2 hidden entries are not shown)"},
		{"some", `{"limit":2}`, ".git/\nempty/\n(2 of 7 entries; use find to narrow it)"},
		{"some, without hidden ones", `{"limit":2,"hidden":false}`, "empty/\nzoo/\n(2 of 5 entries; use find to narrow it)\n(2 hidden entries are not shown)"},
		{"below", `{"path":"zoo"}`, "x\t0"},
		{"empty", `{"path":"empty"}`, "(the directory is empty)"},
		{"a file", `{"path":"b"}`, "b\t5"},
		{"missing", `{"path":"zooo"}`, "error: ls: zooo does not exist; did you mean zoo?"},
		{"outside", `{"path":".."}`, "error: ls: ..: the path leads outside the directory"},
		{"too many", `{"limit":10001}`, "error: the arguments of ls do not fit:\n/limit: expected at most 10000, got 10001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, call(t, r, "ls", tt.input)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLsShowsHostileNamesOnOneLine(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\nb\t9", "\x1b[31mred", "inv\xff", "right\u202eleft", "plain ü"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Skip(err)
		}
	}
	_, r := readRegistry(t, dir)
	want := `"\x1b[31mred"` + "\t0\n" + `"a\nb\t9"` + "\t0\n" + `"inv\xff"` + "\t0\nplain ü\t0\n" +
		`"right\u202eleft"` + "\t0"
	if diff := cmp.Diff(want, call(t, r, "ls", ``)); diff != "" {
		t.Error(diff)
	}
}

func TestLsKeepsWithinTheBudget(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("file%04d", i)] = ""
	}
	tc, r := readRegistry(t, tree(t, files))
	got := call(t, r, "ls", ``)
	if !strings.HasSuffix(got, "\nfile0499\t0\n(500 of 2000 entries; use find to narrow it)") {
		t.Error(got[len(got)-100:])
	}
	tc.Budget = 4000
	r = toolbox.NewRegistry(tc)
	r.Add(standard.Ls())
	got = call(t, r, "ls", `{"limit":2000}`)
	if len(got) > 4000 || !strings.HasSuffix(got, " of 2000 entries; use find to narrow it)") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-100:])
	}
	endsWith(t, r, 3, "ls", ``)
}
