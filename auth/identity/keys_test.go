package identity_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/auth/identity"
)

func keyFile(t *testing.T) (string, *identity.Keys) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	return path, identity.NewKeys(path)
}

func added(t *testing.T, k *identity.Keys, key identity.Key) (string, identity.Key) {
	t.Helper()
	token, made, err := k.Add(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return token, made
}

// A change by another process applies to the very next request.
func TestKeysFollowTheirFile(t *testing.T) {
	t.Parallel()
	path, serving := keyFile(t)
	other := identity.NewKeys(path)
	if _, err := serving.Verify(t.Context(), "indus_a.b"); !errors.Is(err, identity.ErrInvalid) {
		t.Errorf("no file: %v", err)
	}
	for range 30 {
		token, key := added(t, other, identity.Key{Name: "ann", Views: []string{"github"}})
		id, err := serving.Verify(t.Context(), token)
		if err != nil || id.Principal != "user:ann" || id.Views[0] != "github" {
			t.Fatal(id, err)
		}
		if err := other.Remove(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := serving.Verify(t.Context(), token); !errors.Is(err, identity.ErrInvalid) {
			t.Fatal(err)
		}
	}
	if err := other.Remove(t.Context(), "nobody"); !errors.Is(err, identity.ErrNoKey) {
		t.Error(err)
	}
}

func TestAKeyIsItsSecretAndNothingElse(t *testing.T) {
	t.Parallel()
	path, k := keyFile(t)
	token, key := added(t, k, identity.Key{})
	_, other := added(t, k, identity.Key{})
	id, err := k.Verify(t.Context(), token)
	if err != nil || string(id.Principal) != "key:"+key.ID {
		t.Fatal(id, err)
	}
	_, secret, _ := strings.Cut(token, ".")
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the file has the secret, or %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, wrong := range []string{
		token + "a", token[:len(token)-1], identity.KeyPrefix + key.ID + ".", identity.KeyPrefix + key.ID, identity.KeyPrefix,
		identity.KeyPrefix + other.ID + "." + secret, identity.KeyPrefix + key.ID + "." + key.Hash, strings.ToUpper(token[:20]) + token[20:],
	} {
		if id, err := k.Verify(t.Context(), wrong); err == nil {
			t.Errorf("%s is %s", wrong, id.Principal)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	ended, _ := added(t, k, identity.Key{Expires: time.Now().Add(-time.Second)})
	if _, err := k.Verify(t.Context(), ended); !errors.Is(err, identity.ErrInvalid) {
		t.Errorf("expired: %v", err)
	}
}

// With a file that cannot be trusted, every key is refused with the reason.
func TestFilesOfKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half":    `{"version":1,"keys":[{"id":"a"`,
		"version": `{"version":2,"keys":[]}`,
		"limit":   `{"version":1,"keys":[{"id":"a","sha256":"` + strings.Repeat("0", 64) + `","onlyFrom":"10.0.0.0/8"}]}`,
		"hash":    `{"version":1,"keys":[{"id":"a","sha256":"00"}]}`,
		"longer":  `{"version":1,"keys":[{"id":"a","sha256":"` + strings.Repeat("0", 66) + `"}]}`,
		"mode":    `{"version":1,"keys":[]}`,
	} {
		path, k := keyFile(t)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "mode" {
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		_, err := k.Verify(t.Context(), "indus_a.b")
		if err == nil || errors.Is(err, identity.ErrInvalid) || errors.Is(err, identity.ErrForeign) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key for no view is valid for no view when it is read again, and not for all.
func TestAKeyForNoViewIsForNone(t *testing.T) {
	t.Parallel()
	_, k := keyFile(t)
	token, _ := added(t, k, identity.Key{Views: []string{}})
	if id, err := k.Verify(t.Context(), token); err != nil || id.Views == nil {
		t.Errorf("%+v, %v", id, err)
	}
}

// TestKeysOfManyProcesses adds keys from several processes at once. One of them is killed again and again. No key is
// lost.
func TestKeysOfManyProcesses(t *testing.T) {
	if path := os.Getenv("INDUS_TEST_KEYS"); path != "" {
		for i := range 25 {
			if _, _, err := identity.NewKeys(path).Add(context.Background(), identity.Key{Name: fmt.Sprint(os.Getenv("INDUS_TEST_NAME"), i)}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	t.Parallel()
	path, k := keyFile(t)
	child := func(name string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKeysOfManyProcesses$")
		cmd.Env = append(os.Environ(), "INDUS_TEST_KEYS="+path, "INDUS_TEST_NAME="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	var running sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		cmd := child(name)
		running.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for range 3 {
		victim := child("victim")
		for start, n := time.Now(), count(t, k); count(t, k) == n && time.Since(start) < time.Second; {
			continue // until a key is being written
		}
		_ = victim.Process.Kill()
		_ = victim.Wait()
	}
	running.Wait()
	list, err := k.List()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, key := range list {
		found[key.Name[:1]]++
	}
	if found["a"] != 25 || found["b"] != 25 {
		t.Errorf("%v", found)
	}
}

func count(t *testing.T, k *identity.Keys) int {
	t.Helper()
	list, err := k.List()
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
