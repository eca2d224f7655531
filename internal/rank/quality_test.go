package rank_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/rank"
)

// lines are those of a file that are no comments.
func lines(t testing.TB, file string) (list []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// tools are the 300 of testdata.
func tools(t testing.TB) (list []rank.Document) {
	for _, line := range lines(t, "testdata/tools.txt") {
		field := strings.Split(line, "\t")
		list = append(list, rank.Document{Name: field[0], Description: field[1], Parameters: strings.Fields(field[2])})
	}
	return list
}

// TestTheRightToolIsInTheFirstFive is the measure of the ranking: questions as a person
// would ask them, over the tools of real servers. It was tuned on the practice alone.
func TestTheRightToolIsInTheFirstFive(t *testing.T) {
	documents := tools(t)
	if len(documents) != 300 {
		t.Fatalf("%d tools", len(documents))
	}
	index := rank.New(documents)
	for file, wanted := range map[string]int{"questions.txt": 36, "practice.txt": 54} {
		t.Run(file, func(t *testing.T) {
			const shown = 5
			good, first := 0, 0
			questions := lines(t, "testdata/"+file)
			for _, line := range questions {
				question, want, _ := strings.Cut(line, " => ")
				found := names(documents, index.Search(question, shown, nil))
				place := slices.Index(found, want) + 1
				if place == 0 {
					t.Logf("–  %-56s %s, not %v", question, want, found)
					continue
				}
				t.Logf("%d  %-56s %s", place, question, want)
				good++
				if place == 1 {
					first++
				}
			}
			t.Logf("%d tools, %d questions: the right one is in the first %d of %d, the first of %d", len(documents), len(questions), shown, good, first)
			if good < wanted {
				t.Errorf("%d, under %d", good, wanted)
			}
		})
	}
}

func names(documents []rank.Document, hits []rank.Hit) []string {
	list := []string{}
	for _, hit := range hits {
		list = append(list, documents[hit.Document].Name)
	}
	return list
}
