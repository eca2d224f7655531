package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/ledger"
)

// writerEnv makes a process of the test program a writer of the log that it names.
const writerEnv = "INDUS_LEDGER_WRITER"

// writer appends batches, and prints each stored entry.
func writer(path string) {
	f, err := ledger.OpenFile(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	run := string(ledger.NewKey())
	if _, err := f.Lease(context.Background(), run); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	versions := os.Getenv(writerEnv+"_ARCHIVES") != ""
	if versions {
		ledger.Archived(f, 4<<10)
	}
	for n := 0; n < 20 || os.Getenv(writerEnv+"_ENDLESS") != ""; n++ {
		c := capability("s", fmt.Sprintf("t%d", n), strings.Repeat("text ", n%50), anyObject)
		if versions { // new versions of one tool
			c = capability("s", "t", fmt.Sprint(run, n%5, strings.Repeat(" text", 100)), anyObject)
		}
		stored, err := f.Append(context.Background(), enrolled(run, n, c), enrolled(run, n, c), ledger.Entry{Op: ledger.Health, Run: run})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, e := range stored {
			fmt.Println("kept", e.Seq, e.Hash)
		}
		for _, d := range f.Damage() {
			fmt.Println(d)
		}
	}
}

// process starts a writer.
func process(t *testing.T, path string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), writerEnv+"="+path), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// acknowledged reads the output of a writer until the writer ends.
func acknowledged(t *testing.T, into map[string]bool, lines *bufio.Scanner) {
	t.Helper()
	for lines.Scan() {
		acknowledge(t, into, lines.Text())
	}
}

func acknowledge(t *testing.T, into map[string]bool, line string) {
	t.Helper()
	entry, ok := strings.CutPrefix(line, "kept ")
	if !ok {
		t.Error(line)
		return
	}
	into[entry] = true
}

func wantKept(t *testing.T, path string, acked map[string]bool) []ledger.Entry {
	t.Helper()
	f := open(t, path)
	log := history(t, f)
	for _, e := range log {
		delete(acked, fmt.Sprint(e.Seq, " ", e.Hash))
	}
	if len(acked) > 0 {
		t.Errorf("%d entries are lost: %q", len(acked), slices.Sorted(maps.Keys(acked)))
	}
	wantWhole(t, f, len(log))
	return log
}

func TestTenProcessesAppendAtOnce(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	for range 10 {
		cmd, out := process(t, path)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	acked := map[string]bool{}
	for i, cmd := range cmds {
		acknowledged(t, acked, outs[i])
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(acked) != 600 {
		t.Errorf("%d acknowledged", len(acked))
	}
	log := wantKept(t, path, acked)
	if len(log) != 600 || len(ledger.Runs(log)) != 10 {
		t.Errorf("%d entries of %d runs", len(log), len(ledger.Runs(log)))
	}
	for _, r := range ledger.Runs(log) {
		if n := len(r.Live().Live); n != 20 {
			t.Errorf("run %s has %d live", r.ID, n)
		}
	}
	wantBatches(t, log)
}

// Ten processes append, and make the log an archive again and again, so that files come and go, and inodes are reused.
// Nothing is lost, no process finds damage, and every live tool has its text.
func TestTenProcessesAppendAndArchive(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	for range 10 {
		cmd, out := process(t, path, writerEnv+"_ARCHIVES=1")
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	acked := map[string]bool{}
	for i, cmd := range cmds {
		acknowledged(t, acked, outs[i])
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(acked) != 600 {
		t.Errorf("%d acknowledged", len(acked))
	}
	log := wantKept(t, path, acked)
	log = slices.DeleteFunc(log, func(e ledger.Entry) bool { return e.Op == ledger.Archive })
	wantBatches(t, log)
	if archives := filesOf(t, path); len(log) != 600 || len(archives) < 10 {
		t.Errorf("%d entries, and the archives %v", len(log), archives)
	}
	for _, r := range ledger.Runs(log) {
		if live := r.Live().Live; len(live) != 1 || live[0].Capability == nil {
			t.Errorf("run %s has %+v", r.ID, live)
		}
	}
}

// wantBatches checks that the entries of one append are adjacent.
func wantBatches(t *testing.T, log []ledger.Entry) {
	t.Helper()
	for i := 0; i+2 < len(log); i += 3 {
		if log[i].Run != log[i+1].Run || log[i].Run != log[i+2].Run || log[i+2].Op != ledger.Health {
			t.Fatalf("the batch at %d is torn apart", i)
		}
	}
}

// Writers are killed while they write, and others go on.
func TestProcessesKilledWhileTheyAppend(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	acked := map[string]bool{}
	for range 4 {
		cmd, out := process(t, path, writerEnv+"_ENDLESS=1")
		other, more := process(t, path)
		for range 40 {
			if !out.Scan() {
				t.Fatal("the writer has ended")
			}
			acknowledge(t, acked, out.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		acknowledged(t, acked, out)
		_ = cmd.Wait()
		acknowledged(t, acked, more)
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	}
	wantKept(t, path, acked)
}

// A run of a killed process is over once Reap finds it. A run that goes on is not.
func TestReap(t *testing.T) {
	path := logPath(t)
	f := open(t, path)
	own := string(ledger.NewKey())
	release, err := f.Lease(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, f, enrolled(own, 1, capability("s", "mine", "", anyObject)))
	cmd, out := process(t, path, writerEnv+"_ENDLESS=1")
	for range 3 {
		out.Scan()
	}
	reap := func(want int) {
		t.Helper()
		if n, err := open(t, path).Reap(t.Context()); err != nil || n != want {
			t.Errorf("%d runs reaped, %v; want %d", n, err, want)
		}
	}
	reap(0)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	acknowledged(t, map[string]bool{}, out)
	_ = cmd.Wait()
	reap(1)
	reap(0)
	var live []string
	for _, e := range ledger.Live(read(t, f)) {
		live = append(live, e.Name)
	}
	if strings.Join(live, " ") != "s__mine" {
		t.Errorf("live are %v", live)
	}
	release()
	reap(0)
	if _, err := f.Lease(t.Context(), "../x"); err == nil {
		t.Error("a lease outside")
	}
}
