package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/rank"
)

// many are n documents: the 300 tools again and again, as servers of their own that
// call some things differently.
func many(b *testing.B, n int) []rank.Document {
	real := tools(b)
	documents := make([]rank.Document, n)
	for i := range documents {
		d, round := real[i%len(real)], i/len(real)
		if round > 0 {
			d.Name = strings.Replace(d.Name, "__", fmt.Sprintf("%d__", round), 1)
			d.Description += fmt.Sprintf(" For customer%d in region%d.", i%997, i%31)
		}
		documents[i] = d
	}
	return documents
}

// BenchmarkSearch asks 10,000 documents the questions of the quality test, and beside it the same
// of a linear scan that counts the words of the question in every text.
func BenchmarkSearch(b *testing.B) {
	documents := many(b, 10_000)
	index := rank.New(documents)
	var questions []string
	for _, line := range lines(b, "testdata/questions.txt") {
		question, _, _ := strings.Cut(line, " => ")
		questions = append(questions, question)
	}
	b.Run("index", func(b *testing.B) {
		median(b, questions, func(q string) int { return len(index.Search(q, 10, nil)) })
	})
	b.Run("scan", func(b *testing.B) {
		texts := make([]string, len(documents))
		for i, d := range documents {
			texts[i] = strings.ToLower(d.Name + " " + d.Description + " " + strings.Join(d.Parameters, " "))
		}
		median(b, questions, func(q string) int { return len(scan(texts, q, 10)) })
	})
	b.Run("slips", func(b *testing.B) {
		median(b, []string{"raed fiel", "repositry brnach", "screnshot pgae", "kuberntes deplyoment"}, func(q string) int { return len(index.Search(q, 10, nil)) })
	})
}

func BenchmarkNew(b *testing.B) {
	documents := many(b, 10_000)
	for b.Loop() {
		rank.New(documents)
	}
}

// median reports the median of the times of single questions, beside the mean.
func median(b *testing.B, questions []string, ask func(string) int) {
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if ask(questions[i%len(questions)]) == 0 {
			b.Fatal("nothing found")
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-median")
}

// scan is what one writes without an index.
func scan(texts []string, query string, limit int) []int {
	type hit struct{ document, words int }
	var hits []hit
	words := strings.Fields(strings.ToLower(query))
	for i, text := range texts {
		n := 0
		for _, w := range words {
			n += strings.Count(text, w)
		}
		if n > 0 {
			hits = append(hits, hit{i, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.words - a.words })
	var list []int
	for _, h := range hits[:min(limit, len(hits))] {
		list = append(list, h.document)
	}
	return list
}
