package rank

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Document is what can be found.
type Document struct {
	// Name is the whole name: "github__create_issue", "fs/read_file".
	Name string
	// Description says what it does; "" is allowed.
	Description string
	// Parameters are the names of what it takes.
	Parameters []string
}

// The fields of a document, and what BM25F knows of each.
const (
	inGroup   = iota // the server or the namespace, as the name has it
	inName           // the rest of the name
	inSummary        // the first sentence of the description
	inRest           // the other sentences
	inParameters
	fields
)

var (
	weight = [fields]float64{inGroup: 1, inName: 3, inSummary: 1.5, inRest: 0.3, inParameters: 0.2}
	// bend is how much the length of a field counts: b.
	bend = [fields]float64{inName: 0.6, inSummary: 0.5, inRest: 0.5, inParameters: 0.75}
)

// saturation is how soon a word more often makes no difference: k1.
const saturation = 1.2

// Index is an immutable set of documents that can be searched.
type Index struct {
	documents  int
	vocabulary vocabulary
	terms      map[string]*term
	sorted     []*term            // by word, for prefixes
	byLength   map[int][]*term    // for slips
	names      map[string][]int32 // by folded name
	tails      map[string][]int32 // by folded name without its server or namespace
	scratch    *sync.Pool
}

// term is one word and where it stands, in the documents' order.
type term struct {
	word     string
	letters  uint64 // which ones, for a quick no
	idf      float32
	postings []posting
}

type posting struct {
	document int32
	weight   float32 // of the word in the document, saturated: below 1
}

// New is an index of documents. It keeps none of them: a [Hit] has the place in the list.
func New(documents []Document) *Index {
	x := &Index{
		documents:  len(documents),
		vocabulary: newVocabulary(),
		terms:      map[string]*term{},
		byLength:   map[int][]*term{},
		names:      map[string][]int32{},
		tails:      map[string][]int32{},
	}
	x.weigh(count(documents))
	for i, d := range documents {
		x.name(int32(i), d.Name)
	}
	for _, t := range x.terms {
		x.sorted = append(x.sorted, t)
	}
	slices.SortFunc(x.sorted, func(a, b *term) int { return strings.Compare(a.word, b.word) })
	for _, t := range x.sorted {
		x.byLength[len(t.word)] = append(x.byLength[len(t.word)], t)
	}
	x.scratch = &sync.Pool{New: func() any { return newScratch(x.documents) }}
	return x
}

// counted is how often the words of one document stand in each field, and how long the fields are.
type counted struct {
	words  []string // in the order in which they come, so that sums are always the same
	times  map[string]*[fields]int
	length [fields]int
}

func count(documents []Document) []counted {
	all := make([]counted, len(documents))
	for i, d := range documents {
		c := counted{times: map[string]*[fields]int{}}
		group, own := split(d.Name)
		c.add(inGroup, group)
		c.add(inName, own)
		summary, rest := sentence(d.Description)
		c.add(inSummary, summary)
		c.add(inRest, rest)
		for _, p := range d.Parameters {
			c.add(inParameters, p)
		}
		all[i] = c
	}
	return all
}

func (c *counted) add(field int, text string) {
	words(text, func(w string) bool {
		if c.times[w] == nil {
			c.times[w] = new([fields]int)
			c.words = append(c.words, w)
		}
		c.times[w][field]++
		c.length[field]++
		return true
	})
}

// weigh fills the terms.
func (x *Index) weigh(all []counted) {
	var average [fields]float64
	for _, c := range all {
		for f := range average {
			average[f] += float64(c.length[f]) / float64(len(all))
		}
	}
	for i, c := range all {
		for _, w := range c.words {
			t := x.terms[w]
			if t == nil {
				t = &term{word: w, letters: letters(w)}
				x.terms[w] = t
			}
			tf := c.frequency(w, average)
			t.postings = append(t.postings, posting{int32(i), float32(tf / (saturation + tf))})
		}
	}
	for _, t := range x.terms {
		n := float64(len(t.postings))
		t.idf = float32(math.Log(1 + (float64(x.documents)-n+0.5)/(n+0.5)))
	}
}

// frequency is how often a word stands in a document, over its fields: the pseudo-frequency of BM25F.
func (c counted) frequency(w string, average [fields]float64) (tf float64) {
	for f, times := range c.times[w] {
		if times > 0 {
			tf += weight[f] * float64(times) / (1 - bend[f] + bend[f]*float64(c.length[f])/average[f])
		}
	}
	return tf
}

func (x *Index) name(i int32, name string) {
	whole := fold(name)
	x.names[whole] = append(x.names[whole], i)
	if _, own := split(name); own != name {
		x.tails[fold(own)] = append(x.tails[fold(own)], i)
	}
}

// split parts a name into its group and its own: "github__create_issue", "fs/read_file".
func split(name string) (group, own string) {
	own = name
	for _, separator := range []string{"__", "/", "."} {
		if at := strings.LastIndex(own, separator); at >= 0 {
			own = own[at+len(separator):]
		}
	}
	return name[:len(name)-len(own)], own
}

// sentence parts the first sentence of a text from the others.
func sentence(text string) (first, rest string) {
	text = strings.TrimLeft(text, " \n\t\r")
	for i := 0; i < len(text)-1; i++ {
		if text[i] == '\n' || text[i+1] == ' ' && strings.IndexByte(".!?", text[i]) >= 0 && !abbreviated(text[:i]) {
			return text[:i+1], text[i+1:]
		}
	}
	return text, ""
}

// abbreviated reports whether the point after a text ends no sentence: "e.g", "i.e".
func abbreviated(text string) bool {
	return len(text) >= 2 && text[len(text)-2] == '.' || strings.HasSuffix(text, "etc")
}
