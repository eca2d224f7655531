package replica_test

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/indusagi/indus/replica"
)

// newKey returns a line of a file of keys.
func newKey() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b) + "\n"
}

// keyFile returns the path of a file with these lines.
func keyFile(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer.keys")
	writeFile(t, path, lines)
	return path
}

// writeFile replaces a file in one step.
func writeFile(t testing.TB, path, text string) {
	t.Helper()
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newReplica returns the replica a, with the peer b at an address.
func newReplica(t testing.TB, c *replica.Credentials, address string) *replica.Replica {
	t.Helper()
	return newReplicaOf(t, &replica.Options{
		Name: "a", Credentials: c, Peers: []replica.Peer{{Name: "a", Address: "127.0.0.1:1"}, {Name: "b", Address: address}},
	})
}

func newReplicaOf(t testing.TB, o *replica.Options) *replica.Replica {
	t.Helper()
	r, err := replica.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// serve serves the replica b for other replicas, and returns the address.
func serve(t testing.TB, o *replica.Options, h http.HandlerFunc) (address string, stop func()) {
	t.Helper()
	if o.Name == "" {
		o.Name = "b"
	}
	b := newReplicaOf(t, o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: b.Handler(h), ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(b.Listener(l)) }()
	stop = func() { _ = server.Close(); <-done }
	t.Cleanup(stop)
	return l.Addr().String(), stop
}
