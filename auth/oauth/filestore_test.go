package oauth_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/auth/oauth"
)

var (
	alice = oauth.Key{Resource: "https://a.example/mcp", Principal: "alice"}
	local = oauth.Key{Resource: "https://a.example/mcp"}
)

// storeIn returns a store for tests, which has no keychain.
func storeIn(dir string) *oauth.FileStore {
	return oauth.NewFileStore(filepath.Join(dir, "oauth.json"), &oauth.FileStoreOptions{NoKeychain: true})
}

func put(t testing.TB, s oauth.Store, k oauth.Key, value string) {
	t.Helper()
	if err := s.Put(t.Context(), k, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t testing.TB, s oauth.Store, k oauth.Key, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), k)
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestFileStoreKeepsWhatWasPut(t *testing.T) {
	dir := t.TempDir()
	s := storeIn(filepath.Join(dir, "made"))
	wantValue(t, s, alice, "")
	put(t, s, alice, `{"secret": "token-of-alice" }`)
	put(t, s, local, "local")
	other := storeIn(filepath.Join(dir, "made")) // like another process
	wantValue(t, other, alice, `{"secret": "token-of-alice" }`)
	put(t, other, local, "newer")
	wantValue(t, s, local, "newer")
	if err := other.Delete(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), alice); err != nil {
		t.Error(err)
	}
	wantValue(t, s, alice, "")
	keys, err := s.Keys(t.Context())
	if diff := cmp.Diff([]oauth.Key{local}, keys); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestFileStoreShowsNothing(t *testing.T) {
	dir := t.TempDir()
	s := storeIn(dir)
	put(t, s, alice, "token-of-alice")
	text, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"token", "alice", "example"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the file shows %q: %s", secret, text)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, s); got != s.Path() {
			t.Errorf("%s: %s", verb, got)
		}
	}
	for _, name := range []string{"oauth.json", "oauth.json.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// For every damaged or replaced file, there is an error with a remedy, and the file stays.
func TestFileStoreLeavesAloneWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	s := storeIn(dir)
	put(t, s, alice, "token-of-alice")
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, text []byte, want string) {
		t.Helper()
		if err := os.WriteFile(s.Path(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		fresh := storeIn(dir)
		_, got := fresh.Get(t.Context(), alice)
		put := fresh.Put(t.Context(), local, []byte("x"))
		gone := fresh.Delete(t.Context(), alice)
		for _, err := range []error{got, put, gone} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Path()) {
				t.Fatalf("%s: %v, want %q", name, err, want)
			}
		}
		if after, _ := os.ReadFile(s.Path()); !bytes.Equal(after, text) {
			t.Fatalf("%s: the file is another one", name)
		}
	}
	for n := range len(whole) - 1 { // the last byte is the line break
		check(fmt.Sprintf("cut at %d", n), whole[:n], "left as it is")
	}
	for at := 0; at < len(whole)-1; at += 3 {
		altered := bytes.Clone(whole)
		if altered[at] ^= 1; !bytes.Contains(altered[:at], []byte(`"version":`)) {
			continue // changes of the description have no effect
		}
		fresh := storeIn(dir)
		_ = os.WriteFile(s.Path(), altered, 0o600)
		if got, err := fresh.Get(t.Context(), alice); err == nil && string(got) != "token-of-alice" {
			t.Errorf("altered at %d: %q", at, got)
		}
	}
	check("a newer one", bytes.Replace(whole, []byte(`"version":1`), []byte(`"version":2`), 1), "update indus")
	check("something else", []byte(`{"servers": {}}`), "no store of sign-ins")
	check("another key", sealedElsewhere(t), "another key")
	if err := os.WriteFile(s.Path(), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := storeIn(dir).Get(t.Context(), alice); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
	_ = os.Chmod(s.Path(), 0o600)
	wantValue(t, storeIn(dir), alice, "token-of-alice")
	if err := os.Remove(s.Path() + ".key"); err != nil {
		t.Fatal(err)
	}
	check("no key", whole, "its key is gone")
	if _, err := os.Stat(s.Path() + ".key"); err == nil {
		t.Error("a new key was made, with which nothing can be read")
	}
}

