package approval_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/approval"
)

// BenchmarkRequire measures the steps of a call with so many other items waiting, each with 8 KiB of arguments.
func BenchmarkRequire(b *testing.B) {
	for _, waiting := range []int{0, 100, 1000} {
		path := filepath.Join(b.TempDir(), "approvals.jsonl")
		book, err := approval.Open(path, &approval.Options{Max: 1 << 20, MaxPerPrincipal: 1 << 20})
		if err != nil {
			b.Fatal(err)
		}
		require := func(n int) approval.Item {
			arguments := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, strings.Repeat("word ", 1620))
			item, _, err := book.Require(b.Context(), approval.Item{
				Subject: approval.Subject{Principal: "user:alice", Server: "s", Tool: "t", Arguments: sha256.Sum256(arguments)},
				Way:     approval.Either, Shown: arguments,
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			return item
		}
		for n := range waiting {
			require(n)
		}
		if info, err := os.Stat(path); err == nil {
			b.Logf("%d waiting: %d KiB", waiting, info.Size()>>10)
		}
		b.Run(fmt.Sprintf("grant/waiting=%d", waiting), func(b *testing.B) {
			for b.Loop() {
				item := require(-1) // three steps: asked, allowed, spent
				if _, err := book.Decide(b.Context(), item.ID,
					approval.Decision{Allow: true, Channel: approval.ByOperator}); err != nil {
					b.Fatal(err)
				}
				if item = require(-1); item.State != approval.Spent {
					b.Fatal(item.State)
				}
			}
		})
		b.Run(fmt.Sprintf("repeat/waiting=%d", waiting), func(b *testing.B) {
			require(-2)
			for b.Loop() {
				require(-2)
			}
		})
	}
}
