//go:build unix

package oauth_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// BenchmarkCrowd measures 110 sign-ins that are renewed at once: with one store of a file, and with three of a cluster.
// Each write has all sign-ins, and renewals that wait are written together: 500 at once cost less than ten alone.
func BenchmarkCrowd(b *testing.B) {
	key := sealed.NewKeyText()
	sign := func(n int) oauth.Key {
		return oauth.Key{Issuer: "https://issuer.example", Resource: "https://desk.example/mcp", Account: fmt.Sprint("user:", n)}
	}
	renew := func(b *testing.B, callers int, stores []*oauth.FileStore) {
		var all sync.WaitGroup
		for n := range callers {
			s, k := stores[n%len(stores)], sign(n)
			all.Go(func() {
				unlock, err := s.Lock(b.Context(), k)
				if err == nil {
					defer unlock()
					_, err = s.Get(b.Context(), k)
				}
				if err == nil {
					err = s.Put(b.Context(), k, []byte(fmt.Sprint(time.Now(), strings.Repeat("token ", 150))))
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	run := func(b *testing.B, stored, renewed int, stores ...*oauth.FileStore) {
		renew(b, stored, stores)
		for b.Loop() {
			renew(b, renewed, stores)
		}
	}
	for _, size := range [][2]int{{500, 500}, {500, 1}} {
		b.Run(fmt.Sprintf("file/%d of %d", size[1], size[0]), func(b *testing.B) {
			run(b, size[0], size[1], oauth.NewFileStore(filepath.Join(b.TempDir(), "tokens"), &oauth.FileStoreOptions{Key: key}))
		})
	}
	b.Run("file", func(b *testing.B) {
		run(b, 110, 110, oauth.NewFileStore(filepath.Join(b.TempDir(), "tokens"), &oauth.FileStoreOptions{Key: key}))
	})
	server := natsserver.StartCore(b, fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }", b.TempDir()))
	b.Run("cluster", func(b *testing.B) {
		var stores []*oauth.FileStore
		for range 3 {
			engine, err := nats.Connect(b.Context(), &nats.Options{Servers: server.URL})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(engine.Close)
			document, err := cluster.OpenDocument(b.Context(), engine, "sign-ins")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(document.Close)
			s := oauth.NewFileStore("shared", &oauth.FileStoreOptions{
				Key: key, Shared: &oauth.Shared{Engine: engine, Document: document, Lease: 10 * time.Second},
			})
			b.Cleanup(s.Close)
			stores = append(stores, s)
		}
		run(b, 110, 110, stores...)
	})
}
