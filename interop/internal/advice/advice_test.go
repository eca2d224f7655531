package advice_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/internal/advice"
)

var update = flag.Bool("update", false, "write docs/faults.md from the table of advice")

// docs/faults.md is the table that the command and the host show.
func TestTheDocumentedAdviceIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Advice after a fault\n\nThis is the advice that indus prints after a fault, by its cause. The first row that fits counts. If no cause fits, the kind\nof the fault decides. `go test ./interop/internal/advice -run Documented -update` writes this page from\n`interop/internal/advice/advice.go`.\n\n| cause | advice |\n| --- | --- |\n")
	seen := map[string]bool{}
	for _, row := range advice.Rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.Cause, row.Advice)
		if seen[row.Cause] || row.Advice == "" {
			t.Errorf("%q: twice, or no advice", row.Cause)
		}
		seen[row.Cause] = true
	}
	const page = "../../../docs/faults.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(page); err != nil || string(is) != b.String() {
		t.Errorf("%s is not the table of advice (%v): write it with -update", page, err)
	}
}
