// Package conformance_test runs the official conformance suite against indus. What
// fails on purpose is with its reason in testdata/conformance: the suite fails
// on whatever else fails, and on an entry that passes.
package conformance_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
)

// TestClient runs the client's scenarios of each revision, which the suite wants
// to be run apart, against the endpoint of the program client.
func TestClient(t *testing.T) {
	bin := build(t, "./client")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			report, err := peers.Conformance(t, "client", "--command", bin,
				"--requirements", revision, "--expected-failures", expected(t, "client-"+revision+".yml"))
			if err != nil {
				t.Errorf("%v\n%s", err, report)
			}
			f := read(report)
			t.Log(f)
			if f.scenarios == 0 {
				t.Error("the report has no scenarios")
			}
			for _, name := range f.vacuous {
				t.Errorf("%s passes without a check: the client did not get that far", name)
			}
		})
	}
}

// build compiles a main package for the test.
func build(t *testing.T, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return bin
}

// expected is the path of a file of expected failures.
func expected(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "conformance", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// figures are what a report says in numbers, of scored scenarios and the others.
type figures struct {
	scenarios, passed, failed int
	total                     string
	vacuous                   []string // passed, with no check made
}

func (f figures) String() string {
	return fmt.Sprintf("%d scenarios: %d passed, %d failed; checks: %s", f.scenarios, f.passed, f.failed, f.total)
}

// read takes the figures from a report's summary.
func read(report string) figures {
	row := regexp.MustCompile(`(?m)^(✓|✗) (\S+): (\d+) passed, \d+ failed`)
	var f figures
	for _, m := range row.FindAllStringSubmatch(report, -1) {
		f.scenarios++
		switch ok, name, checks := m[1] == "✓", m[2], m[3]; {
		case !ok:
			f.failed++
		case checks == "0":
			f.vacuous = append(f.vacuous, name)
		default:
			f.passed++
		}
	}
	if _, rest, ok := strings.Cut(report, "\nTotal: "); ok {
		f.total, _, _ = strings.Cut(rest, "\n")
	}
	return f
}
