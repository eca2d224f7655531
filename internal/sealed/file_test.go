package sealed_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/sealed"
)

const keyFileEnv = "SEALED_TEST_KEY_FILE"

// TestMain is also a program that seals a token with the key of a file.
func TestMain(m *testing.M) {
	path := os.Getenv(keyFileEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	keys, err := sealed.KeyFile(context.Background(), path)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString(keys.Seal(sealed.Token{}))
}

func TestKeyFileIsMadeOnceForItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var outs [4]bytes.Buffer
	var commands [4]*exec.Cmd
	for i := range commands {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), keyFileEnv+"="+path)
		c.Stdout, c.Stderr = &outs[i], &outs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands[i] = c
	}
	for _, c := range commands {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	keys, err := sealed.KeyFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range outs {
		if _, err := keys.Open(outs[i].String(), sealed.Want{}); err != nil {
			t.Errorf("process %d has another key: %v; %s", i, err, &outs[i])
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if left, _ := filepath.Glob(path + ".new-*"); left != nil {
		t.Error(left)
	}
}

func TestKeyFileIsRead(t *testing.T) {
	a, b := bytes.Repeat([]byte{0xfb}, sealed.KeySize), bytes.Repeat([]byte{0xff, 1}, sealed.KeySize/2)
	hexA := hex.EncodeToString(a)
	for name, test := range map[string]struct {
		text string
		want [][]byte
		err  string
	}{
		"hexadecimal":          {hexA + "\n", [][]byte{a}, ""},
		"capitals":             {strings.ToUpper(hexA), [][]byte{a}, ""},
		"base64":               {base64.StdEncoding.EncodeToString(a), [][]byte{a}, ""},
		"base64url":            {base64.RawURLEncoding.EncodeToString(b), [][]byte{b}, ""},
		"two, the newer first": {"# since July\r\n" + hexA + "\r\n\n# before\n " + hex.EncodeToString(b), [][]byte{a, b}, ""},
		"none":                 {"\n# none\n", nil, "key: no key in it; remove it, and a new one is made"},
		"empty":                {"", nil, "no key in it"},
		"short":                {hexA + "\n" + hexA[:62], nil, "key:2: no key of 32 bytes in hexadecimal or base64"},
		"a password":           {"correct horse battery staple", nil, "key:1: no key"},
		"endless":              {strings.Repeat("#\n", 40<<10), nil, "larger than 64 KiB"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := sealed.KeyFile(t.Context(), path)
		if (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %d keys", name, got, len(test.want))
		}
		for i, key := range test.want {
			one, wrong := sealed.NewKeys(key)
			if wrong != nil {
				t.Fatal(wrong)
			}
			if _, err := got.Open(one.Seal(sealed.Token{}), sealed.Want{}); err != nil {
				t.Errorf("%s: key %d does not open: %v", name, i, err)
			}
			if _, err := one.Open(got.Seal(sealed.Token{}), sealed.Want{}); (err == nil) != (i == 0) {
				t.Errorf("%s: key %d seals: %v", name, i, err)
			}
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && test.text != "" && strings.Contains(err.Error(), strings.TrimSpace(test.text)) {
			t.Errorf("%s: the error shows the file: %v", name, err)
		}
		if left, _ := filepath.Glob(path + ".*"); left != nil {
			t.Errorf("%s: reading leaves %v", name, left)
		}
	}
}

func TestKeyFileThatOthersMayUseIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := filepath.Join(t.TempDir(), "key")
	if _, err := sealed.KeyFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o620, 0o604, 0o602, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if keys, err := sealed.KeyFile(t.Context(), path); err == nil || keys != nil ||
			!strings.Contains(err.Error(), "others may read or write") {
			t.Errorf("%04o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := sealed.KeyFile(t.Context(), path); err != nil {
		t.Error(err)
	}
}

func TestKeyFileNowhere(t *testing.T) {
	if _, err := sealed.KeyFile(t.Context(), filepath.Join(t.TempDir(), "none", "key")); err == nil {
		t.Error("no error")
	}
}