func sealedElsewhere(t *testing.T) []byte {
	other := storeIn(t.TempDir())
	put(t, other, alice, "other")
	text, err := os.ReadFile(other.Path())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFileStoreWithAGivenKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oauth.json")
	old, young := hex.EncodeToString(bytes.Repeat([]byte{1}, 32)), hex.EncodeToString(bytes.Repeat([]byte{2}, 32))
	with := func(key string) *oauth.FileStore {
		return oauth.NewFileStore(path, &oauth.FileStoreOptions{Key: key, NoKeychain: true})
	}
	put(t, with(old), alice, "1")
	put(t, with(young+"\n"+old), alice, "2") // it rotates
	wantValue(t, with(young), alice, "2")
	for key, want := range map[string]string{old: "another key", "": "INDUS_STORE_KEY", "hunter2": "no key of 32 bytes"} {
		if _, err := with(key).Get(t.Context(), alice); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := os.Stat(path + ".key"); err == nil {
		t.Error("a key file was made")
	}
}

func TestFileStoreWithAKeychain(t *testing.T) {
	dir := t.TempDir()
	chain := &fakeChain{}
	wait := time.Minute
	open := func() *oauth.FileStore {
		return oauth.NewFileStore(filepath.Join(dir, "oauth.json"), oauth.WithKeychain(chain.read, chain.write, wait))
	}
	put(t, open(), alice, "1")
	wantValue(t, open(), alice, "1")
	if _, err := os.Stat(filepath.Join(dir, "oauth.json.key")); err == nil || chain.key == "" {
		t.Error("the key is not in the keychain")
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "oauth.json")); bytes.Contains(text, []byte(chain.key)) {
		t.Error("the key is in the file")
	}
	chain.err = errors.New("locked")
	if _, err := open().Get(t.Context(), alice); err == nil || !strings.Contains(err.Error(), "locked; unlock it") {
		t.Error(err)
	}
	chain.err, chain.hang, wait = nil, make(chan struct{}), 50*time.Millisecond
	hangs, reads, began := open(), chain.reads.Load(), time.Now()
	for range 1000 { // no further request is made meanwhile, and no call waits
		if _, err := hangs.Get(t.Context(), alice); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
			t.Error(err)
		}
	}
	if n := chain.reads.Load() - reads; n > 1 || time.Since(began) > 500*wait {
		t.Errorf("asked %d times, in %v", n, time.Since(began))
	}
	other := oauth.NewFileStore(filepath.Join(dir, "other.json"), oauth.WithKeychain(chain.read, chain.write, wait))
	put(t, other, alice, "2") // with a key file, because the keychain hangs
	wantValue(t, storeAt(dir, "other.json"), alice, "2")
	close(chain.hang)
}

func storeAt(dir, name string) *oauth.FileStore {
	return oauth.NewFileStore(filepath.Join(dir, name), &oauth.FileStoreOptions{NoKeychain: true})
}

type fakeChain struct {
	key  string
	err  error
	hang chan struct{}

	reads atomic.Int64
}

func (c *fakeChain) read() (string, error) {
	c.reads.Add(1)
	if c.hang != nil {
		<-c.hang
		return "", errors.New("late")
	}
	if c.key == "" && c.err == nil {
		return "", oauth.ErrNoKey
	}
	return c.key, c.err
}

func (c *fakeChain) write(text string) error { c.key = text; return nil }

const writerEnv = "INDUS_TEST_STORE"

// TestStoreWriter is the other process of the tests below. Its variable is "DIR NAME COUNT". It puts one
// value after the other.
func TestStoreWriter(t *testing.T) {
	var dir, name string
	var count int
	if n, _ := fmt.Sscan(os.Getenv(writerEnv), &dir, &name, &count); n != 3 {
		return
	}
	s := storeIn(dir)
	for i := range count {
		if err := s.Put(context.Background(), oauth.Key{Resource: name}, fmt.Appendf(nil, "%d %s", i, strings.Repeat(name, i*997%20_000))); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("put", i)
	}
	os.Exit(0)
}

func writer(t *testing.T, dir, name string, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoreWriter$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", writerEnv, dir, name, count))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// A process that is killed while it writes leaves the old values or the new ones. It loses no values of
// others.
func TestFileStoreSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	put(t, storeIn(dir), alice, "kept")
	for round := range 15 {
		cmd, lines := writer(t, dir, "w", 1<<30)
		last := -1
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "put %d", &last); err != nil {
				t.Fatal(lines.Text())
			}
			if last == round%5 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		s := storeIn(dir)
		wantValue(t, s, alice, "kept")
		got, err := s.Get(t.Context(), oauth.Key{Resource: "w"})
		var i int
		if _, scan := fmt.Sscanf(string(got), "%d", &i); err != nil || scan != nil || i < last {
			t.Fatalf("%d was put, and there is %.20q: %v", last, got, err)
		}
	}
}

func TestFileStoreOfSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	const each = 10
	var all sync.WaitGroup
	for i := range 3 {
		cmd, lines := writer(t, dir, string(rune('a'+i)), each)
		all.Go(func() {
			for lines.Scan() {
				if !strings.HasPrefix(lines.Text(), "put ") {
					t.Error(lines.Text())
				}
			}
			_ = cmd.Wait()
		})
	}
	all.Wait()
	for i := range 3 {
		got, err := storeIn(dir).Get(t.Context(), oauth.Key{Resource: string(rune('a' + i))})
		if !strings.HasPrefix(string(got), fmt.Sprint(each-1, " ")) || err != nil {
			t.Errorf("%d: %.20q, %v", i, got, err)
		}
	}
}

// Changes by another process are seen, however fast they are. A replaced file may look the same as two
// changes before.
func TestFileStoreSeesEveryChange(t *testing.T) {
	t.Parallel()
	dir, k := t.TempDir(), oauth.Key{Resource: "https://a.example"}
	one, two := storeIn(dir), storeIn(dir)
	for i := range 300 {
		want := fmt.Sprintf("%03d", i)
		if err := one.Put(t.Context(), k, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			continue
		}
		if got, err := two.Get(t.Context(), k); string(got) != want || err != nil {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestFileStoreLocksKeysApart(t *testing.T) {
	dir := t.TempDir()
	unlock, err := storeIn(dir).Lock(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	other, err := storeIn(dir).Lock(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	other()
	put(t, storeIn(dir), alice, "under its lock")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := storeIn(dir).Lock(ctx, alice); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	unlock()
	unlock()
	again, err := storeIn(dir).Lock(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
