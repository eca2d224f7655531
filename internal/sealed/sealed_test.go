package sealed_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/internal/sealed"
)

// aliceToken returns a token with all fields, and the matching Want.
func aliceToken() (sealed.Token, sealed.Want) {
	sum := sealed.Digest([]byte("tools/call"), []byte(`{"name":"a"}`))
	return sealed.Token{
			Kind: sealed.RequestState, Replica: "10.0.0.1:7332", Principal: "alice", Digest: sum, Data: []byte("state"),
			Expires: time.Now().Add(time.Minute).Truncate(time.Millisecond),
		}, sealed.Want{
			Kind: sealed.RequestState, Principal: "alice", Digest: sum,
		}
}

func TestATokenComesBackAsItWas(t *testing.T) {
	keys := sealed.Random()
	full, want := aliceToken()
	for _, test := range []struct {
		token sealed.Token
		want  sealed.Want
	}{
		{full, want},
		{sealed.Token{}, sealed.Want{}},
		{sealed.Token{Kind: sealed.Session}, sealed.Want{Kind: sealed.Session}},
		{sealed.Token{Kind: sealed.Cursor, Principal: strings.Repeat("p", 1000), Data: bytes.Repeat([]byte{0}, 4<<10)},
			sealed.Want{Kind: sealed.Cursor, Principal: strings.Repeat("p", 1000)}},
	} {
		text := keys.Seal(test.token)
		if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
			t.Errorf("%q is no visible ASCII", text[i])
		}
		if text == keys.Seal(test.token) {
			t.Error("two tokens are one text")
		}
		got, err := keys.Open(text, test.want)
		if diff := cmp.Diff(test.token, got, cmpopts.EquateApproxTime(0)); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}

func TestWhatATokenIsNotForIsRefused(t *testing.T) {
	synctest.Test(t, testWhatATokenIsNotFor) // with a clock that stands still
}

func testWhatATokenIsNotFor(t *testing.T) {
	keys := sealed.Random()
	token, want := aliceToken()
	plain := token
	plain.Digest, plain.Expires = [32]byte{}, time.Time{}
	expires := func(in time.Duration) sealed.Token {
		t := token
		t.Expires = time.Now().Add(in)
		return t
	}
	for name, test := range map[string]struct {
		token  sealed.Token
		change func(*sealed.Want)
		err    error
	}{
		"another kind":                {token, func(w *sealed.Want) { w.Kind = sealed.Session }, sealed.ErrKind},
		"no kind":                     {token, func(w *sealed.Want) { w.Kind = 0 }, sealed.ErrKind},
		"another principal":           {token, func(w *sealed.Want) { w.Principal = "bob" }, sealed.ErrPrincipal},
		"nobody":                      {token, func(w *sealed.Want) { w.Principal = "" }, sealed.ErrPrincipal},
		"another request":             {token, func(w *sealed.Want) { w.Digest[31]++ }, sealed.ErrRequest},
		"no request":                  {token, func(w *sealed.Want) { w.Digest = [32]byte{} }, sealed.ErrRequest},
		"a request where it has none": {plain, func(*sealed.Want) {}, sealed.ErrRequest},
		"just in time":                {expires(time.Millisecond), func(*sealed.Want) {}, nil},
		"late":                        {expires(0), func(*sealed.Want) {}, sealed.ErrExpired},
		"never late":                  {plain, func(w *sealed.Want) { w.Digest = [32]byte{} }, nil},
	} {
		w := want
		test.change(&w)
		got, err := keys.Open(keys.Seal(test.token), w)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
		}
		if err != nil && !cmp.Equal(got, sealed.Token{}) {
			t.Errorf("%s: a refused token says %+v", name, got)
		}
	}
	time.Sleep(100 * 365 * 24 * time.Hour)
	want.Digest = [32]byte{}
	if _, err := keys.Open(keys.Seal(plain), want); err != nil {
		t.Errorf("never late: %v", err)
	}
}

// TestEveryAlteredByteIsRefused replaces each character of a token by every other one, cuts the token at
// each place, and appends to it.
func TestEveryAlteredByteIsRefused(t *testing.T) {
	keys := sealed.Random()
	token, want := aliceToken()
	text := keys.Seal(token)
	refused := func(altered string) {
		t.Helper()
		if _, err := keys.Open(altered, want); !errors.Is(err, sealed.ErrAltered) {
			t.Errorf("%q: %v", altered, err)
		}
	}
	for i := range len(text) {
		refused(text[:i])
		refused(text[i+1:])
		for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ \n\r\x00" {
			if byte(c) != text[i] {
				refused(text[:i] + string(c) + text[i+1:])
			}
			if strings.ContainsRune("\r\n= ", c) {
				refused(text[:i] + string(c) + text[i:])
			}
		}
	}
	refused(text + "\n")
	refused(text + "A")
	refused(text + "=")
	if _, err := sealed.Random().Open(text, want); !errors.Is(err, sealed.ErrAltered) {
		t.Errorf("with another key: %v", err)
	}
}

