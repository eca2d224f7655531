//go:build unix

package mcpconfig_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// If two headers differ only in case, the later one is sent. So a change of
// their order must need a new approval.
func TestHeadersHaveNoCase(t *testing.T) {
	p := newProject(t)
	const one, two = `"authorization": "one"`, `"Authorization": "two"`
	p.write(`{"servers": {"a": {"url": "https://h/", "headers": {` + one + `, ` + two + `}}}}`)
	c := p.read()
	if n := c.Notes[1].Reason; n != `headers "authorization" comes again; the last counts` {
		t.Error(n)
	}
	p.approve(c.Held()...)
	c = p.read()
	want := []string{"Authorization=two"}
	if diff := cmp.Diff(want, pairs(c.Servers()[0].Transport.(config.HTTP).Headers)); diff != "" {
		t.Error(diff)
	}
	p.write(`{"servers": {"a": {"url": "https://h/", "headers": {` + two + `, ` + one + `}}}}`)
	if got := states(p.read()); got != "a held" {
		t.Errorf("the other way round: %s", got)
	}
}

// A value that was written into a name is not printed either.
func TestANoteCutsANameThatHasAValue(t *testing.T) {
	c, err := readText(t, `{"servers": {
		"a": {"command": "x", "env": {"TOKEN=s3cret": "", "TOKEN=s3cret": "b"}},
		"b": {"url": "https://h/", "headers": {"Authorization: Bearer s3cret": ""}}
	}}`)
	if err != nil || len(c.Notes) != 3 {
		t.Fatal(c, err)
	}
	for i, want := range []string{`env "TOKEN…" comes again`, `env "TOKEN…" is left out`, `headers "Authorization…" is left out`} {
		if got := c.Notes[i].String(); !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A hint is read on a terminal, and a stranger may have chosen the names of the
// files.
func TestAHintQuotesNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mcp\x1b[31m"), "{}")
	_, err := mcpconfig.Read(t.Context(), []string{filepath.Join(dir, "mcp[31m")}, nil)
	if err == nil || !strings.Contains(err.Error(), `mcp\x1b[31m"?`) {
		t.Errorf("%q", err)
	}
}

// A file in the working directory does not belong to the user, even if HOME
// leads there.
func TestARelativeHomeIsIgnored(t *testing.T) {
	p := newProject(t)
	t.Chdir(p.home)
	write(t, filepath.Join(".config", "indusvx", "mcp.json"), `{"servers": {"evil": {"command": "x"}}}`)
	o := &mcpconfig.Options{Env: lookup(map[string]string{"HOME": "."})}
	c, err := mcpconfig.Read(t.Context(), nil, o)
	if err != nil || len(c.Rows) != 0 || len(c.Notes) != 1 || c.Notes[0].String() != "HOME is not an absolute path and is ignored" {
		t.Error(c, err)
	}
	if dir := mcpconfig.StateDir(o); dir != "" {
		t.Errorf("state in %s", dir)
	}
}

func TestAnApprovalCanBeTakenBackWhenItsFileIsGone(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}}}`)
	rows := p.read().Held()
	p.approve(rows...)
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if err := mcpconfig.Revoke(p.options(), rows...); err != nil {
		t.Error(err)
	}
	if list, err := mcpconfig.Approvals(p.options()); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
}

func TestTheStoreMayBeALink(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}, "b": {"command": "x"}}}`)
	real := filepath.Join(p.home, "dotfiles", "approvals.json")
	for _, path := range []string{p.store(), real} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(real, p.store()); err != nil {
		t.Fatal(err)
	}
	rows := p.read().Held()
	p.approve(rows[0])
	p.approve(rows[1])
	if got := states(p.read()); got != "a active\nb active" {
		t.Error(got)
	}
	if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() {
		t.Error(info, err)
	}
	if to, err := os.Readlink(p.store()); err != nil || to != real {
		t.Error(to, err)
	}
	// If another user may replace the target of the link, no approval counts.
	if err := os.Chmod(filepath.Dir(real), 0o777); err != nil {
		t.Fatal(err)
	}
	c := p.read()
	if got := states(c); got != "a held\nb held" || !strings.Contains(c.Notes[0].Reason, "dotfiles: others may write here (mode 0777)") {
		t.Error(got, c.Notes[0])
	}
}

func TestAnotherUsersStoreCountsForNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	for _, dir := range []bool{false, true} {
		p := newProject(t)
		p.write(`{"servers": {"a": {"command": "x"}}}`)
		rows := p.read().Held()
		p.approve(rows...)
		path := p.store()
		if dir {
			path = filepath.Dir(path)
		}
		if err := os.Chown(path, 12345, -1); err != nil {
			t.Skip(err)
		}
		c := p.read()
		if got := states(c); got != "a held" || !strings.Contains(c.Notes[0].Reason, path+": belongs to another user, so nothing in it counts") {
			t.Error(got, c.Notes[0])
		}
		if err := mcpconfig.Approve(p.options(), rows...); err == nil {
			t.Error("written all the same")
		}
	}
}

// If another user may write in a place, not even the file of a lock is made
// there.
func TestNothingIsMadeInAPlaceOfOthers(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}}}`)
	state := filepath.Dir(p.store())
	mkdir(t, state)
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	err := mcpconfig.Approve(p.options(), p.read().Held()...)
	if err == nil || !strings.Contains(err.Error(), "others may write here") {
		t.Error(err)
	}
	if entries, err := os.ReadDir(state); err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
}

// The pipe is named, so it is opened. No process ever writes into it.
func TestReadDoesNotWaitForAPipeBeyondItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan *os.File)
	go func() {
		f, _ := os.OpenFile(path, os.O_WRONLY, 0) // returns once Read has it open
		cancel()
		opened <- f
	}()
	if c, err := mcpconfig.Read(ctx, []string{path}, nil); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
	(<-opened).Close()
}

func TestAReadingFetchesSoMuchAndNoMore(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	path := filepath.Join(dir, "mcp.json")
	var args []string
	for i := range 101 {
		args = append(args, fmt.Sprintf(`"${cmd:echo %d >> ran; echo x}"`, i))
	}
	write(t, path, `{"servers": {"a": {"command": "x", "args": [`+strings.Join(args, ",")+`]}, "b": {"command": "x"}}}`)
	c, err := mcpconfig.Read(t.Context(), []string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := states(c); got != "a skipped\nb active" || c.Rows[0].Reason != "args[100]: ${cmd:…} is not run: a reading runs at most 100 commands" {
		t.Error(got, c.Rows[0].Reason)
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || strings.Count(string(ran), "\n") != 100 {
		t.Errorf("%d ran, %v", strings.Count(string(ran), "\n"), err)
	}
}

// A command that leaves its group and holds its output open must not delay the
// reading.
func TestACommandThatGetsAwayHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	p := pipe(t)
	pids := make(chan string, 1)
	go func() { pids <- told(t, p) }()
	value, wrong := mcpconfig.RunSecret(t.Context(), `(set -m; sh -c 'trap "" TERM HUP; echo $$ > `+p+`; exec sleep 1000') & echo done; exec sleep 1000`, 2e9)
	if value != "" || wrong != "took longer than 2 s" {
		t.Errorf("%q, %s", value, wrong)
	}
	var pid int
	if _, err := fmt.Sscan(<-pids, &pid); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
