package replica_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/replica"
)

func TestParsePeer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]replica.Peer{
		"a=10.0.0.1:7333":                {Name: "a", Address: "10.0.0.1:7333"},
		"indus-0=indus-0.indus:7333":     {Name: "indus-0", Address: "indus-0.indus:7333"},
		"a=[::1]:1":                      {Name: "a", Address: "[::1]:1"},
		"a=:7333":                        {Name: "a", Address: ":7333"},
		"dns+srv:_peer._tcp.indus.local": {Service: "_peer._tcp.indus.local"},
		"a":                              {}, "a=": {}, "a=b": {}, "=b:1": {}, "A=b:1": {}, "a=b:": {}, "dns+srv:": {}, "dns+srv:a=b:1": {}, "": {},
	} {
		got, err := replica.ParsePeer(text)
		if got != want || (err == nil) != (want != replica.Peer{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	_, err := replica.New(&replica.Options{Name: "a", Credentials: replica.KeyFile(keyFile(t, newKey())), Peers: []replica.Peer{
		{Name: "b", Address: "x:1"}, {Name: "b", Address: "x:2"},
	}})
	if err == nil {
		t.Error("a peer has two addresses")
	}
}

// TestReplicasInDNS checks that replicas come and go with the records of a service, which are looked up every 10 s, and
// stay while DNS fails.
func TestReplicasInDNS(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	address, _ := serve(t, &replica.Options{Name: "localhost", Credentials: keys}, func(http.ResponseWriter, *http.Request) {})
	_, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	lookups := 0
	a := newReplicaOf(t, &replica.Options{
		Name: "a", Credentials: keys, Peers: []replica.Peer{{Service: "indus"}},
		LookupSRV: func(_ context.Context, name string) ([]*net.SRV, error) {
			lookups++
			if name != "indus" {
				t.Error(name)
			}
			return []*net.SRV{
				{Target: "127.0.0.1.", Port: 1}, {Target: "Bad_Name.x.", Port: 1}, {Target: "localhost.", Port: uint16(port)},
			}, nil
		},
	})
	for range 2 {
		w := httptest.NewRecorder()
		if err := a.Forward(w, post(t, "/mcp", "{}"), replica.Request{To: "localhost", Body: []byte("{}")}); err != nil || lookups != 1 {
			t.Errorf("%v, %d lookups", err, lookups)
		}
	}
}

func TestDNSIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer []*net.SRV
		var failed error
		lookups := 0
		find := replica.Finder("a", "indus", func(context.Context, string) ([]*net.SRV, error) {
			lookups++
			return answer, failed
		})
		expect := func(want string, asked int) {
			t.Helper()
			if got := find(t.Context(), "b"); got != want || lookups != asked {
				t.Errorf("%q after %d lookups, want %q after %d", got, lookups, want, asked)
			}
		}
		expect("", 1)
		answer = []*net.SRV{{Target: "b.x.", Port: 1}}
		expect("", 1) // it was asked a moment ago
		time.Sleep(time.Second)
		expect("b.x:1", 2)
		answer = []*net.SRV{{Target: "b.y.", Port: 1}}
		time.Sleep(9 * time.Second)
		expect("b.x:1", 2)
		time.Sleep(time.Second)
		expect("b.y:1", 3)
		failed = errors.New("no DNS")
		time.Sleep(10 * time.Second)
		expect("b.y:1", 4)
		failed, answer = nil, nil
		time.Sleep(10 * time.Second)
		expect("", 5)
	})
}
