package identity_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
)

// followed is a backend that keeps the context of the last subscription to a resource.
type followed struct{ ctx chan context.Context }

func (f followed) Handle(context.Context, interop.Message, interop.Peer) (json.RawMessage, error) {
	return json.RawMessage(`{"capabilities":{"resources":{"subscribe":true}}}`), nil
}

func (f followed) Watch(func(interop.Message)) (stop func()) { return func() {} }

func (f followed) Subscribe(
	ctx context.Context, _ interop.Message, _ string, _ func(interop.Message),
) (stop func(), err error) {
	f.ctx <- ctx
	return func() {}, nil
}

// replaced is a verifier of every token, with an identity that a test replaces.
type replaced struct {
	atomic.Pointer[identity.Identity]
}

func (r *replaced) Verify(context.Context, string) (*identity.Identity, error) { return r.Load(), nil }

// listenBody is a subscriptions/listen that names one resource.
const listenBody = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` +
	`"notifications":{"resourceSubscriptions":["x:1"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// An open stream is authenticated again, and its context has the new identity after that.
func TestAStreamCarriesItsLatestIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := &replaced{}
		tokens.Store(&identity.Identity{Principal: "user:ann", Scopes: []string{"first"}})
		backend := followed{make(chan context.Context, 1)}
		h := host.NewFront(backend, &host.Options{Authenticate: identity.NewGuard(nil, tokens).Principal})
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(listenBody))
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Authorization": "Bearer token"} {
			r.Header.Set(k, v)
		}
		ended := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			w := httptest.NewRecorder()
			identity.Carry(h.Handler()).ServeHTTP(w, r)
			ended <- w
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal((<-ended).Body)
		}
		stream := <-backend.ctx
		if id := identity.FromContext(stream); id == nil || id.Scopes[0] != "first" {
			t.Errorf("%+v", id)
		}
		tokens.Store(&identity.Identity{Principal: "user:ann", Scopes: []string{"second"}})
		time.Sleep(6 * time.Second)
		if id := identity.FromContext(stream); id == nil || id.Scopes[0] != "second" {
			t.Errorf("%+v", id)
		}
		leave()
		<-ended
		h.Close()
	})
}

// Only an admitted request has an identity. A second place for it does not hide the first.
func TestOnlyAnAdmittedRequestCarriesAnIdentity(t *testing.T) {
	t.Parallel()
	g := identity.NewGuard(nil, known{"ann": {Principal: "user:ann"}, "other": {Principal: "user:bob", Views: []string{"x"}}})
	for token, want := range map[string]string{"ann": "user:ann", "other": "", "nobody": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		check := func(inner *http.Request) {
			_, _ = g.Authenticate(inner)
			id := identity.FromContext(inner.Context())
			if id == nil != (want == "") || id != nil && string(id.Principal) != want {
				t.Errorf("%s: %+v", token, id)
			}
		}
		identity.Carry(http.HandlerFunc(func(w http.ResponseWriter, outer *http.Request) {
			identity.Carry(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { check(r) })).ServeHTTP(w, outer)
			if id := identity.FromContext(outer.Context()); id == nil != (want == "") {
				t.Errorf("%s: around it, %+v", token, id)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		_, _ = g.Authenticate(r)
		if id := identity.FromContext(r.Context()); id != nil {
			t.Errorf("%s: %+v without a place for it", token, id)
		}
	}
}
