package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/indusagi/indus/control/audit"
)

// typical is a record of a usual call.
func typical() audit.Record {
	return audit.Record{
		Principal: "user:alice", Type: "mcp.tools.call", Tool: "create_issue", Outcome: audit.Allowed, Server: "github",
		View: "@review", Client: "claude-code", ClientVersion: "2.1.76", Era: "modern", Method: "tools/call",
		Address: "127.0.0.1:52044", ArgumentDigest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Policies: []string{"policy.cedar:12"}, Duration: 1234 * time.Microsecond, BytesIn: 512, BytesOut: 4096,
		Trace: "4bf92f3577b34da6a3ce929d0e0e4736",
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			l := open(b, newPath(b), &audit.Options{Sync: sync})
			b.ReportAllocs()
			for b.Loop() {
				r := typical()
				if err := l.Append(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendParallel(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			l := open(b, newPath(b), &audit.Options{Sync: sync})
			b.ReportAllocs()
			b.SetParallelism(25) // 50 goroutines on two processors
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := typical()
					if err := l.Append(&r); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkRead reads a log of a million records: all, the last, the last that a filter selects, and verifies it.
func BenchmarkRead(b *testing.B) {
	path := newPath(b)
	l := open(b, path, nil)
	for i := range 1_000_000 {
		r := typical()
		if i == 0 {
			r.Tool = "rare"
		}
		if err := l.Append(&r); err != nil {
			b.Fatal(err)
		}
	}
	for name, f := range map[string]*audit.Filter{
		"all": nil, "last 20": {Last: 20}, "the first of one tool": {Tool: "rare", Last: 1},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := audit.Read(b.Context(), path, f, func(*audit.Record) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := audit.Verify(b.Context(), path); err != nil || !r.Intact() {
				b.Fatal(err)
			}
		}
	})
}
