package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/indusagi/indus/toolbox"
)

// door is identities whose tokens a test decides.
type door struct {
	bridge.Identities
	authenticate func(token string) (toolbox.Principal, error)
}

func (d door) Authenticate(_ context.Context, token operation.Secret) (toolbox.Principal, error) {
	return d.authenticate(token.Reveal())
}

func TestWhoHasNoTokenIsRefused(t *testing.T) {
	const needed, invalid = "a bearer token is needed", "the bearer token is not valid"
	ids := door{people(t), func(token string) (toolbox.Principal, error) {
		switch token {
		case "nameless":
			return "", nil
		case "down":
			return "", errors.New("ldap://secret@host is down")
		case "own":
			return "", fmt.Errorf("no: %w", &interop.HTTPError{Status: http.StatusForbidden, Body: "not from there"})
		}
		return "", fmt.Errorf("%w: %s", bridge.ErrNobody, token)
	}}
	s := site(t, shop(t), &bridge.ToMCPOptions{Identities: ids})
	for _, tt := range []struct {
		header []string
		status int
		how    string
		text   string
	}{
		{nil, 401, `Bearer`, needed},
		{[]string{"Bearer"}, 401, `Bearer error="invalid_request"`, needed},
		{[]string{"Bearer   "}, 401, `Bearer error="invalid_request"`, needed},
		{[]string{"Basic YTpi"}, 401, `Bearer error="invalid_request"`, needed},
		{[]string{"Bearer a", "Bearer b"}, 401, `Bearer error="invalid_request"`, needed},
		{[]string{"Bearer " + strings.Repeat("a", 20_000)}, 401, `Bearer error="invalid_request"`, needed},
		{[]string{"Bearer wrong-token"}, 401, `Bearer error="invalid_token"`, invalid},
		{[]string{"bearer nameless"}, 401, `Bearer error="invalid_token"`, invalid},
		{[]string{"Bearer down"}, 503, ``, "bearer tokens cannot be checked now"},
		{[]string{"Bearer own"}, 403, ``, "not from there"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Authorization"] = tt.header
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || resp.Header.Get("WWW-Authenticate") != tt.how || !strings.Contains(string(body), tt.text) {
			t.Errorf("%.60q: %d %q %s %v", tt.header, resp.StatusCode, resp.Header.Get("WWW-Authenticate"), body, err)
		}
		if strings.Contains(string(body), "wrong-token") || strings.Contains(string(body), "secret") {
			t.Errorf("the body shows what it should not: %s", body)
		}
	}
}

func TestTokensThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		list map[string]operation.Identity
		want string
	}{
		{map[string]operation.Identity{"": may("ada")}, `bridge: the token of "ada" is empty`},
		{map[string]operation.Identity{"sesame": {}}, `bridge: a token has no principal`},
		{map[string]operation.Identity{"sesame": may("ada"), "open": may("ada", "more")}, `bridge: two tokens give "ada" different rights: let each have its own principal`},
	} {
		if _, err := bridge.NewTokens(tt.list); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	ids, err := bridge.NewTokens(map[string]operation.Identity{"sesame": may("ada", "x"), "open": may("ada", "x")})
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%+v %#v", ids, ids); strings.Contains(shown, "sesame") {
		t.Errorf("tokens print themselves: %s", shown)
	}
	for _, token := range []string{"sesame", "open"} {
		if p, err := ids.Authenticate(t.Context(), operation.NewSecret(token)); p != "ada" || err != nil {
			t.Errorf("%s: %q %v", token, p, err)
		}
	}
	if _, err := ids.Identity(t.Context(), "bob"); !errors.Is(err, bridge.ErrNobody) {
		t.Error(err)
	}
}
