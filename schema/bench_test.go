package schema_test

import (
	"fmt"
	"testing"

	"github.com/indusagi/indus/schema"
)

// The cost is linear if MB/s stays about the same for all sizes. It may rise for input that is refused for its depth.
func benchmark(b *testing.B, do func([]byte)) {
	for _, s := range shapes {
		for _, kib := range []int{4, 256, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/%dKiB", s.name, kib), func(b *testing.B) {
				raw := []byte(s.make(kib << 10))
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					do(raw)
				}
			})
		}
	}
}

func BenchmarkNormalize(b *testing.B) {
	benchmark(b, func(raw []byte) { schema.Normalize(raw) })
}

func BenchmarkMeasure(b *testing.B) {
	none := schema.Limits{Depth: -1, Nodes: -1, Bytes: -1}
	benchmark(b, func(raw []byte) { _ = schema.Measure(raw, none) })
}
