package rank_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/rank"
)

// Some letters have more bytes in lower case than in upper case: a word of such is cut like
// any other, and slips are looked for in it all the same.
func TestWordsThatGrowInLowerCase(t *testing.T) {
	long := strings.Repeat("Ⱥ", 18)
	index := rank.New([]rank.Document{{Name: long + "_a"}, {Name: "x", Description: long + "-c " + long + "d"}})
	for _, query := range []string{long + "_b", long + "-d", long + "Ⱦ_a"} {
		for _, hit := range index.Search(query, 5, nil) {
			if hit.Document > 1 {
				t.Error(hit)
			}
		}
	}
}
