package ledger_test

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/ledger"
)

// many returns n entries of tools.
func many(n int) []ledger.Entry {
	out := make([]ledger.Entry, n)
	for i := range out {
		out[i] = enrolled("A", i, capability("s", fmt.Sprintf("t%d", i%500), "A tool of which there are many.", anyObject))
	}
	return out
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, batch := open(b, logPath(b)), many(n)
			for b.Loop() {
				appendTo(b, f, batch...)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	f := open(b, logPath(b))
	appendTo(b, f, many(100_000)...)
	b.ResetTimer()
	for b.Loop() {
		if _, err := f.Read(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAttach measures a start before any server is connected.
func BenchmarkAttach(b *testing.B) {
	path := logPath(b)
	appendTo(b, open(b, path), many(20_000)...)
	b.ResetTimer()
	for b.Loop() {
		ledger.Attach(b.Context(), ledger.Ledger{}, nil, &ledger.Options{Log: open(b, path), Warm: true}).Close()
	}
}

func BenchmarkReduce(b *testing.B) {
	log := ledger.Ledger{}.Append(many(10_000)...).Log()
	for b.Loop() {
		ledger.Reduce(log)
	}
}
