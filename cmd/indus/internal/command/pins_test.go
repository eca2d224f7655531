package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/filelock"
	"github.com/indusagi/indus/ledger"
)

// The end of a run is in the ledger, also if the run was short or its first write was interrupted.
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

// A command that cannot write the ledger reports it once, because indus mcp accept cannot list the tools that it holds.
func TestALedgerThatCannotBeWrittenIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var said bytes.Buffer
	f := LedgerFlags{path: filepath.Join(dir, "ledger.jsonl")}
	p, err := f.openPins(t.Context(), show.New(nil, nil, &said))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Append(t.Context(), ledger.Entry{
			Op: ledger.Hold, Run: "one", Server: "fs", Tool: "read", Sum: "1",
		}); err == nil {
			t.Fatal("it was written")
		}
	}
	if got := said.String(); strings.Count(got,
		"indus: the ledger cannot be written, and lacks the tools that were seen now: ") != 1 {
		t.Errorf("it says %q", got)
	}
}
