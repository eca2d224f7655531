package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/cmd/indus/internal/page"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/replica"
)

// browsers lets a browser reach its sign-in and its session of the page at any replica. The ids that it holds are
// sealed and name the replica that made them. Requests with the id of another replica are forwarded there.
type browsers struct {
	keys    *sealed.Keys // of this replica
	replica *replica.Replica
	ctx     context.Context // ends the forwarded requests
}

func newBrowsers(ctx context.Context, keys *sealed.Keys, r *replica.Replica) *browsers {
	if r == nil {
		return &browsers{}
	}
	return &browsers{keys: keys.For(r.Name()), replica: r, ctx: ctx}
}

// newID returns a function that makes ids of a kind, or nil if there are no replicas.
func (b *browsers) newID(kind sealed.Kind) func() string {
	if b.replica == nil {
		return nil
	}
	return func() string { return b.keys.Seal(sealed.Token{Kind: kind, Data: []byte(rand.Text())}) }
}

// signIns serves the pages of sign-ins.
func (b *browsers) signIns(site http.Handler) http.Handler {
	return b.relay(site, sealed.SignIn, func(r *http.Request) []string { return []string{oauth.SignInID(r)} })
}

// page serves the page.
func (b *browsers) page(site http.Handler) http.Handler {
	return b.relay(site, sealed.Visit, func(r *http.Request) (ids []string) {
		if r.URL.Path == "/enter" { // a link of the operator, who is on this machine
			return nil
		}
		for _, c := range r.Cookies() {
			ids = append(ids, c.Value)
		}
		return ids
	})
}

// relay serves requests by the replica whose ids they have. If that replica is gone, next refuses the id as it refuses
// every unknown one.
func (b *browsers) relay(next http.Handler, kind sealed.Kind, idsOf func(*http.Request) []string) http.Handler {
	if b.replica == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner := ""
		for _, id := range idsOf(r) {
			if t, ok := b.keys.Elsewhere(id, ""); ok && t.Kind == kind {
				owner = t.Replica
			}
		}
		if owner == "" || replica.From(r.Context()) != nil || !b.forward(w, r, owner) {
			next.ServeHTTP(w, r)
		}
	})
}

// forward sends a request to its owner and relays the answer. It returns false if the owner is gone and nothing was
// answered.
func (b *browsers) forward(w http.ResponseWriter, r *http.Request, owner string) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, page.MaxForm))
	if err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return true
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	err = b.replica.Forward(w, r.WithContext(ctx), replica.Request{To: owner, Body: body})
	lost, isLost := errors.AsType[*replica.Lost](err)
	switch {
	case errors.Is(err, replica.ErrLate):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the replica that has this is busy, and nothing was done: try again", http.StatusServiceUnavailable)
	case errors.Is(err, replica.ErrGone):
		return false
	case isLost && !lost.Begun:
		http.Error(w, "the connection to the replica that has this was lost: it may have been done",
			http.StatusBadGateway)
	case isLost:
		panic(http.ErrAbortHandler) // the browser must not take a part for the whole
	}
	return true
}
