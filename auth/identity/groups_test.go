package identity_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/auth/identity"
)

// groupCases are claims of tokens, with the groups that they give. Nil groups: the token is refused.
func groupCases() map[string][]string {
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint("g", i)
	}
	tooMany, _ := json.Marshal(many)
	return map[string][]string{
		`{}`: {},
		`{"groups":["ops","/dev","ops","urn:x:y"],"roles":["Task.Read"],"scp":"read write"}`: {"/dev", "ops", "role:Task.Read",
			"scope:read", "scope:write", "urn:x:y"},
		`{"realm_access":{"roles":["admin","user"]},"resource_access":{"other":{"roles":["boss"]}}}`: {"role:admin", "role:user"},
		`{"scope":"admin"}`:                      {"scope:admin"},
		`{"groups":"admin","roles":"two words"}`: {"admin", "role:two words"},
		`{"groups":[{"value":"dev"},7,null,"",["x"]],"roles":true,"realm_access":["admin"]}`: {},
		`{"groups":["role:admin"]}`:                           nil,
		`{"groups":["scope:admin"]}`:                          nil,
		`{"groups":["a\ufffdb"]}`:                             nil,
		`{"groups":` + string(tooMany) + `}`:                  nil,
		`{"roles":["` + strings.Repeat("x", 256) + `"]}`:      nil,
		`{"groups":["` + strings.Repeat("x", 255) + `","y"]}`: {strings.Repeat("x", 255), "y"},
	}
}

// The groups, roles and scopes of a token are its groups, and none of one kind is equal to one of another kind. A token
// whose groups are not all known is refused.
func TestTheGroupsOfAToken(t *testing.T) {
	t.Parallel()
	p := &provider{keys: []map[string]any{jwk("rsa", rsaKey())}}
	signedBy := newJWT(t, p, identity.Issuer{})
	for claims, want := range groupCases() {
		var all map[string]any
		if err := json.Unmarshal([]byte(claims), &all); err != nil {
			t.Fatal(err)
		}
		if all["scope"] == nil { // the claims of a test have one
			all["scope"] = ""
		}
		id, err := signedBy.Verify(t.Context(), signed(t, jwt.SigningMethodRS256, rsaKey(), nil, all))
		checkGroups(t, "signed, "+claims, id, err, want)

		all["active"], all["sub"] = true, "ann"
		answer, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		id, err = newIntrospection(t, &introspector{answer: string(answer)}).Verify(t.Context(), "token")
		checkGroups(t, "introspected, "+claims, id, err, want)
	}
}

func checkGroups(t *testing.T, what string, id *identity.Identity, err error, want []string) {
	t.Helper()
	switch {
	case want == nil:
		if !errors.Is(err, identity.ErrInvalid) {
			t.Errorf("%.100s: %+v, %v", what, id, err)
		}
	case err != nil:
		t.Errorf("%.100s: %v", what, err)
	case !cmp.Equal(append([]string{}, id.Groups...), want):
		t.Errorf("%.100s: %q instead of %q", what, id.Groups, want)
	}
}

// A key has its own groups, sorted, each once. A name that could be taken for another kind of group or principal is
// refused, also in a file that another program wrote.
func TestTheGroupsOfAKey(t *testing.T) {
	t.Parallel()
	path, k := keyFile(t)
	token, key := added(t, k, identity.Key{Name: "ann", Groups: []string{"ops", identity.AdminGroup, "ops"}})
	want := []string{"admin", "ops"}
	if id, err := k.Verify(t.Context(), token); err != nil || !cmp.Equal(id.Groups, want) || !cmp.Equal(key.Groups, want) {
		t.Error(id, key, err)
	}
	plain, _ := added(t, k, identity.Key{Name: "ann"})
	if id, err := k.Verify(t.Context(), plain); err != nil || id.Groups != nil {
		t.Error(id, err)
	}
	for _, group := range []string{"", "role:admin", "scope:x", "two words", "é", "#", strings.Repeat("x", 129)} {
		if _, _, err := k.Add(t.Context(), identity.Key{Groups: []string{group}}); !errors.Is(err, identity.ErrGroup) {
			t.Errorf("%q: %v", group, err)
		}
	}
	for _, name := range []string{"local", "key:x", "https://as.example#ann", "token:x", "user:ann", "a\n"} {
		if _, _, err := k.Add(t.Context(), identity.Key{Name: name}); !errors.Is(err, identity.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprint("g", i))
	}
	if _, _, err := k.Add(t.Context(), identity.Key{Groups: many}); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for was, becomes := range map[string]string{`"ops"`: `"role:ops"`, `"ann"`: `"local"`, `"principal": "ann"`: `"principal": "key:x"`} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), was, becomes, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := identity.NewKeys(path).Verify(t.Context(), token); err == nil {
			t.Errorf("%s is accepted: %+v", becomes, id)
		}
	}
}
