//go:build unix

package audit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/control/audit"
)

// onFull opens a log and returns what it logs.
func onFull(t *testing.T, path string, o audit.OnFull) (*audit.Log, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	return open(t, path, &audit.Options{OnFull: o, Logger: slog.New(slog.NewTextHandler(&logged, nil))}), &logged
}

// TestForeignChangeStops checks that Append and Ready refuse while the file is not the one that was opened, and go on
// when it is back.
func TestForeignChangeStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change, undo func(path string) error
		want         string
	}{
		"moved": {func(p string) error { return os.Rename(p, p+".old") }, func(p string) error { return os.Rename(p+".old", p) },
			"was removed while indus writes it: put it back, or restart indus"},
		"replaced": {func(p string) error {
			return errors.Join(os.Rename(p, p+".old"), os.WriteFile(p, nil, 0o600))
		}, func(p string) error { return os.Rename(p+".old", p) }, "was replaced while indus writes it"},
		"longer": {func(p string) error { return appendTo(p, "x") }, func(p string) error {
			info, err := os.Stat(p)
			return errors.Join(err, os.Truncate(p, info.Size()-1))
		}, "was changed by another program"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stops(t, c.change, c.undo, c.want) })
		})
	}
}

// stops changes the file of a log, and changes it back.
func stops(t *testing.T, change, undo func(path string) error, want string) {
	path := newPath(t)
	l, logged := onFull(t, path, audit.Stop)
	add(t, l, call("a"))
	if err := change(path); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // in the time of the test
	for range 2 {
		if err := l.Append(&audit.Record{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	if err := l.Ready(); err == nil {
		t.Error("it is ready")
	}
	if err := undo(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(); err != nil {
		t.Error(err)
	}
	add(t, l, call("b"))
	if r := wantIntact(t, path); r.Lost != 2 {
		t.Errorf("%+v; want 2 lost records", r)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `; refused requests: 1"`) {
		t.Errorf("%s %v", text, err)
	}
	if n := strings.Count(logged.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors were logged:\n%s", n, logged)
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// TestForeignChangeContinues checks that every record is written nevertheless, and that the chain shows the change.
func TestForeignChangeContinues(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"removed":  os.Remove,
		"moved":    func(p string) error { return os.Rename(p, p+".old") },
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, []byte("torn"), 0o600)) },
		"emptied":  func(p string) error { return os.Truncate(p, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { continues(t, change) })
		})
	}
}

// continues changes the file of a log.
func continues(t *testing.T, change func(path string) error) {
	path := newPath(t)
	l, logged := onFull(t, path, audit.Continue)
	add(t, l, call("0"), call("1"))
	if err := change(path); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // in the time of the test
	add(t, l, call("2"), call("3"))
	got := read(t, path, nil)
	if len(got) != 2 || got[0].Tool != "2" {
		t.Errorf("%+v", got)
	}
	if r := verify(t, path); r.Intact() || r.Damage[0].Kind != "missing" || r.Damage[0].Last != 3 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(logged.String(), "goes on in another file") {
		t.Errorf("logged: %s", logged)
	}
}
