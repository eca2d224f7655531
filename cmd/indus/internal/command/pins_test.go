package command

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/ledger"
)

// A run that is over before anything of it was written has its end in the ledger all the
// same, and so has one whose first write was interrupted.
func TestAShortRunHasItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	file, err := ledger.OpenFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &pins{File: file, known: map[Version]bool{}}
	run := []ledger.Entry{
		{Op: ledger.Begin, Run: "one"},
		{Op: ledger.Enroll, Run: "one", Server: "fs", Tool: "read", Sum: "1"},
		{Op: ledger.End, Run: "one"},
	}
	unlock, err := filelock.Lock(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Append(interrupted, run...); err == nil {
		t.Fatal("a write with a context that is over succeeded")
	}
	unlock()
	if _, err := p.Append(t.Context(), run...); err != nil {
		t.Fatal(err)
	}
	entries, err := file.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var ops []ledger.Op
	for _, e := range entries {
		ops = append(ops, e.Op)
	}
	if len(ops) != 3 || ops[0] != ledger.Begin || ops[2] != ledger.End {
		t.Errorf("the ledger has %v", ops)
	}
}
