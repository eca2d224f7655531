package telemetry

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	// defaultPort is the port that OpenTelemetry names for Prometheus.
	defaultPort = "9464"
	metricsPath = "/metrics"
	// Requests have no body and few headers. A client that is slower than these times has no use for the answer.
	headerTime = 5 * time.Second
	answerTime = 30 * time.Second
	idleTime   = 2 * time.Minute
	maxHeaders = 16 << 10
)

// CheckAddress returns the address HOST:PORT of the flag --metrics. The port may be left out (9464), the host too
// (127.0.0.1). A number alone is a port.
func CheckAddress(s string) (string, error) {
	host, port := s, defaultPort
	if _, err := strconv.ParseUint(s, 10, 16); err == nil {
		host, port = "", s
	} else if h, p, err := net.SplitHostPort(s); err == nil {
		host, port = h, p
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, port)
	_, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", fmt.Errorf("--metrics %q: %w; write HOST:PORT, such as 127.0.0.1:%s", s, err, defaultPort)
	}
	return address, nil
}

// listener serves the metrics. Its port is no port of clients, so that a rule of a network can separate both.
type listener struct {
	url    string
	server *http.Server
	done   chan struct{}
}

func listen(flag string, reader sdkmetric.Reader, logger *slog.Logger) (*listener, error) {
	address, err := CheckAddress(flag)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--metrics: %w; another HOST:PORT is possible", err)
	case err != nil:
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	at := l.Addr().(*net.TCPAddr)
	if !at.IP.IsLoopback() {
		logger.Warn("other machines can read the metrics, with the names of servers and tools", "address", at.String())
	}
	m := &listener{url: "http://" + at.String() + metricsPath, done: make(chan struct{})}
	m.server = &http.Server{
		Handler: handler(reader, at.IP.IsLoopback()), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime,
		WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(m.done)
		_ = m.server.Serve(l)
	}()
	return m, nil
}

// close waits until answers are written, or until ctx ends.
func (l *listener) close(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = l.server.Close()
	}
	<-l.done
	return err
}

func handler(reader sdkmetric.Reader, local bool) http.Handler {
	var mu sync.Mutex // one reading at a time: a second one would only double the work
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case local && !isLocalHost(r.Host):
			http.Error(w, "indus: metrics are for this machine, under its own address", http.StatusForbidden)
			return
		case r.URL.Path != metricsPath:
			http.Error(w, "indus: the metrics are at "+metricsPath, http.StatusNotFound)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "indus: the metrics are read with GET", http.StatusMethodNotAllowed)
			return
		}
		mu.Lock()
		body, err := collect(r.Context(), reader)
		mu.Unlock()
		if err != nil {
			http.Error(w, "indus: "+err.Error(), http.StatusInternalServerError)
			return
		}
		writeAnswer(w, r, body)
	})
}

func collect(ctx context.Context, reader sdkmetric.Reader) ([]byte, error) {
	var all metricdata.ResourceMetrics
	err := reader.Collect(ctx, &all)
	if err != nil {
		return nil, err
	}
	return writeMetrics(&all)
}

// writeAnswer writes the page, compressed if the client accepts it. A write fails only if the client left.
func writeAnswer(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", contentType)
	if r.Method == http.MethodHead {
		return
	}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// isLocalHost reports whether a browser could not have been led here by a foreign name (DNS rebinding).
func isLocalHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
