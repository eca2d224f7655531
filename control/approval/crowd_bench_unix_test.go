//go:build unix

package approval_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// BenchmarkCrowd measures 300 calls with 2 KiB of arguments that begin to wait, 60 at a time: at one book of a file, and
// at three books of a cluster.
func BenchmarkCrowd(b *testing.B) {
	crowd := func(b *testing.B, books ...*approval.Book) {
		var all sync.WaitGroup
		calls := make(chan int)
		for range 60 {
			all.Go(func() {
				for n := range calls {
					arguments := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, strings.Repeat("word ", 400))
					_, _, err := books[n%len(books)].Require(b.Context(), approval.Item{
						Subject: approval.Subject{
							Principal: fmt.Sprint("user:", n%20), Server: "s", Tool: "t", Arguments: sha256.Sum256(arguments),
						},
						Way: approval.Other, Shown: arguments,
					}, nil)
					if err != nil {
						b.Error(err)
					}
				}
			})
		}
		for n := range 300 {
			calls <- n
		}
		close(calls)
		all.Wait()
	}
	open := func(path string, o *approval.Options) *approval.Book {
		book, err := approval.Open(path, o)
		if err != nil {
			b.Fatal(err)
		}
		return book
	}
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			crowd(b, open(filepath.Join(b.TempDir(), "approvals.jsonl"), nil))
		}
	})
	server := natsserver.StartCore(b, fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }", b.TempDir()))
	b.Run("cluster", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			var books []*approval.Book
			for range 3 {
				engine, err := nats.Connect(b.Context(), &nats.Options{Servers: server.URL})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(engine.Close)
				document, err := cluster.OpenDocument(b.Context(), engine, fmt.Sprint("crowd-", b.N, "-", n))
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(document.Close)
				books = append(books, open("", &approval.Options{Document: document}))
			}
			crowd(b, books...)
		}
	})
}
