package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"testing"
)

// probeName is the variable with the path of a socket. On it, an indus reports its health to tests.
const probeName = "INDUS_TEST_PROBE"

// health holds the resources of a process after a garbage collection.
type health struct {
	Goroutines, Heap, Descriptors, RSS int // Heap and RSS in KiB
	Processes                          int // with the mark of a test, including this process
}

// probe serves the health and the goroutines of this process.
func probe() {
	path := os.Getenv(probeName)
	if path == "" || len(os.Args) < 2 || os.Args[1] != "serve" {
		return
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/goroutines", func(w http.ResponseWriter, _ *http.Request) {
		_ = pprof.Lookup("goroutine").WriteTo(w, 2)
	})
	mux.HandleFunc("/heap", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		_ = pprof.Lookup("heap").WriteTo(w, 0)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		files, _ := filepath.Glob("/proc/self/fd/*")
		_ = json.NewEncoder(w).Encode(health{
			Goroutines: runtime.NumGoroutine(), Heap: int(m.HeapAlloc >> 10), Descriptors: len(files),
		})
	})
	go func() { _ = http.Serve(ln, mux) }()
}

// probed sends a request to the probe of a process.
func probed(t testing.TB, socket, path string) string {
	t.Helper()
	client := http.Client{Timeout: deadline, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	r, err := client.Get("http://probe" + path)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
