package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
)

// scenario is the result of one scenario in one run.
type scenario struct {
	name           string
	scored, asker  bool // asker reports that it was run against an asker
	passed, failed int
	faults         []string // of failed checks
	other          []check  // all other checks: warnings, skipped and informative checks
}

// check is one check of a scenario, as in checks.json of the suite.
type check struct {
	ID, Status, ErrorMessage string
}

// String returns the cell of a scenario in a table: its checks.
func (s scenario) String() string {
	out := fmt.Sprint(s.passed)
	switch {
	case s.name == "":
		return "–"
	case s.failed > 0:
		out = fmt.Sprintf("**%d of %d**", s.passed, s.passed+s.failed)
	case s.passed == 0:
		out = "none"
	}
	if n := s.warnings(); n > 0 {
		out += fmt.Sprintf(", %d warned", n)
	}
	if s.asker {
		out += " †"
	}
	return out
}

func (s scenario) warnings() (n int) {
	for _, c := range s.other {
		if c.Status == "WARNING" {
			n++
		}
	}
	return n
}

// suite runs the server scenarios of a revision against a URL. It returns the results in the order of the run. A
// failure of a scenario does not fail the test.
func suite(t *testing.T, url, revision string) []scenario {
	t.Helper()
	dir := t.TempDir()
	report, err := peers.Conformance(t, "server", "--url", url, "--requirements", revision, "-o", dir)
	var all []scenario
	for _, m := range regexp.MustCompile(`(?m)^[✓✗] (\S+): \d+ passed`).FindAllStringSubmatch(report, -1) {
		s := count(t, dir, m[1])
		s.scored = !regexp.MustCompile(`(?m)^  [✓✗] ` + m[1] + ` \(`).MatchString(report)
		all = append(all, s)
	}
	if all == nil {
		t.Fatalf("%v\n%s", err, report)
	}
	return all
}

// count returns the results of a scenario's checks.
func count(t *testing.T, dir, name string) scenario {
	t.Helper()
	s := scenario{name: name}
	for _, c := range checks(t, dir, name) {
		switch c.Status {
		case "SUCCESS":
			s.passed++
		case "FAILURE":
			s.failed++
			s.faults = append(s.faults, c.ID+": "+c.ErrorMessage)
		default:
			s.other = append(s.other, c)
		}
	}
	return s
}

// checks reads the checks of one scenario. The directory is named server-NAME-TIME, and a name may be a prefix of
// another.
func checks(t *testing.T, dir, name string) []check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "server-"+name+"-[0-9]*-*-*T*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("results of %s: %v, %v", name, files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var all []check
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%s: %v", files[0], err)
	}
	return all
}

// whole reports whether a scenario passes with at least one check.
func (s scenario) whole() bool { return s.failed == 0 && s.passed > 0 }

// whole counts the scored scenarios, and the ones among them that pass completely.
func whole(all []scenario) (passed, scored int) {
	for _, s := range all {
		if s.scored {
			scored++
			if s.whole() {
				passed++
			}
		}
	}
	return passed, scored
}

// named returns the scenario of that name. If the run has none, it is zero.
func named(all []scenario, name string) scenario {
	for _, s := range all {
		if s.name == name {
			return s
		}
	}
	return scenario{}
}

// remarks returns the checks that neither passed nor failed, without repeats.
func remarks(all []scenario) []string {
	var out []string
	for _, s := range all {
		for _, c := range s.other {
			if r := fmt.Sprintf("%s `%s:%s`", c.Status, s.name, c.ID); !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}
