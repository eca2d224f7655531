package rank

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// What of a query is read.
const (
	MaxQuery = 2048 // bytes
	MaxWords = 32
)

// Hit is one document that was found.
type Hit struct {
	// Document is its place in the list that the index was made of.
	Document int
	// Score says how well it fits; scores of different queries do not compare.
	Score float64
}

// What a name that the query is adds to its score: more than any words can.
const (
	wholeName = 2000
	tailName  = 1000
)

// Search is at most limit documents that fit the query, best first. keep says which may
// be found, nil: all; it is not asked of every document, and in no order. Where nothing
// fits the result is nil.
func (x *Index) Search(query string, limit int, keep func(document int) bool) []Hit {
	if limit <= 0 {
		return nil
	}
	query = head(query)
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	defer s.clear()
	asked := x.terminology(query)
	for _, w := range asked {
		s.add(x.meanings(w))
	}
	s.cover(len(asked))
	folded := fold(query)
	s.bonus(x.names[folded], wholeName)
	s.bonus(x.tails[folded], tailName)
	return s.best(limit, keep)
}

// head is the part of a query that is read; where it is cut, not in the middle of a word.
func head(query string) string {
	if len(query) <= MaxQuery {
		return query
	}
	query = query[:MaxQuery]
	if at := strings.LastIndexByte(query, ' '); at > 0 {
		query = query[:at]
	}
	return query
}

// terminology is the different words of a query, without the filler unless there is nothing else.
func (x *Index) terminology(query string) []string {
	var all, telling []string
	words(query, func(w string) bool {
		if !slices.Contains(all, w) {
			all = append(all, w)
			if !x.vocabulary.filler[w] {
				telling = append(telling, w)
			}
		}
		return len(telling) < MaxWords && len(all) < 4*MaxWords
	})
	if telling == nil {
		return all[:min(len(all), MaxWords)]
	}
	return telling
}

// scratch is the scores of one search.
type scratch struct {
	score   []float32 // by document
	part    []float32 // what the word at hand has given; the best of its meanings counts
	knows   []uint8   // how many words of the query it has
	touched []int32   // documents with a score
	now     []int32   // documents with a part
}

func newScratch(documents int) *scratch {
	return &scratch{score: make([]float32, documents), part: make([]float32, documents), knows: make([]uint8, documents)}
}

func (s *scratch) clear() {
	for _, d := range s.touched {
		s.score[d], s.knows[d] = 0, 0
	}
	s.touched = s.touched[:0]
}

// add scores one word of the query.
func (s *scratch) add(meanings []meaning) {
	for _, m := range meanings {
		factor := m.worth * m.term.idf
		for _, p := range m.term.postings {
			s.at(p.document, factor*p.weight)
		}
	}
	for _, d := range s.now {
		s.part[d] = 0
		s.knows[d]++
	}
	s.now = s.now[:0]
}

func (s *scratch) at(d int32, value float32) {
	if value <= s.part[d] {
		return
	}
	if s.part[d] == 0 {
		s.now = append(s.now, d)
	}
	if s.score[d] == 0 {
		s.touched = append(s.touched, d)
	}
	s.score[d] += value - s.part[d]
	s.part[d] = value
}

// cover makes a document count for more the more of the words that were asked for it has: one
// that knows them all goes before one that has a rare one often.
func (s *scratch) cover(asked int) {
	for _, d := range s.touched {
		s.score[d] *= float32(math.Sqrt(float64(s.knows[d]) / float64(asked)))
	}
}

func (s *scratch) bonus(documents []int32, value float32) {
	for _, d := range documents {
		if s.score[d] == 0 {
			s.touched = append(s.touched, d)
		}
		s.score[d] += value
	}
}

// best takes the limit best of what has a score.
func (s *scratch) best(limit int, keep func(int) bool) []Hit {
	var top []Hit // sorted, and never much longer than limit
	full := false
	for _, d := range s.touched {
		hit := Hit{int(d), float64(s.score[d])}
		if full && compare(hit, top[limit-1]) >= 0 || keep != nil && !keep(hit.Document) {
			continue
		}
		top = append(top, hit)
		if len(top) >= 2*limit || !full && len(top) == limit {
			top, full = sorted(top, limit), true
		}
	}
	return sorted(top, limit)
}

func sorted(hits []Hit, limit int) []Hit {
	slices.SortFunc(hits, compare)
	return hits[:min(limit, len(hits))]
}

// compare has the better hit first, of two equal ones the earlier document.
func compare(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Document, b.Document))
}
