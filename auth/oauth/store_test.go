package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
)

// Values from an authorization server can be of any size, but leave room for others.
func TestStoresAreShared(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1100<<10)
	for name, s := range map[string]oauth.Store{"memory": &oauth.MemoryStore{}, "file": storeIn(t.TempDir())} {
		put(t, s, alice, long)
		err := s.Put(t.Context(), local, []byte(long))
		if err == nil || !strings.Contains(err.Error(), "the sign-ins at https://a.example/mcp would take more than 2097152 bytes: remove a sign-in there") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := &oauth.MemoryStore{}
	put(t, s, alice, long)
	put(t, s, oauth.Key{Resource: "https://b.example/mcp"}, long)
	put(t, s, alice, "shorter")
	put(t, s, local, long)
}

// Old registrations make room for new ones, whatever the names of their issuers.
func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	s, kept := &oauth.MemoryStore{}, 0
	put(t, s, alice, "signed in")
	for n := range 8 {
		put(t, s, oauth.Key{Issuer: fmt.Sprint(n, strings.Repeat("y", 400<<10))}, "registration")
	}
	for n := range 8 {
		v, err := s.Get(t.Context(), oauth.Key{Issuer: fmt.Sprint(n, strings.Repeat("y", 400<<10))})
		if err != nil || n == 7 && v == nil {
			t.Errorf("the last is not kept: %v", err)
		}
		if v != nil {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d are kept", kept)
	}
	wantValue(t, s, alice, "signed in")
}

func TestSignInThatIsTooLong(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("a", 15<<10)
	for answer, want := range map[string]string{
		`{"access_token":"` + token + `","refresh_token":"` + token + `"}`:                                                 "",
		`{"access_token":"` + token + token + `"}`:                                                                         "no header can carry",
		`{"access_token":"` + token + `","refresh_token":"` + token + `","scope":"` + strings.Repeat("abc ", 4<<10) + `"}`: "",
		`{"access_token":"` + token + `","refresh_token":"` + token + `","scope":"` + scopesOf(100, 200) + `"}`:            "bytes to store, more than 32768",
	} {
		a := attack(t, map[string]http.HandlerFunc{"/token": says(answer)})
		err := newClient(t, oauth.Options{Interact: visitor()}).SignIn(t.Context(), a.URL+"/mcp", "")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// scopesOf returns n scopes of size bytes each.
func scopesOf(n, size int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%0*d", size, i))
	}
	return strings.Join(all, " ")
}
