// Package conformance_test runs the official conformance suite against indus. Expected failures are listed with their
// reasons in testdata/conformance. The suite fails if anything else fails, or if a listed entry passes.
package conformance_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// clientRuns lists the client's scenarios of each revision, which the suite runs separately. The scenarios of
// 2025-03-26, which no later revision requires, concern only servers without metadata.
var clientRuns = []struct{ name, option, value string }{
	{"2025-11-25", "--requirements", "2025-11-25"},
	{"2026-07-28", "--requirements", "2026-07-28"},
	{"2025-03-26", "--suite", "backcompat"},
}

// TestClient runs them against the endpoint of the program client, and compares docs/conformance.md with the results.
func TestClient(t *testing.T) {
	bin, err := fixture.GoLink("client")
	if err != nil {
		t.Fatal(err)
	}
	found := make([]figures, len(clientRuns))
	t.Run("suite", func(t *testing.T) {
		for i, r := range clientRuns {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				report, err := peers.Conformance(t, "client", "--command", bin, r.option, r.value)
				f := read(report)
				if err != nil || len(f.scenarios) == 0 || !strings.HasSuffix(f.total, ", 0 warnings") {
					t.Errorf("%v\n%s", err, report)
				}
				for _, s := range f.scenarios {
					if s.failed == 0 && s.passed == 0 {
						t.Errorf("%s passes without a check: the client did not get that far", s.name)
					}
				}
				found[i] = f
			})
		}
	})
	if !t.Failed() {
		published(t, "client", clientTable(found))
	}
}

// TestAuthorization checks that all scenarios of the suite under "authorization" test authorization servers. If the
// suite gains more of them, they may test protected servers, and must then run against our server.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	list, err := peers.Conformance(t, "list", "--authorization")
	names := regexp.MustCompile(`(?m)^  - (\S+)`).FindAllString(list, -1)
	if want := []string{"  - authorization-server-metadata-endpoint", "  - authorization-code-grant"}; err != nil ||
		!slices.Equal(names, want) {
		t.Errorf("%q: %v", names, err)
	}
}

// clientTable returns a table with a row for each scenario and a column for each run.
func clientTable(found []figures) string {
	var b strings.Builder
	row := func(first string, cell func(i int) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for i := range found {
			fmt.Fprintf(&b, " %s |", cell(i))
		}
		b.WriteString("\n")
	}
	row("scenario", func(i int) string { return clientRuns[i].name })
	row("---", func(int) string { return "---" })
	named := map[string]bool{}
	for _, f := range found {
		for _, s := range f.scenarios {
			if named[s.name] {
				continue
			}
			named[s.name] = true
			row("`"+s.name+"`", func(i int) string {
				at := slices.IndexFunc(found[i].scenarios, func(o scenario) bool { return o.name == s.name })
				if at < 0 {
					return "–"
				}
				cell := map[bool]string{true: "passes", false: "**fails**"}[found[i].scenarios[at].whole()]
				if !found[i].scenarios[at].scored {
					cell += ", not scored"
				}
				return cell
			})
		}
	}
	row("**scored scenarios that pass**", func(i int) string {
		passed, scored := whole(found[i].scenarios)
		return fmt.Sprintf("**%d of %d**", passed, scored)
	})
	return b.String()
}

// figures holds the numbers of a report.
type figures struct {
	scenarios []scenario
	total     string
}

// read parses the figures in a report's summary. If a suite does not belong to a revision, all its scenarios are
// scored.
func read(report string) figures {
	row := regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed`)
	var f figures
	for _, m := range row.FindAllStringSubmatch(report, -1) {
		s := scenario{name: m[1], scored: !regexp.MustCompile(`(?m)^  [✓✗] ` + m[1] + ` \(`).MatchString(report)}
		s.passed, _ = strconv.Atoi(m[2])
		s.failed, _ = strconv.Atoi(m[3])
		f.scenarios = append(f.scenarios, s)
	}
	if _, rest, ok := strings.Cut(report, "\nTotal: "); ok {
		f.total, _, _ = strings.Cut(rest, "\n")
	}
	return f
}
