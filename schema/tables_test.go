package schema_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
)

var update = flag.Bool("update", false, "write the tables of docs/schemas.md")

const docFile = "../docs/schemas.md"

// docBlock matches a part of the document that this test generates, between an opening comment and the comment "end".
// The opening comment names the kind of the part. For an example, it also contains the profile and the schema, so a new
// example needs no code.
var docBlock = regexp.MustCompile(`(?s)<!-- (profiles|adapt) ?([^\n]*?) -->\n.*?<!-- end -->`)

// TestTables compares the tables of the documentation with the profiles and the results of Adapt.
func TestTables(t *testing.T) {
	content, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	was := string(content)
	made := 0
	is := docBlock.ReplaceAllStringFunc(was, func(part string) string {
		made++
		comment, _, _ := strings.Cut(part, "\n")
		m := docBlock.FindStringSubmatch(part)
		return comment + "\n" + docTable(t, m[1], m[2]) + "<!-- end -->"
	})
	if ends := strings.Count(was, "<!-- end -->"); made == 0 || made != ends {
		t.Fatalf("%s has %d blocks and %d ends", docFile, made, ends)
	}
	if *update {
		if err := os.WriteFile(docFile, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(was, "\n"), strings.Split(is, "\n")); diff != "" {
		t.Errorf("%s is stale: go test ./schema -run TestTables -update (-is +should be)\n%s", docFile, diff)
	}
}

func docTable(t *testing.T, kind, of string) string {
	t.Helper()
	if kind == "profiles" {
		return profilesTable(t)
	}
	name, given, _ := strings.Cut(of, " ")
	p := schema.ProfileNamed(name)
	if p == nil {
		t.Fatalf("there is no profile %q", name)
	}
	return exampleTable(p, []byte(given))
}

// exampleTable returns a table with a schema, its adapted form, and the report.
func exampleTable(p *schema.Profile, given []byte) string {
	rows := []string{"| | |", "| --- | --- |", "| given | " + codeCell(string(given)) + " |"}
	a, err := schema.Adapt(given, p)
	if err != nil {
		return markdown(append(rows, fmt.Sprintf("| %s | quarantined: %v |", p.Name(), err)))
	}
	rows = append(rows, "| "+p.Name()+" | "+codeCell(string(a.Schema))+" |")
	if a.Note != "" {
		rows = append(rows, "| note | "+textCell(a.Note)+" |")
	}
	for _, c := range a.Changes {
		said := fmt.Sprintf("| %s | %s: %s", c.Rule, pathCell(c.Path), textCell(c.Did))
		if c.Lost != "" {
			said += ". **Lost**: " + textCell(c.Lost)
		}
		if c.Narrowed != "" {
			said += ". **Narrowed**: " + textCell(c.Narrowed)
		}
		rows = append(rows, said+" |")
	}
	return markdown(rows)
}

func pathCell(path string) string {
	if path == "" {
		return "the root"
	}
	return codeCell(path)
}

func markdown(all []string) string { return strings.Join(all, "\n") + "\n" }

// codeCell returns the text of a cell as code, with any content.
func codeCell(s string) string {
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + strings.ReplaceAll(s, "|", `\|`) + ticks
}

// textCell returns the text of a cell in one line and without markup.
func textCell(s string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`).Replace(s)
}
