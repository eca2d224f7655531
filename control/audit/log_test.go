package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gowebpki/jcs"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/internal/wire"
)

// open opens a log in a new directory, and closes it with the test.
func open(t testing.TB, path string, o *audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "audit.jsonl") }

func add(t testing.TB, l *audit.Log, records ...audit.Record) {
	t.Helper()
	for i := range records {
		if err := l.Append(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func call(tool string) audit.Record {
	return audit.Record{Type: "mcp.tools.call", Tool: tool, Server: "fs", Outcome: audit.Allowed}
}

// read returns the records of requests that a filter selects.
func read(t testing.TB, path string, f *audit.Filter) (all []audit.Record) {
	t.Helper()
	damaged, err := audit.Read(t.Context(), path, f, func(r *audit.Record) error {
		if strings.HasPrefix(r.Type, "mcp.") {
			all = append(all, *r)
		}
		return nil
	})
	if err != nil || damaged > 0 {
		t.Fatalf("%d damaged lines, %v", damaged, err)
	}
	return all
}

func verify(t testing.TB, path string, heads ...audit.Head) *audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), path, heads...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantIntact(t testing.TB, path string) *audit.Report {
	t.Helper()
	r := verify(t, path)
	if len(r.Damage) > 0 {
		t.Fatal(r.Damage)
	}
	return r
}

// full is a record in which every field is set, with hostile texts.
func full() audit.Record {
	return audit.Record{
		ID: "01J", At: time.Date(2026, 7, 28, 15, 4, 5, 6e6, time.UTC), Principal: "user:alice", Type: "mcp.tools.call",
		Tool: "read\x1b[31m\n\u2028\u2029 \"\\", Outcome: audit.Error, Target: "file:///é", Server: "fs", View: "@review",
		Client: "evil\x00\u202e", ClientVersion: "1.0", Era: "modern", Method: "tools/call", Session: "s1",
		Address: "127.0.0.1:4711", ArgumentDigest: "sha256:ab", Policies: []string{"p1", "p\t2"}, Approval: "7K2F",
		Approver: "user:bob", Duration: 1500 * time.Microsecond, BytesIn: 12, BytesOut: 1 << 40, Trace: "4bf9",
		ErrorKind: "tool", Reason: "no such file", Arguments: json.RawMessage(`{"n":12345678901234567890,"b":1,"a":"\u2028"}`),
		Result: json.RawMessage(`{"isError":true}`), Lost: 3,
	}
}

func TestRecordIsReadBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	want := full()
	add(t, open(t, path, nil), want)
	got := read(t, path, nil)
	if len(got) != 1 {
		t.Fatal(got)
	}
	want.Seq, want.Previous, want.Hash = got[0].Seq, got[0].Previous, got[0].Hash
	if d := cmp.Diff(want, got[0], cmpopts.IgnoreUnexported(want)); d != "" {
		t.Error(d)
	}
}

// TestLinesAreCanonical checks each line against another implementation of RFC 8785: the line itself, and its hash.
func TestLinesAreCanonical(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	add(t, open(t, path, nil), full(), call(""), audit.Record{}, audit.Record{
		Tool: "\xff\u2028" + strings.Repeat("\u2029é", 2000), Result: json.RawMessage("\"\xff\"")})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if canonical, err := jcs.Transform(line); err != nil || !bytes.Equal(canonical, line) {
			t.Errorf("%v\n%s\nis canonically\n%s", err, line, canonical)
		}
		var got map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		body, err := jcs.Transform(wire.Without(line, "event_hash"))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != got["event_hash"] {
			t.Errorf("the hash of %s is not that of its text", line)
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	long := strings.Repeat("x", 1<<20)
	r := audit.Record{
		ID: long, Principal: long, Type: "mcp." + long, Tool: long, Target: long, Server: long, View: long, Client: long,
		Era: long, Method: long, Session: long, Address: long, Policies: make([]string, 1000), Trace: long, Reason: long,
		Outcome: audit.Outcome(long), Arguments: json.RawMessage(strings.Repeat("\x01", 1<<20)), Result: json.RawMessage(long),
	}
	for i := range r.Policies {
		r.Policies[i] = strings.Repeat("\x01", 1<<12)
	}
	add(t, open(t, path, nil), r)
	got := read(t, path, nil)
	if len(got) != 1 {
		t.Fatal("the record is not read back")
	}
	if n := len(got[0].Principal); n > audit.MaxText || len(got[0].Policies) != audit.MaxPolicies {
		t.Errorf("the principal has %d bytes, and there are %d rules", n, len(got[0].Policies))
	}
	if n := len(got[0].Result); n > audit.MaxContent+len("…") {
		t.Errorf("the result has %d bytes", n)
	}
	wantIntact(t, path)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, &audit.Options{MaxSize: 2000})
	at := time.Date(2026, 7, 28, 15, 0, 0, 0, time.UTC)
	for i := range 40 {
		r := full()
		r.ID, r.At, r.Tool = fmt.Sprint(i), at.Add(time.Duration(i)*time.Second), fmt.Sprint("t", i%4)
		if i%2 == 0 {
			r.View, r.Target, r.Principal = "", "file:///x", ""
		}
		add(t, l, r)
	}
	all := ""
	for name, c := range map[string]struct {
		filter audit.Filter
		want   string
	}{
		"tool":      {audit.Filter{Tool: "t1", Last: 3}, "29 33 37"},
		"target":    {audit.Filter{Tool: "file:///x", Last: 2}, "36 38"},
		"view":      {audit.Filter{View: &all, Last: 2}, "36 38"},
		"principal": {audit.Filter{Principal: "user:alice", Last: 2}, "37 39"},
		"local":     {audit.Filter{Principal: "local", Last: 1}, "38"},
		"since":     {audit.Filter{Since: at.Add(38 * time.Second)}, "38 39"},
		"until":     {audit.Filter{Until: at.Add(time.Second)}, "0 1"},
		"outcome":   {audit.Filter{Outcome: audit.Error, Last: 1}, "39"},
		"none":      {audit.Filter{Outcome: audit.Denied}, ""},
		"more":      {audit.Filter{Tool: "t0", Last: 100, Until: at.Add(8 * time.Second)}, "0 4 8"},
	} {
		var ids []string
		for _, r := range read(t, path, &c.filter) {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got := read(t, path, nil); len(got) != 40 {
		t.Errorf("%d records, want 40", len(got))
	}
}

func TestOneProcessWrites(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, nil)
	_, err := audit.Open(path, nil)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is written by process %d since", os.Getpid())) ||
		!strings.Contains(err.Error(), "stop that process, or name another file") {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path, nil), call("a"))
	wantIntact(t, path)
	if err := l.Append(&audit.Record{}); err != audit.ErrClosed {
		t.Error(err)
	}
}

func TestRestartContinuesTheChain(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for i := range 3 {
		l := open(t, path, nil)
		add(t, l, call(fmt.Sprint(i)))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := wantIntact(t, path); r.Records != 6 || r.Head.Seq != 6 {
		t.Errorf("%+v", r)
	}
}

func TestTornLineIsCutAndRecorded(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, nil)
	add(t, l, call("a"), call("b"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, n := range []int{1, 2, 79, 300, len(whole) - last - 1} {
		dir := t.TempDir() // without the lock file, as after kill -9
		path := filepath.Join(dir, "audit.jsonl")
		if err := os.WriteFile(path, whole[:last+n], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, path); len(r.Damage) != 1 || r.Damage[0].Kind != "torn" || !r.Intact() {
			t.Errorf("before: %v", r.Damage)
		}
		add(t, open(t, path, nil), call("c"))
		var types []string
		if _, err := audit.Read(t.Context(), path, nil, func(r *audit.Record) error {
			types = append(types, r.Type+" "+r.Reason)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("indus.audit.torn %d bytes", n); !strings.Contains(strings.Join(types, "\n"), want) {
			t.Errorf("no %q in %q", want, types)
		}
		wantIntact(t, path)
	}
}

func TestRotationKeepsOneChain(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, &audit.Options{MaxSize: 1500, Keep: 3})
	for i := range 100 {
		add(t, l, call(fmt.Sprint(i)))
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "audit-*Z.jsonl"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	r := wantIntact(t, path)
	if r.First < 10 || r.Files != 4 {
		t.Errorf("%+v", r)
	}
	for _, name := range append(files, path) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 1500 {
			t.Error(name, info.Mode(), info.Size(), err)
		}
	}
	if err := os.Remove(files[0]); err != nil { // without a record about it
		t.Fatal(err)
	}
	if d := verify(t, path).Damage; len(d) != 1 || d[0].Kind != "missing" || d[0].Seq != r.First {
		t.Errorf("%v; want a file that is missing from %d", d, r.First)
	}
}

func TestRotationByAge(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, &audit.Options{MaxAge: time.Nanosecond})
	add(t, l, call("a"), call("b"))
	if r := wantIntact(t, path); r.Files != 3 { // the record about the start is a file as well
		t.Errorf("%d files, want 3", r.Files)
	}
}
