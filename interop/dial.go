package interop

import (
	"context"
	"errors"
	"net/http"

	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/advice"
	"github.com/indusagi/indus/interop/internal/conn"
)

// dial connects by the configured transport, or by EndpointOptions.Transport if that is
// set.
func (e *Endpoint) dial(ctx context.Context) (conn.Conn, conn.Handshake, error) {
	o := conn.Options{
		Info: e.opts.Info, Era: e.server.Era, LastEra: e.opts.Era, MaxMessage: e.opts.MaxMessage, Memory: e.opts.Memory,
		Capabilities: e.opts.Capabilities, Receive: e.tapReceiver(e.handleIncoming), Belongs: e.requestFor,
		Missed: e.reportGap, Lease: e.opts.Lease, Logger: e.opts.Logger, Secrets: e.secrets, ProbeWait: e.opts.probeWait,
	}
	if e.opts.Trace != nil {
		o.Trace = conn.Trace(*e.opts.Trace)
	}
	traced := o.Trace.Started
	o.Trace.Started = func(pid int, stderr func() string) {
		e.stderr.Store(&stderr)
		if traced != nil {
			traced(pid, stderr)
		}
	}
	if e.opts.Transport != nil {
		return conn.DialTransport(ctx, e.opts.Transport, o)
	}
	switch t := e.server.Transport.(type) {
	case config.Stdio:
		if e.server.Single && e.opts.Elsewhere != nil {
			o.Era = Modern
			client := &http.Client{Transport: e.opts.Elsewhere}
			return conn.DialHTTP(ctx, conn.URL{URL: "http://" + conn.Unlocated + "/mcp", Client: client}, o)
		}
		if e.server.Single && e.opts.Lease == nil {
			return nil, conn.Handshake{}, advice.ErrSingle
		}
		if err := checkLocked(t.Locked); err != nil {
			return nil, conn.Handshake{}, err
		}
		command := proc.Command{Path: t.Command, Args: t.Args, Dir: t.Dir, Env: t.Environ()}
		if t.Sandbox != nil {
			var variables, files []string
			if t.Locked != nil {
				files = append(files, t.Locked.Dir)
			}
			command.Box, variables = t.Sandbox.Confine(files, e.deny)
			command.Env = append(variables, command.Env...) // of two entries with one key, the last counts
		}
		return conn.DialStdio(ctx, conn.Command{Fresh: t.Fresh, Command: command}, o)
	case config.HTTP:
		u, err := e.url(t.URL, t.Headers)
		if err != nil {
			return nil, conn.Handshake{}, err
		}
		return conn.DialHTTP(ctx, u, o)
	case config.SSE:
		if e.server.Era == Modern {
			return nil, conn.Handshake{}, errors.New("HTTP+SSE is older than the modern era: set config.HTTP, or another era")
		}
		u, err := e.url(t.URL, t.Headers)
		if err != nil {
			return nil, conn.Handshake{}, err
		}
		return conn.DialSSE(ctx, u, o)
	}
	return nil, conn.Handshake{}, errors.New("the server has no transport: set config.Stdio, HTTP or SSE")
}

// checkLocked returns why a locked server must not start.
func checkLocked(l *config.Locked) error {
	switch {
	case l == nil:
		return nil
	case l.Problem != "":
		return &advice.LockError{Err: errors.New(l.Problem)}
	}
	if err := locked.Check(l.Dir); err != nil {
		return &advice.LockError{Err: err}
	}
	return nil
}

// ErrNowhere is returned by an [EndpointOptions].Elsewhere if no program that runs the server can be reached. The
// request was not sent.
var ErrNowhere = advice.ErrNowhere

func (e *Endpoint) url(url string, headers []config.Pair) (conn.URL, error) {
	h := http.Header{}
	for _, p := range headers { // if two headers have one name, the later wins
		h.Set(p.Name, p.Value.Reveal())
	}
	u := conn.URL{URL: url, Header: h, Client: e.opts.HTTPClient, Forwards: e.forwardedHeaders != nil}
	if wrap := e.opts.RoundTripper; wrap != nil {
		u.Wrap = func(base http.RoundTripper) http.RoundTripper { return wrap(e.server, e.opts.Principal, base) }
	}
	var err error
	u.TLS, err = e.server.TLS.Config()
	return u, err
}

// messageFrom converts a message of the connection to a [Message].
func (e *Endpoint) messageFrom(m conn.Message) Message {
	return Message{ID: m.ID, Params: m.Params, Method: m.Method, Era: m.Era, Of: m.Of, Server: e.server.ID}
}
