package replica_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/replica"
)

// forward sends a request from the replica a to b.
func forward(t testing.TB, a *replica.Replica) error {
	return a.Forward(httptest.NewRecorder(), post(t, "/mcp", "{}"), replica.Request{To: "b", Body: []byte("{}")})
}

// selfSigned returns a certificate of a random key.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// TestOnlyReplicasConnect tries to reach the handler without a key. Each attempt states a valid mark.
func TestOnlyReplicasConnect(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	var seen atomic.Int32
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	request := "GET /mcp HTTP/1.1\r\nHost: x\r\nIndus-Forwarded: eyJ0byI6ImIiLCJwcmluY2lwYWwiOiJhZG1pbiJ9\r\n\r\n"
	stolen := serverCertificate(t, address)
	for name, config := range map[string]*tls.Config{
		"no TLS":         nil,
		"no certificate": {InsecureSkipVerify: true},
		"another key":    {InsecureSkipVerify: true, Certificates: []tls.Certificate{selfSigned(t)}},
		"TLS 1.2":        {InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12},
		"a certificate without its key": {InsecureSkipVerify: true, Certificates: []tls.Certificate{{
			Certificate: [][]byte{stolen}, PrivateKey: selfSigned(t).PrivateKey,
		}}},
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if config != nil {
			c = tls.Client(c, config)
		}
		_, err = io.WriteString(c, request)
		answer, _ := io.ReadAll(c)
		if config != nil && len(answer) > 0 {
			t.Errorf("%s: %v, %q", name, err, answer)
		}
		_ = c.Close()
	}
	if n := seen.Load(); n > 0 {
		t.Errorf("%d requests reached the handler", n)
	}
}

// serverCertificate returns the certificate of a listener. A TLS 1.3 client sees it before it has to prove a key.
func serverCertificate(t *testing.T, address string) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Raw
}

// TestARecordedConnectionIsUseless sends the bytes of a whole connection a second time, and reflects a connection to
// the replica that made it.
func TestARecordedConnectionIsUseless(t *testing.T) {
	t.Parallel()
	keys := replica.KeyFile(keyFile(t, newKey()))
	var seen atomic.Int32
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		seen.Add(1)
	})
	tap := newTap(t, address)
	if err := forward(t, newReplica(t, keys, tap.address)); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write(tap.sent()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, c)
	if n := seen.Load(); n != 1 {
		t.Errorf("the handler ran %d times", n)
	}
	own, _ := serve(t, &replica.Options{Name: "a", Credentials: keys}, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	if err := forward(t, newReplica(t, keys, own)); !errors.Is(err, replica.ErrGone) || seen.Load() != 1 {
		t.Errorf("%v, %d", err, seen.Load())
	}
}

// tap is a TCP proxy that records what clients send.
type tap struct {
	address string
	mu      sync.Mutex
	bytes   bytes.Buffer
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes.Write(b)
}

func (p *tap) sent() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.bytes.Bytes())
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{address: l.Addr().String()}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(io.MultiWriter(out, p), in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return p
}

// TestAMarkIsChecked sends marks that a replica would not send, over a connection of a replica.
func TestAMarkIsChecked(t *testing.T) {
	t.Parallel()
	path := keyFile(t, newKey())
	keys := replica.KeyFile(path)
	address, _ := serve(t, &replica.Options{Credentials: keys}, func(http.ResponseWriter, *http.Request) {
		t.Error("the request reached the handler")
	})
	// Another listener with the same key is the easiest way to the certificate of a replica.
	client := &http.Client{Transport: &http.Transport{DialTLSContext: replica.Dial(keys)}}
	for _, marks := range [][]string{nil, {""}, {"%"}, {"bm90IGpzb24"}, {"e30"}, {"eyJ0byI6ImIifQ", "eyJ0byI6ImIifQ"}, {"eyJ0byI6ImMifQ"}} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+address+"/mcp", nil)
		r.Header["Indus-Forwarded"] = marks
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusMisdirectedRequest || len(text) == 0 {
			t.Errorf("%q: %s %s", marks, answer.Status, text)
		}
	}
}

