package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/indusagi/indus/control/audit"
)

func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "audit.jsonl")
	log, err := audit.Open(path, &audit.Options{Keep: 10})
	if err != nil {
		panic(err)
	}
	defer log.Close()
	r := audit.Record{Type: "mcp.tools.call", Tool: "read_file", Server: "fs", Principal: "user:alice", Outcome: audit.Allowed}
	if err := log.Append(&r); err != nil { // before the request is answered
		panic(err)
	}
	ctx := context.Background()
	_, err = audit.Read(ctx, path, &audit.Filter{Principal: "user:alice", Last: 10}, func(r *audit.Record) error {
		fmt.Println(r.Seq, r.Outcome, r.Server, r.Tool)
		return nil
	})
	if err != nil {
		panic(err)
	}
	report, err := audit.Verify(ctx, path)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Records, "records, intact:", report.Intact())
	// Output:
	// 2 allowed fs read_file
	// 2 records, intact: true
}
