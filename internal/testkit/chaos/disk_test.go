//go:build unix

package chaos

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

var disk = flag.String("disk", "", "directory of an empty file system of 2 to 64 MB, which TestFullDisk fills")

// A server with a full disk confirms nothing that it loses. Once there is space, it continues after a restart.
//
//	mount -t tmpfs -o size=8m tmpfs /mnt && go test -run FullDisk . -args -disk /mnt
func TestFullDisk(t *testing.T) {
	if *disk == "" {
		t.Skip("it needs a small file system: -disk DIR")
	}
	ballast := filepath.Join(*disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := natsserver.StartCore(t, fmt.Sprintf("jetstream { store_dir: %q, max_file: 1GB }", filepath.Join(*disk, "store")))
	e, err := nats.Connect(t.Context(), &nats.Options{Servers: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	kv := e.KV("x")
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 100<<10) }
	confirmed := 0
	for ; err == nil; confirmed++ {
		_, err = kv.Set(t.Context(), fmt.Sprint(confirmed), value(confirmed), 0, 0)
	}
	confirmed--
	t.Logf("%d values, and then: %v", confirmed, err)
	if !errors.Is(err, cluster.ErrUnavailable) || confirmed == 0 {
		t.Errorf("a full disk: %v", err)
	}
	check := func() {
		t.Helper()
		for i := range confirmed {
			var got cluster.Entry
			eventually(t, func() (err error) {
				got, err = kv.Get(t.Context(), fmt.Sprint(i))
				return err
			})
			if !bytes.Equal(got.Value, value(i)) {
				t.Errorf("value %d is lost", i)
			}
		}
	}
	check()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Run()
	eventually(t, func() error { return writes(t.Context(), kv, "after") })
	check()
}
