package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	defaultPercent = 100 // Go's default of GOGC
	// smallHeap is a live heap, in bytes, with which twice as much garbage as by default costs little memory.
	smallHeap        = 16 << 20
	smallHeapPercent = 200
)

// paceCollector makes garbage collections rarer while the live heap is small, until ctx ends. Otherwise thirty results
// of 256 KiB fill the heap, and collections take a seventh of the CPU. It is called again after each collection.
func paceCollector(ctx context.Context) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if ctx.Err() != nil || live[0].Value.Uint64() >= smallHeap {
		debug.SetGCPercent(defaultPercent)
	} else {
		debug.SetGCPercent(smallHeapPercent)
	}
	if ctx.Err() == nil {
		runtime.AddCleanup(new([64]byte), paceCollector, ctx) // the next collection frees the object
	}
}
