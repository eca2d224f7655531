package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of docs/conformance.md")

var reference = flag.Bool("reference", false, "run the suite before the TypeScript reference server too")

const page = "../../../docs/conformance.md"

// published compares the part of the page that this test generates with its expected text, or writes it.
func published(t *testing.T, part, is string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)(<!-- ` + part + ` -->\n).*?(<!-- end -->)`)
	was := block.FindString(string(b))
	if was == "" {
		t.Fatalf("%s has no part %q", page, part)
	}
	now := "<!-- " + part + " -->\n" + is + "<!-- end -->"
	if *update {
		if err := os.WriteFile(page, []byte(strings.Replace(string(b), was, now, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(scored(was), scored(now)); d != "" {
		t.Errorf("%s is stale: make conformance UPDATE=-update (-is +should be)\n%s", page, d)
	}
}

// scored returns the compared rows of a part: scenarios, and remarks on them. It leaves out some results of servers
// that depend on timing: scenarios outside of the requirements, and one about responses and streams.
func scored(part string) (rows []string) {
	var compared []string
	for row := range strings.Lines(part) {
		if strings.Contains(row, "`, not scored |") || strings.Contains(row, "`server-sse-multiple-streams` |") {
			continue
		}
		if name, ok := strings.CutPrefix(row, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			compared = append(compared, name)
		}
		if run, remarks, ok := strings.Cut(row, ": "); ok && strings.HasPrefix(run, "- ") {
			row = run
			for remark := range strings.SplitSeq(remarks, ", ") {
				if _, name, _ := strings.Cut(remark, "`"); slices.Contains(compared, strings.Split(name, ":")[0]) {
					row += ", " + strings.TrimSpace(remark)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// table has a row for each selected scenario and a column for each run. Below, it lists the checks that neither passed
// nor failed.
func table(all []run, found results, shown func(scenario) bool) string {
	var b strings.Builder
	row := func(first string, cell func(r run) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, r := range all {
			fmt.Fprintf(&b, " %s |", cell(r))
		}
		b.WriteString("\n")
	}
	row("scenario", func(r run) string { return r.name })
	row("---", func(run) string { return "---" })
	names := map[string]bool{}
	for _, r := range all {
		for _, s := range found[r.name] {
			if names[s.name] || !shown(s) {
				continue
			}
			names[s.name] = true
			label := "`" + s.name + "`"
			if !s.scored {
				label += ", not scored"
			}
			row(label, func(r run) string { return named(found[r.name], s.name).String() })
		}
	}
	row("**scored scenarios that pass**", func(r run) string {
		passed, scored := whole(found[r.name])
		return fmt.Sprintf("**%d of %d**", passed, scored)
	})
	b.WriteString("\nNeither passed nor failed:\n\n")
	for _, r := range all {
		remark := "nothing"
		if remarks := remarks(found[r.name]); remarks != nil {
			remark = strings.Join(remarks, ", ")
		}
		fmt.Fprintf(&b, "- %s: %s\n", r.name, remark)
	}
	return b.String()
}
