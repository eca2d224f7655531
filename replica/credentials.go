package replica

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/sealed"
)

// Credentials authenticate replicas to each other: [KeyFile] or [TLSDir]. Changes of their files are followed.
type Credentials struct {
	paths  []string
	remedy string // says which files have to be equal
	read   func() (trust, error)

	mu      sync.Mutex
	checked time.Time
	infos   []os.FileInfo
	last    trust
	changes int
}

// trust holds what the files of credentials contained when they were read.
type trust interface {
	config() *tls.Config
	// accept reports whether a connection with the certificates of a peer may still be used.
	accept(*tls.ConnectionState) bool
}

// KeyFile returns credentials from a file with keys: one on each line, in hexadecimal or base64. The first key is used,
// and all are accepted. The file must exist, and no other user may read it. Changes are followed: a removed key ends
// the connections that use it.
func KeyFile(path string) *Credentials {
	return &Credentials{
		paths: []string{path}, remedy: "give all replicas the same keys in " + path,
		read: func() (trust, error) { return readKeyring(path) },
	}
}

// TLSDir returns credentials for ordinary mutual TLS from a directory with tls.crt, tls.key and ca.crt. Changes are
// followed. The authority must sign nothing but replicas, because each of them is trusted with every principal.
func TLSDir(dir string) *Credentials {
	cert, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	return &Credentials{
		paths: []string{cert, key, ca}, remedy: "an authority in " + ca + " must sign the certificates of all replicas",
		read: func() (trust, error) { return readAuthority(cert, key, ca) },
	}
}

// statInterval is the interval at which the files of credentials are checked for changes.
const statInterval = time.Second

// current returns the content of the files, and the number of their changes so far. If they cannot be read any more,
// the previous content stays.
func (c *Credentials) current() (trust, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.last != nil && now.Sub(c.checked) < statInterval {
		return c.last, c.changes, nil
	}
	c.checked = now
	infos := make([]os.FileInfo, len(c.paths))
	for i, path := range c.paths {
		infos[i], _ = os.Stat(path) // read returns the error
	}
	if c.last != nil && slices.EqualFunc(infos, c.infos, sameFile) {
		return c.last, c.changes, nil
	}
	fresh, err := c.read()
	switch {
	case err == nil:
		c.last, c.infos = fresh, infos
		c.changes++
	case c.last == nil:
		return nil, 0, err
	}
	return c.last, c.changes, nil
}

func sameFile(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// config returns the configuration for the next connection to or from a peer.
func (c *Credentials) config() (*tls.Config, error) {
	t, _, err := c.current()
	if err != nil {
		return nil, err
	}
	return t.config(), nil
}

func (c *Credentials) accepts(s *tls.ConnectionState) bool {
	t, _, err := c.current()
	return err == nil && s != nil && t.accept(s)
}

// keyring holds the keys of a file.
type keyring struct {
	own      tls.Certificate
	accepted map[string]bool // public keys
}

// keyUse is the label for deriving the keys of replicas, so that a file may have another use too.
const keyUse = "indus replica identity 1"

func readKeyring(path string) (*keyring, error) {
	keys, err := sealed.ReadKeys(path)
	if err != nil {
		return nil, err
	}
	k := &keyring{accepted: map[string]bool{}}
	for i, key := range keys {
		seed, err := hkdf.Key(sha256.New, key, nil, keyUse, ed25519.SeedSize)
		if err != nil {
			return nil, err
		}
		private := ed25519.NewKeyFromSeed(seed)
		public := private.Public().(ed25519.PublicKey)
		k.accepted[string(public)] = true
		if i > 0 {
			continue
		}
		// Nothing of the certificate counts but its key.
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			return nil, err
		}
		k.own = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	}
	return k, nil
}

var errForeignKey = errors.New("the peer does not prove a key that is in the file of keys of replicas")

// config returns the configuration of both sides. TLS verifies that the peer has the private key of its certificate.
func (k *keyring) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, Certificates: []tls.Certificate{k.own},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // in favour of VerifyConnection
		VerifyConnection: func(s tls.ConnectionState) error {
			if !k.accept(&s) {
				return errForeignKey
			}
			return nil
		},
	}
}

func (k *keyring) accept(s *tls.ConnectionState) bool {
	if len(s.PeerCertificates) == 0 {
		return false
	}
	public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	return ok && k.accepted[string(public)]
}

// authority holds a certificate and the authorities that sign the certificates of replicas.
type authority struct {
	own   tls.Certificate
	pool  *x509.CertPool
	roots map[string]bool // the certificates of the pool
}

func readAuthority(cert, key, ca string) (*authority, error) {
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cert, err)
	}
	a := &authority{own: own, pool: x509.NewCertPool(), roots: map[string]bool{}}
	rest, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		root, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ca, err)
		}
		a.pool.AddCert(root)
		a.roots[string(root.Raw)] = true
	}
	if len(a.roots) == 0 {
		return nil, fmt.Errorf("%s: no certificate in it", ca)
	}
	return a, nil
}

func (a *authority) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, Certificates: []tls.Certificate{a.own},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool, RootCAs: a.pool,
	}
}

// accept checks a connection that was verified when it began: its certificate may have expired, or its authority may be
// gone.
func (a *authority) accept(s *tls.ConnectionState) bool {
	now := time.Now()
	for _, chain := range s.VerifiedChains {
		if now.Before(chain[0].NotAfter) && a.roots[string(chain[len(chain)-1].Raw)] {
			return true
		}
	}
	return false
}
