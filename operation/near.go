package operation

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// What a [NotFound] suggests.
const (
	maxNearest = 3
	// maxCompared is how many names are compared letter by letter, which takes time.
	maxCompared = 64
	// farLetters is how many letters at most only one of two names has that are near.
	farLetters = 6
)

// candidate is a name that may be meant.
type candidate struct {
	name  string
	apart int // letters that only one of the two has
}

// nearest are the names that may be meant, of those that can be called from there with the
// caller's rights. There may be thousands: what has other letters is left out first.
func (r *Registry) nearest(q request) []string {
	if len(q.name) > MaxName {
		return nil
	}
	want := fold(q.name)
	set := letters(want)
	var list []candidate
	for _, o := range r.now.Load().order {
		apart := bits.OnesCount64(o.letters ^ set)
		if apart > farLetters && !strings.Contains(o.folded, want) {
			continue
		}
		if q.reaches(o) && o.Spec.Access.Allows(q.caller.Grants) {
			list = append(list, candidate{o.Spec.Name, apart})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.apart, b.apart) })
	var names []string
	for _, c := range list[:min(len(list), maxCompared)] {
		names = append(names, c.name)
	}
	return text.Nearest(q.name, names, maxNearest)
}

func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// letters is the set of a name's bytes, folded to 64.
func letters(name string) (set uint64) {
	for i := range len(name) {
		set |= 1 << (name[i] & 63)
	}
	return set
}