func TestKeysRotate(t *testing.T) {
	was, is := bytes.Repeat([]byte{1}, sealed.KeySize), bytes.Repeat([]byte{2}, sealed.KeySize)
	keysOf := func(keys ...[]byte) *sealed.Keys {
		t.Helper()
		k, err := sealed.NewKeys(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	before, during, after := keysOf(was), keysOf(is, was), keysOf(is)
	token, want := aliceToken()
	for name, test := range map[string]struct {
		seals, opens *sealed.Keys
		err          error
	}{
		"an old token while they rotate": {before, during, nil},
		"a new token while they rotate":  {during, after, nil},
		"an old token afterwards":        {before, after, sealed.ErrAltered},
		"the old key seals no more":      {during, before, sealed.ErrAltered},
	} {
		if _, err := test.opens.Open(test.seals.Seal(token), want); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "keys")
	used := keysOf(was)
	old := used.Seal(token)
	reread := func(keys ...[]byte) error {
		text := ""
		for _, key := range keys {
			text += hex.EncodeToString(key) + "\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := used.Reread(path)
		return err
	}
	opens := func(k *sealed.Keys, text string, is error) {
		t.Helper()
		if _, err := k.Open(text, want); !errors.Is(err, is) {
			t.Errorf("%v, want %v", err, is)
		}
	}
	if err := reread(is, was); err != nil {
		t.Error(err)
	}
	opens(used, old, nil)
	opens(after, used.Seal(token), nil)
	if err := reread(is[:31]); err == nil || !strings.Contains(err.Error(), path+":1: ") {
		t.Errorf("a file with half a key: %v", err)
	}
	opens(used, old, nil)
	if err := reread(is); err != nil {
		t.Error(err)
	}
	opens(used, old, sealed.ErrAltered)
	for _, keys := range [][][]byte{nil, {was[:31]}, {is, nil}, {append(was, 1)}} {
		if _, err := sealed.NewKeys(keys...); err == nil {
			t.Errorf("%d keys are taken", len(keys))
		}
	}
}

func TestSealSame(t *testing.T) {
	keys := sealed.Random()
	token, want := aliceToken()
	text := keys.SealSame(token)
	if got, err := keys.Open(text, want); err != nil ||
		!cmp.Equal(got, token, cmpopts.EquateApproxTime(time.Millisecond)) {
		t.Errorf("%+v, %v", got, err)
	}
	other := token
	other.Principal = "bob"
	if keys.SealSame(token) != text || keys.SealSame(other) == text || sealed.Random().SealSame(token) == text ||
		keys.Seal(token) == text {
		t.Error("one token has two texts, or two have one")
	}
	if _, err := keys.Open(text[:len(text)-1]+"A", want); err == nil {
		t.Error("an altered one is opened")
	}
}

func TestPartsOfARequestAreTheirDigest(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	sum := sealed.Digest(b("ab"), b("c"))
	if sum != sealed.Digest(b("ab"), b("c")) {
		t.Error("one request has two digests")
	}
	for _, other := range [][32]byte{sealed.Digest(b("a"), b("bc")), sealed.Digest(b("abc")),
		sealed.Digest(b("ab"), b("c"), nil), sealed.Digest()} {
		if sum == other {
			t.Error("two requests have one digest")
		}
	}
}

func FuzzOpen(f *testing.F) {
	keys := sealed.Random()
	token, want := aliceToken()
	f.Add([]byte(sealed.Random().Seal(token)), 0, byte(1), "alice", []byte("state"))
	f.Fuzz(func(t *testing.T, foreign []byte, at int, by byte, principal string, data []byte) {
		if _, err := keys.Open(string(foreign), want); err == nil {
			t.Fatalf("%q is taken", foreign)
		}
		token, want := token, want
		token.Principal, token.Data, want.Principal = principal, data, principal
		text := []byte(keys.Seal(token))
		got, err := keys.Open(string(text), want)
		if diff := cmp.Diff(token, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		if by != 0 {
			at = int(uint(at) % uint(len(text)))
			text[at] ^= by
			if _, err := keys.Open(string(text), want); !errors.Is(err, sealed.ErrAltered) {
				t.Fatalf("byte %d altered: %v", at, err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	keys := sealed.Random()
	text := keys.Seal(sealed.Token{Kind: sealed.Session, Replica: "10.0.0.1:7332", Principal: "alice"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Open(text, sealed.Want{Kind: sealed.Session, Principal: "alice"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	keys := sealed.Random()
	b.ReportAllocs()
	for b.Loop() {
		keys.Seal(sealed.Token{Kind: sealed.Session, Replica: "10.0.0.1:7332", Principal: "alice"})
	}
}
