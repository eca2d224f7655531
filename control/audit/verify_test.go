package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/audit"
)

// sample returns the lines of a log of 9 records: the first is about the start.
func sample(t *testing.T) [][]byte {
	t.Helper()
	path := newPath(t)
	l := open(t, path, nil)
	for i := range 8 {
		add(t, l, call(fmt.Sprint("tool", i)))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func TestVerifyFindsChanges(t *testing.T) {
	t.Parallel()
	lines := sample(t)
	replace := func(i int, old, text string) func([][]byte) [][]byte {
		return func(l [][]byte) [][]byte {
			changed := bytes.Replace(l[i], []byte(old), []byte(text), 1)
			if bytes.Equal(changed, l[i]) {
				t.Fatalf("line %d has no %s", i+1, old)
			}
			l[i] = changed
			return l
		}
	}
	hash := string(lines[3][len(`{"event_hash":"`):][:64])
	for name, c := range map[string]struct {
		change func([][]byte) [][]byte
		want   []string
	}{
		"nothing":     {func(l [][]byte) [][]byte { return l }, nil},
		"a tool":      {replace(2, "tool1", "tool9"), []string{"line 3: altered (entry 3)"}},
		"an outcome":  {replace(4, `"allowed"`, `"denied"`), []string{"line 5: altered (entry 5)"}},
		"a number":    {replace(4, `"seq":5`, `"seq":6`), []string{"line 5: altered (entry 6)"}},
		"a hash":      {replace(3, hash, strings.Repeat("0", 64)), []string{"line 4: altered (entry 4)", "line 5: altered (entry 5)"}},
		"a removed":   {func(l [][]byte) [][]byte { return slices.Delete(l, 3, 5) }, []string{"line 4: missing (entries 4 to 5)"}},
		"the first":   {func(l [][]byte) [][]byte { return l[1:] }, []string{"line 1: missing (entry 1)"}},
		"no record":   {func(l [][]byte) [][]byte { l[5] = []byte("{}\n"); return l }, []string{"line 6: unreadable"}},
		"a torn line": {func(l [][]byte) [][]byte { l[8] = l[8][:50]; return l }, []string{"line 9: torn"}},
		"swapped": {func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l },
			[]string{"line 4: reordered (entry 4)", "line 5: reordered (entry 4)", "line 6: reordered (entry 5)"}},
		"twice": {func(l [][]byte) [][]byte { return slices.Insert(l, 4, l[3]) }, []string{"line 5: reordered (entry 4)"}},
		"too long": {func(l [][]byte) [][]byte {
			return slices.Insert(l, 4, append(bytes.Repeat([]byte("x"), 8<<20), '\n'))
		}, []string{"line 5: unreadable"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			changed := slices.Concat(c.change(slices.Clone(lines))...)
			if name != "a torn line" {
				changed = append(bytes.TrimSuffix(changed, []byte("\n")), '\n')
			}
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			r := verify(t, path)
			for _, d := range r.Damage {
				got = append(got, strings.Join(strings.SplitN(d.String(), ": ", 3)[:2], ": "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if r.Intact() != (len(c.want) == 0 || name == "a torn line") {
				t.Errorf("intact: %v", r.Intact())
			}
		})
	}
}

// TestVerifyFindsEveryChangedByte changes every byte of a line in turn.
func TestVerifyFindsEveryChangedByte(t *testing.T) {
	t.Parallel()
	lines := sample(t)
	path := newPath(t)
	for at := range lines[3] {
		changed := slices.Clone(lines)
		changed[3] = bytes.Clone(lines[3])
		changed[3][at] ^= 1
		if err := os.WriteFile(path, append(slices.Concat(changed...), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, path); r.Intact() {
			t.Errorf("byte %d is not found", at)
		}
	}
}

func TestHeadFindsACutEnd(t *testing.T) {
	t.Parallel()
	lines := sample(t)
	path := newPath(t)
	write := func(n int) {
		if err := os.WriteFile(path, append(bytes.TrimSuffix(slices.Concat(lines[:n]...), []byte("\n")), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(9)
	head := verify(t, path).Head
	byHash := audit.Head{Hash: head.Hash}
	if r := verify(t, path, head, byHash); !r.Intact() || head.Seq != 9 {
		t.Errorf("%+v", r)
	}
	write(7)
	if r := verify(t, path); !r.Intact() {
		t.Error("without a head the end cannot be missed")
	}
	for _, h := range []audit.Head{head, byHash} {
		if r := verify(t, path, h); r.Intact() || r.Damage[0].Kind != "missing" {
			t.Errorf("%+v: %+v", h, r)
		}
	}
}

// TestNotedEnd checks that a log that was cut or removed while no process wrote it is found, and not begun again at 1.
func TestNotedEnd(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		path := newPath(t)
		l := open(t, path, nil)
		add(t, l, call("a"), call("b"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		open(t, path, nil)
		if r := verify(t, path); r.First != 4 || r.Intact() || r.Damage[0].Last != 3 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestDamagedEndIsContinued(t *testing.T) {
	t.Parallel()
	lines := sample(t)
	path := newPath(t)
	text := append(slices.Concat(lines[:8]...), []byte("garbage\n")...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path, nil), call("x"))
	r := verify(t, path)
	if len(r.Damage) != 1 || r.Damage[0].Kind != "unreadable" || r.Records != 10 {
		t.Errorf("%+v", r)
	}
}

func TestMissingLog(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for _, p := range []string{path, filepath.Join(path, "sub")} {
		if _, err := audit.Verify(t.Context(), p); err == nil || !strings.Contains(err.Error(), p) {
			t.Error(err)
		}
		if _, err := audit.Read(t.Context(), p, nil, nil); err == nil || !strings.Contains(err.Error(), p) {
			t.Error(err)
		}
	}
}
