package interop

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/faults.md from the table of advice")

// docs/faults.md is the table that the command and the host show.
func TestTheDocumentedAdviceIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What to try after a fault\n\nThe sentence that indus shows goes by the cause of a fault, and by its kind where the cause says nothing more. The first row that\nfits counts. `go test ./interop -run Documented -update` writes this page from the table in `interop/advice.go`.\n\n| cause | what to try |\n| --- | --- |\n")
	seen := map[string]bool{}
	for _, row := range advices {
		fmt.Fprintf(&b, "| %s | %s |\n", row.cause, row.try)
		if seen[row.cause] || row.try == "" {
			t.Errorf("%q: twice, or no advice", row.cause)
		}
		seen[row.cause] = true
	}
	const page = "../docs/faults.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(page); err != nil || string(is) != b.String() {
		t.Errorf("%s is not the table of advice (%v): write it with -update", page, err)
	}
}
