package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/audit"
)

// readBack returns the numbers of the records that a filter selects, the newest first.
func readBack(t testing.TB, path string, f *audit.Filter) (all []uint64, damaged int) {
	t.Helper()
	damaged, err := audit.ReadBack(t.Context(), path, f, func(r *audit.Record) error {
		all = append(all, r.Seq)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, damaged
}

// TestReadBack checks that the newest records come first, over several files, and that each place is found at which a
// reader goes on.
func TestReadBack(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, &audit.Options{MaxSize: 12 << 20})
	large := json.RawMessage(`"` + strings.Repeat("x", 30<<10) + `"`)
	const total = 900 // of 27 MB
	for i := range total {
		r := call([]string{"even", "odd"}[i%2])
		r.Arguments = large[:len(large)-1-(i*37)%20_000]
		r.Arguments = append(slices.Clone(r.Arguments), '"')
		add(t, l, r)
	}
	all, _ := readBack(t, path, nil)
	if len(all) < total {
		t.Fatalf("%d records", len(all))
	}
	for i, seq := range all {
		if want := all[0] - uint64(i); seq != want {
			t.Fatalf("record %d is number %d, want %d", i, seq, want)
		}
	}
	for before := uint64(1); before <= all[0]+5; before += 181 {
		got, _ := readBack(t, path, &audit.Filter{Before: before})
		want := all[len(all)-min(len(all), int(before)-1):]
		if !slices.Equal(got, want) {
			t.Fatalf("before %d: %d records, want %d", before, len(got), len(want))
		}
	}
	odd, _ := readBack(t, path, &audit.Filter{Before: all[10], Tool: "odd"})
	if len(odd) < total/2-10 || odd[0] >= all[10] {
		t.Errorf("%d records, the first is number %d", len(odd), odd[0])
	}
}

// TestReadBackSkipsLaterRecords checks that lines behind Filter.Before are not read: their damage is not found.
func TestReadBackSkipsLaterRecords(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	l := open(t, path, nil)
	for range 5_000 {
		add(t, l, call("a"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	copy(text[last:], "damage")
	copied := newPath(t)
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, damaged := readBack(t, copied, &audit.Filter{Before: 1 << 40}); damaged != 1 {
		t.Errorf("%d damaged lines in all", damaged)
	}
	got, damaged := readBack(t, copied, &audit.Filter{Before: 100})
	if damaged != 0 || len(got) != 99 {
		t.Errorf("%d damaged lines, %d records before number 100", damaged, len(got))
	}
}

func TestReadBackEnds(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	add(t, open(t, path, nil), call("a"), call("b"))
	enough, calls := errors.New("enough"), 0
	_, err := audit.ReadBack(t.Context(), path, nil, func(*audit.Record) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := audit.ReadBack(ctx, path, nil, func(*audit.Record) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