// TestForeignKeysAreReported checks that a replica reports a peer with other keys once, whichever of them refuses the
// other, and again after they trusted each other.
func TestForeignKeysAreReported(t *testing.T) {
	t.Parallel()
	first, second := newKey(), newKey()
	pathA, pathB := keyFile(t, first), keyFile(t, first)
	ours, theirs := replica.KeyFile(pathA), replica.KeyFile(pathB)
	address, _ := serve(t, &replica.Options{Credentials: theirs}, func(http.ResponseWriter, *http.Request) {})
	var reports []string
	a := newReplicaOf(t, &replica.Options{
		Name: "a", Credentials: ours, Peers: []replica.Peer{{Name: "b", Address: address}},
		Report: func(text string) { reports = append(reports, text) },
	})
	for _, step := range []struct{ ours, want string }{
		{first, ""},
		{second, "the replica b at " + address + ": this replica refuses its credentials ("},
		{second + first, "the replica b at " + address + ": it refuses the credentials of this replica ("},
	} {
		writeFile(t, pathA, first)
		replica.Recheck(ours, theirs)
		if err := a.Check(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		writeFile(t, pathA, step.ours)
		replica.Recheck(ours, theirs)
		reports = nil
		for range 2 {
			err := errors.Join(a.Check(t.Context(), "b"), forward(t, a))
			if errors.Is(err, replica.ErrUntrusted) != (step.want != "") {
				t.Errorf("%q: %v", step.want, err)
			}
		}
		got := strings.Join(reports, "\n")
		if !strings.HasPrefix(got, step.want) || step.want != "" && !strings.HasSuffix(got, "give all replicas the same keys in "+pathA) {
			t.Errorf("the reports are %q, not %q", got, step.want)
		}
	}
}

// TestKeysAreReplaced goes through a rotation, and then takes the first key back: connections that use it end.
func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	first, second := newKey(), newKey()
	pathA, pathB := keyFile(t, first), keyFile(t, first)
	ours, theirs := replica.KeyFile(pathA), replica.KeyFile(pathB)
	address, _ := serve(t, &replica.Options{Credentials: theirs}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
	})
	a := newReplica(t, ours, address)
	if err := forward(t, a); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ a, b string }{
		{first + second, first}, {first + second, first + second}, {second + first, first + second},
		{second + first, second + first}, {second, second + first}, {second, second},
	} {
		writeFile(t, pathA, step.a)
		writeFile(t, pathB, step.b)
		replica.Recheck(ours, theirs)
		if err := forward(t, a); err != nil {
			t.Errorf("%+v: %v", step, err)
		}
	}
	writeFile(t, pathB, first)
	replica.Recheck(ours, theirs)
	if err := forward(t, a); !errors.Is(err, replica.ErrGone) || strings.Contains(err.Error(), "gone") {
		t.Errorf("a removed key is accepted, or the replica is called gone: %v", err)
	}
	writeFile(t, pathB, "no key")
	writeFile(t, pathA, first)
	replica.Recheck(ours, theirs)
	if err := forward(t, a); err != nil {
		t.Errorf("a file that cannot be read ends what was: %v", err)
	}
}

func TestCredentialsMustExist(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(open, []byte(newKey()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		c    *replica.Credentials
		want string
	}{
		{"a", nil, "needs credentials"},
		{"a", replica.KeyFile("/nowhere/keys"), "no such file"},
		{"a", replica.KeyFile(open), "chmod 600"},
		{"a", replica.KeyFile(keyFile(t, "# none\n")), "no key in it"},
		{"a", replica.TLSDir("/nowhere"), "tls.crt"},
		{"A", replica.KeyFile(keyFile(t, newKey())), "is no name of a replica"},
		{"", replica.KeyFile(keyFile(t, newKey())), "is no name of a replica"},
		{strings.Repeat("a", 33), replica.KeyFile(keyFile(t, newKey())), "is no name of a replica"},
	} {
		if _, err := replica.New(&replica.Options{Name: test.name, Credentials: test.c}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.name, err, test.want)
		}
	}
}

// issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "replicas"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	return &issuer{cert, key}
}

// dir returns a directory with a certificate for an address.
func (i *issuer) dir(t *testing.T, address string, trusts *issuer) string {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(address)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &key.PublicKey, i.key)
	if err != nil {
		t.Fatal(err)
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
		"ca.crt": {Type: "CERTIFICATE", Bytes: trusts.cert.Raw},
	} {
		writeFile(t, filepath.Join(dir, name), string(pem.EncodeToMemory(block)))
	}
	return dir
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ours, other := newIssuer(t), newIssuer(t)
	address, _ := serve(t, &replica.Options{Credentials: replica.TLSDir(ours.dir(t, "127.0.0.1", ours))},
		func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })
	for name, test := range map[string]struct {
		dir  string
		want error
	}{
		"ours":              {ours.dir(t, "127.0.0.1", ours), nil},
		"signed by another": {other.dir(t, "127.0.0.1", ours), replica.ErrGone},
		"trusts another":    {ours.dir(t, "127.0.0.1", other), replica.ErrGone},
	} {
		if err := forward(t, newReplica(t, replica.TLSDir(test.dir), address)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	elsewhere, _ := serve(t, &replica.Options{Credentials: replica.TLSDir(ours.dir(t, "192.0.2.1", ours))},
		func(http.ResponseWriter, *http.Request) { t.Error("a server with another name was used") })
	if err := forward(t, newReplica(t, replica.TLSDir(ours.dir(t, "127.0.0.1", ours)), elsewhere)); !errors.Is(err, replica.ErrGone) {
		t.Error(err)
	}
}
