package serve_test

import (
	"context"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
)

// awaitPercent collects garbage until GOGC has a value.
func awaitPercent(t *testing.T, want uint64) {
	t.Helper()
	for range 10_000 {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		if now[0].Value.Uint64() == want {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Fatalf("GOGC does not become %d", want)
}

func TestCollectionsAreRarerWhileTheHeapIsSmall(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serve.PaceCollector(ctx)
	awaitPercent(t, 200)
	large := make([]byte, 32<<20)
	awaitPercent(t, 100)
	runtime.KeepAlive(large)
	awaitPercent(t, 200)
	stop()
	awaitPercent(t, 100)
}
