package oauth

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Loopback is an [Interaction] with a browser on this machine. The answer comes to a port of this machine that is open
// during the sign-in (RFC 8252 section 7.3).
type Loopback struct {
	// Open shows the address to the person. It starts a browser, or asks a client to do so (URL elicitation). The
	// context has the values of the first request that waits for this sign-in. Open returns when the address is shown.
	// An error ends the sign-in.
	Open func(ctx context.Context, authorize string) error
	// Redirect is the registered address of the client, or its beginning: http://, then localhost, 127.0.0.1 or [::1].
	// If it has no port, the port of the last sign-in is used if it is free, or else any port. If it is "", it is
	// "http://127.0.0.1/callback".
	Redirect string
}

var _ Interaction = (*Loopback)(nil)

// Begin opens the port.
func (l *Loopback) Begin(ctx context.Context, redirect, pathSuffix string) (Redirection, error) {
	u, err := url.Parse(cmp.Or(l.Redirect, "http://127.0.0.1/callback"))
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("the address that the browser comes back to has to be one of this machine, " +
			"such as http://localhost:8085/callback")
	}
	u.Path += pathSuffix
	if u.RawPath != "" {
		u.RawPath += pathSuffix
	}
	fixed, port := u.Port(), ""
	if last, err := url.Parse(redirect); err == nil && last.Path == u.Path && last.Hostname() == u.Hostname() {
		port = last.Port()
	}
	listeners, err := listen(ctx, u.Hostname(), cmp.Or(fixed, port, "0"))
	if err != nil && fixed == "" {
		listeners, err = listen(ctx, u.Hostname(), "0")
	}
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(listeners[0].Addr().String())
	u.Host = net.JoinHostPort(u.Hostname(), port)
	r := &loopback{pendingAnswer: newPendingAnswer(), open: l.Open, address: u}
	r.opening, r.opened = context.WithCancel(ctx)
	r.server = &http.Server{
		Handler: r, ReadTimeout: pageTime, WriteTimeout: renewTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // only the browser's page matters here
	}
	for _, listener := range listeners {
		r.running.Go(func() { _ = r.server.Serve(listener) })
	}
	return r, nil
}

// listen opens a port of this machine. For localhost it opens both addresses, because browsers may use either.
func listen(ctx context.Context, host, port string) ([]net.Listener, error) {
	var config net.ListenConfig
	if !strings.EqualFold(host, "localhost") {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
		return []net.Listener{l}, err
	}
	l, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	v6, err := config.Listen(ctx, "tcp6", net.JoinHostPort("::1", port))
	switch {
	case err == nil:
		return []net.Listener{l, v6}, nil
	case errors.Is(err, syscall.EADDRINUSE): // another program would get the answer
		return nil, errors.Join(err, l.Close())
	}
	return []net.Listener{l}, nil // there is no IPv6
}

// pageTime bounds the time in which a browser sends a request.
const pageTime = 5 * time.Second

type loopback struct {
	*pendingAnswer
	open    func(context.Context, string) error
	opening context.Context // of open; opened ends it
	opened  context.CancelFunc
	address *url.URL // the address for the answer
	server  *http.Server
	running sync.WaitGroup
}

func (r *loopback) URI() string { return r.address.String() }

// Ask opens the address and waits for the first answer with its state.
func (r *loopback) Ask(ctx context.Context, authorize string) (url.Values, error) {
	if _, err := r.expect(authorize); err != nil {
		return nil, err
	}
	opened := make(chan error, 1) // open may last as long as the browser, which waits for the last page
	r.running.Go(func() { opened <- r.open(r.opening, authorize) })
	return r.wait(ctx, opened)
}

// errUnknownEnd is the outcome of a sign-in if its result is not known here.
var errUnknownEnd = errors.New("closed")

// Close closes the port. The last page is still delivered.
func (r *loopback) Close() error {
	r.finish(errUnknownEnd)
	r.opened()
	ctx, cancel := context.WithTimeout(context.Background(), pageTime)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = r.server.Close()
	}
	r.running.Wait()
	return err
}

// ServeHTTP accepts the answer once, and waits for the outcome. Any other request, such as one by another page in the
// browser, changes nothing.
func (r *loopback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Connection", "close")
	switch {
	case req.URL.Path != cmp.Or(r.address.Path, "/") || req.Method != http.MethodGet || req.Host != r.address.Host:
		sitePage{Text: "There is nothing here."}.write(w, http.StatusNotFound)
		return
	case !r.deliver(req.URL.Query()):
		const text = "This is not the answer to a sign-in that is waited for. Begin again."
		sitePage{Text: text}.write(w, http.StatusBadRequest)
		return
	}
	select {
	case further := <-r.further:
		w.Header().Set("Location", further)
		sitePage{}.write(w, http.StatusSeeOther)
		return
	case <-r.done:
	case <-req.Context().Done():
		return
	}
	text := "Signed in. You can close this page."
	if r.err == errUnknownEnd {
		text = "This page can be closed."
	} else if r.err != nil {
		text = "Not signed in. The program that opened this page shows the reason. You can close this page."
	}
	sitePage{Text: text}.write(w, http.StatusOK)
}
