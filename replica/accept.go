package replica

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// headerMark is the header that marks a forwarded request. It is removed from requests of clients ([Unmark]). In an
// answer, it means that the request did not reach the handler.
const headerMark = "Indus-Forwarded"

// refusedMark is the mark of an answer.
const refusedMark = "refused"

// mark is what a replica states about a request that it forwards.
type mark struct {
	To        string `json:"to"`
	From      string `json:"from"`
	Address   string `json:"address"` // of the client
	Principal string `json:"principal"`
	Claims    []byte `json:"claims,omitempty"`
	Service   string `json:"service,omitempty"` // see [Request.Service]
}

// Forwarded describes a request that another replica received and authenticated.
type Forwarded struct {
	From      string // the name of that replica
	Principal string // the principal of the client
}

type forwardedKey struct{}

// From returns the description of a forwarded request by its context, or nil if the request came from a client.
func From(ctx context.Context) *Forwarded {
	f, _ := ctx.Value(forwardedKey{}).(*Forwarded)
	return f
}

// Unmark removes the mark of a forwarded request from a request of a client.
func Unmark(r *http.Request) {
	if From(r.Context()) == nil {
		delete(r.Header, headerMark)
	}
}

// Listener returns a listener for connections of other replicas. It accepts TLS 1.3 only.
func (r *Replica) Listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return r.opts.Credentials.config()
		},
	})
}

// Handler serves the requests that other replicas forward. next receives them as their clients sent them, and [From]
// describes them. Requests of [Replica.Do] go to Options.Services. Every other request is refused.
func (r *Replica) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		in, service, err := r.accept(in)
		to := next
		if err == nil && service != "" {
			to, err = r.service(service)
		}
		if err != nil {
			r.opts.Logger.Warn("a request to the listener for replicas is refused", "err", err)
			w.Header().Set(headerMark, refusedMark)
			http.Error(w, err.Error(), http.StatusMisdirectedRequest)
			return
		}
		to.ServeHTTP(w, in)
	})
}

// service returns the handler of a service.
func (r *Replica) service(name string) (http.Handler, error) {
	if r.opts.Services != nil {
		if h := r.opts.Services(name); h != nil {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the replica %s does not run %.100q now", r.opts.Name, name)
}

// accept returns a forwarded request as its client sent it, and its service.
func (r *Replica) accept(in *http.Request) (out *http.Request, service string, err error) {
	if !r.opts.Credentials.accepts(in.TLS) {
		return nil, "", errors.New("the credentials of the peer are not accepted any more")
	}
	values := in.Header[headerMark]
	if len(values) != 1 {
		return nil, "", errors.New("only replicas may connect here, and each request has one " + headerMark + " header")
	}
	var m mark
	text, err := base64.RawURLEncoding.DecodeString(values[0])
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("the %s header cannot be read: %w", headerMark, err)
	case m.To != r.opts.Name:
		return nil, "", fmt.Errorf("the request is for the replica %.40q, and this is %s", m.To, r.opts.Name)
	}
	out = in.WithContext(context.WithValue(in.Context(), forwardedKey{}, &Forwarded{m.From, m.Principal}))
	out.RemoteAddr, out.TLS = m.Address, nil
	delete(out.Header, headerMark)
	delete(out.Header, "Expect") // of this hop
	if r.opts.Restore != nil && m.Claims != nil {
		out, err = r.opts.Restore(out, m.Claims)
	}
	return out, m.Service, err
}

// encode returns the value of the header.
func (m *mark) encode() string {
	b, _ := json.Marshal(m) // a struct of strings
	return base64.RawURLEncoding.EncodeToString(b)
}
