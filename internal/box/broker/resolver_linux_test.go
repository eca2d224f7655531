package broker_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/indusagi/indus/internal/box/broker"
)

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func query(t testing.TB, kind dnsmessage.Type, names ...string) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}}
	for _, name := range names {
		m.Questions = append(m.Questions, dnsmessage.Question{
			Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET})
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestResolver(t *testing.T) {
	r := newRig(t, broker.Rules{Hosts: []string{"api.example.com:443", "six.example.com:443", "gone.example.com:443",
		"*.wild.example:443"}})
	r.SetResolver(dnsServer(t, map[string][]string{
		"api.example.com.": {"127.0.0.3", "::1", "127.0.0.4"}, "six.example.com.": {"::1"},
		"*.wild.example.": {"127.0.0.5"}, "secret.example.net.": {"127.0.0.6"}}))
	ask := func(kind dnsmessage.Type, names ...string) string {
		b, err := r.AnswerQuery(query(t, kind, names...))
		if err != nil {
			return err.Error()
		}
		var m dnsmessage.Message
		if err := m.Unpack(b); err != nil || !m.Response || m.ID != 7 {
			t.Fatalf("%v %+v", err, m)
		}
		s := strings.TrimPrefix(m.RCode.String(), "RCode")
		for _, a := range m.Answers {
			switch body := a.Body.(type) {
			case *dnsmessage.AResource:
				s += " " + netip.AddrFrom4(body.A).String()
			case *dnsmessage.AAAAResource:
				s += " " + netip.AddrFrom16(body.AAAA).String()
			}
		}
		return s
	}
	for _, c := range []struct {
		kind  dnsmessage.Type
		names string
		want  string
	}{
		{dnsmessage.TypeA, "api.example.com.", "Success 127.0.0.3 127.0.0.4"},
		{dnsmessage.TypeA, "API.example.COM.", "Success 127.0.0.3 127.0.0.4"},
		{dnsmessage.TypeAAAA, "api.example.com.", "Success ::1"},
		{dnsmessage.TypeTXT, "api.example.com.", "Success"},
		{dnsmessage.TypeA, "six.example.com.", "Success"},
		{dnsmessage.TypeA, "gone.example.com.", "NameError"},
		{dnsmessage.TypeA, "a.wild.example.", "Success 127.0.0.5"},
		{dnsmessage.TypeA, "b.a.wild.example.", "NameError"}, // permitted, but the server has only the names above
		{dnsmessage.TypeA, "wild.example.", "NameError"},
		{dnsmessage.TypeA, "secret.example.net.", "NameError"},
		{dnsmessage.TypeTXT, "secret.example.net.", "NameError"},
		{dnsmessage.TypePTR, "1.0.18.198.in-addr.arpa.", "NameError"},
		{dnsmessage.TypeA, "localhost.", "Success 127.0.0.1"},
		{dnsmessage.TypeAAAA, "localhost.", "Success ::1"},
		{dnsmessage.TypeA, ".", "NameError"},
		{dnsmessage.TypeA, "a\x00b.wild.example.", "NameError"},
		{dnsmessage.TypeA, "", "FormatError"},
		{dnsmessage.TypeA, "api.example.com. api.example.com.", "FormatError"},
	} {
		if got := ask(c.kind, strings.Fields(c.names)...); got != c.want {
			t.Errorf("%v %q: %s, not %s", c.kind, c.names, got, c.want)
		}
	}
	if got := fmt.Sprint(r.denied()); got != "[host wild.example host secret.example.net]" {
		t.Errorf("denied %s", got)
	}
	for i := range 40 {
		got := ask(dnsmessage.TypeA, fmt.Sprintf("n%d.wild.example.", i))
		if want := map[bool]string{true: "ServerFailure", false: "Success 127.0.0.5"}[i >= 31]; got != want {
			t.Fatalf("name %d of an address: %s", i, got)
		}
	}
}

func FuzzAnswerQuery(f *testing.F) {
	good := query(f, dnsmessage.TypeA, "a.example.")
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01")) // a name that points to itself
	f.Add([]byte("\x00\x07\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(append(bytes.Clone(good[:12]), bytes.Repeat([]byte("\x3fa"), 30000)...))
	f.Add([]byte("\x00\x07\x81\x80\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x07\x28\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	r := newRig(f, broker.Rules{Hosts: []string{"*:443"}})
	r.SetResolver(dnsServer(f, map[string][]string{"a.example.": {"127.0.0.1"}}))
	f.Fuzz(func(t *testing.T, message []byte) {
		b, err := r.AnswerQuery(message)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(b); err != nil || !m.Response || len(m.Questions) > 1 {
			t.Errorf("%x: %v %+v", message, err, m)
		}
	})
}

// TestHostileQueries sends messages that are no queries to the resolver. A process that writes slowly, or that does not
// read, does not keep others from their answers.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker.Rules{Hosts: []string{"api.example.com:443"}})
	r.SetResolver(dnsServer(t, map[string][]string{"api.example.com.": {"198.51.100.1"}}))
	out := r.python(`
import socket, struct
def conn(): s = socket.create_connection(("9.9.9.9", 53), timeout=15); return s
def head(b): return struct.pack(">H", len(b)) + b
good = bytes.fromhex("00070100000100000000000003617069076578616d706c6503636f6d0000010001")
slow = [conn() for i in range(20)]
for s in slow: s.send(head(good)[:5])
deaf = conn(); deaf.setblocking(False)
try:
    while True: deaf.send(head(good) * 1000)
except BlockingIOError: pass
for b in b"", b"\0" * 12, b"\xff" * 65535, good[:20], good[:12] + b"\xc0\x0c\0\1\0\1":
    s = conn(); s.send(head(b)); s.shutdown(socket.SHUT_WR)
    while s.recv(65536): pass
s = conn()
for i in range(3):
    for byte in head(good): s.send(bytes([byte]))
    b = b""
    while len(b) < 2 or len(b) < 2 + struct.unpack(">H", b[:2])[0]: b += s.recv(500)
    print(b[-4:].hex())
s = conn(); s.send(head(good) * 2)
b = b""
while b.count(bytes([198, 51, 100, 1])) < 2: b += s.recv(500)
`)
	if out != "c6336401\nc6336401\nc6336401\n" {
		t.Errorf("got %s", out)
	}
}
