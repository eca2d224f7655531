package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// crasher is a server in memory whose connections a test ends.
type crasher struct {
	h    *host.Host
	mu   sync.Mutex
	wire io.Closer
	down bool
}

func newCrasher(tools int) *crasher {
	r := toolbox.NewRegistry(nil)
	for i := range tools {
		r.Add(toolbox.Tool{Name: fmt.Sprintf("tool_%d", i), Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) { return nil, nil }})
	}
	return &crasher{h: host.New(r, nil)}
}

func (c *crasher) options(interop.Server) *interop.EndpointOptions {
	t := interoptest.Pipe(c.h)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = t.Writer
	if c.down {
		t.Writer.Close()
	}
	return &interop.EndpointOptions{Transport: t}
}

// crash ends the connection; down says that the next ones end at once.
func (c *crasher) crash(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	c.wire.Close()
}

// The log of a server that crashes every second, or is away for minutes each time, grows by
// a few entries an hour, says how often that was, and is true again once the server is calm.
func TestTheLogOfAFlappingServerIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		up, down time.Duration
	}{
		"crashes every second":    {time.Second, 0},
		"is withdrawn, and comes": {5 * time.Second, 40 * time.Second},
		"is away for minutes":     {time.Minute, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const tools = 13
				c := newCrasher(tools)
				path := logPath(t)
				log := open(t, path)
				a := ledger.Attach(t.Context(), ledger.Empty(), []interop.Server{{ID: "fx"}},
					&ledger.Options{Log: log, Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: c.options}}})
				size := func() int64 {
					synctest.Wait()
					info, err := os.Stat(path)
					if err != nil {
						t.Fatal(err)
					}
					return info.Size()
				}
				flap := func(until time.Duration) {
					for end := time.Now().Add(until); time.Now().Before(end); {
						time.Sleep(tt.up)
						synctest.Wait()
						c.crash(tt.down > 0)
						time.Sleep(tt.down)
						c.crash(false)
					}
				}
				flap(time.Hour)
				before := size()
				flap(4 * time.Hour)
				if grown := size() - before; grown > 4*2*(2*tools+4)*600 {
					t.Errorf("%d bytes in four hours, after %d in one", grown, before)
				}
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				ops := strings.Join(told(t, a, log), "\n")
				if !strings.Contains(ops, "lost and back ") {
					t.Errorf("nobody says how often:\n%s", ops)
				}
				if live := ledger.Live(read(t, log)); len(live) != tools || len(a.Names()) != tools {
					t.Errorf("%d tools are live in the log, %d in the ledger", len(live), len(a.Names()))
				}
				c.crash(true)
				time.Sleep(time.Minute) // recorded at once: it was calm
				if live := ledger.Live(read(t, log)); len(live) != 0 || len(a.Names()) != 0 {
					t.Errorf("%d tools are live in the log, %d in the ledger", len(live), len(a.Names()))
				}
				a.Close()
				c.h.Close()
				wantWhole(t, log, len(read(t, log)))
			})
		})
	}
}
