package broker_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box/broker"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]string{
		"api.example.com:443":       "api.example.com:443",
		"API.Example.COM.:443":      "api.example.com:443",
		"*.Example.com:443":         "*.example.com:443",
		"_dmarc.my-host_1.test:25":  "_dmarc.my-host_1.test:25",
		"xn--bcher-kva.example:443": "xn--bcher-kva.example:443",
		"*:443":                     "*:443",
		"localhost:5432":            "localhost:5432",
		"db:65535":                  "db:65535",
		"10.1.2.3:5432":             "10.1.2.3:5432",
		"[2001:DB8::1]:443":         "[2001:db8::1]:443",
		"[::ffff:10.1.2.3]:80":      "10.1.2.3:80",
		"[::1]:80":                  "[::1]:80",
	} {
		if h, err := broker.ParseHost(in); err != nil || h.String() != want {
			t.Errorf("%s: %v, %v", in, h, err)
		}
	}
}

func TestParseHostErrors(t *testing.T) {
	for in, want := range map[string]string{
		"api.example.com":                        "the port is missing",
		"api.example.com:":                       "the port is missing",
		"":                                       "the port is missing",
		":443":                                   "the name is missing",
		"a.example:0":                            "not a number from 1 to 65535",
		"a.example:65536":                        "not a number from 1 to 65535",
		"a.example:https":                        "not a number from 1 to 65535",
		"a.example:+443":                         "not a number from 1 to 65535",
		"a.example:0443":                         "not a number from 1 to 65535",
		"a.example:*":                            "not a number from 1 to 65535",
		"https://a.example:443":                  "a URL or a network is no host",
		"10.0.0.0/8:443":                         "a URL or a network is no host",
		"2001:db8::1:443":                        "stands in brackets",
		"::1":                                    "stands in brackets",
		"[2001:db8::1]":                          "the port is missing",
		"[fe80::1%eth0]:80":                      "an address with a zone",
		"[a.example]:80":                         "is not an IPv6 address",
		"[10.1.2.3]:80":                          "is not an IPv6 address",
		"0.0.0.0:80":                             "write localhost:80",
		"[::]:80":                                "write localhost:80",
		"198.18.0.1:80":                          "write the name",
		"bücher.example:443":                     "a name is written in ASCII: xn--bcher-kva.example",
		"a.*.example:443":                        "only possible as the whole first label",
		"*a.example:443":                         "only possible as the whole first label",
		"**.example:443":                         "only possible as the whole first label",
		"*.*:443":                                "only possible as the whole first label",
		"*.:443":                                 "not a name",
		"-a.example:443":                         "not a name",
		"a-.example:443":                         "not a name",
		"a..example:443":                         "not a name",
		".a.example:443":                         "not a name",
		"a b.example:443":                        "not a name",
		"a\x00.example:443":                      "not a name",
		"user@a.example:443":                     "not a name",
		"10.1.2:443":                             "looks like an IPv4 address",
		"010.1.2.3:443":                          "looks like an IPv4 address",
		"a.0x7f:443":                             "looks like an IPv4 address",
		"2130706433:443":                         "looks like an IPv4 address",
		strings.Repeat("a", 64) + ".example:443": "not a name",
		strings.Repeat("a.", 127) + "example.to:443": "not a name",
	} {
		if h, err := broker.ParseHost(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; no %q", in, h, err, want)
		}
	}
	hosts, err := broker.ParseHosts([]string{"a.example:1", "A.example.:1", "b", "c"})
	if len(hosts) != 1 || err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, %v", hosts, err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"a.example:443", "a.example:443", true},
		{"a.example:443", "a.example:80", false},
		{"a.example:443", "b.a.example:443", false},
		{"*.example:443", "a.example:443", true},
		{"*.example:443", "b.a.example:443", true},
		{"*.example:443", "*.a.example:443", true},
		{"*.example:443", "*.example:443", true},
		{"*.a.example:443", "*.example:443", false},
		{"*.example:443", "example:443", false},
		{"*.example:443", "myexample:443", false},
		{"*.example:443", "*.myexample:443", false},
		{"*.example:443", "*:443", false},
		{"*:443", "a.example:443", true},
		{"*:443", "*.example:443", true},
		{"*:443", "1.1.1.1:443", true},
		{"*:443", "[2606:4700::1111]:443", true},
		{"*:443", "10.1.2.3:443", false},
		{"*:443", "169.254.169.254:443", false},
		{"*:443", "127.0.0.1:443", false},
		{"*:443", "localhost:443", false},
		{"*:443", "*:80", false},
		{"localhost:80", "127.0.0.1:80", true},
		{"localhost:80", "127.1.2.3:80", true},
		{"localhost:80", "[::1]:80", true},
		{"localhost:80", "10.1.2.3:80", false},
		{"localhost:80", "a.localhost:80", false},
		{"127.0.0.1:80", "localhost:80", false},
		{"127.0.0.1:80", "127.0.0.2:80", false},
	} {
		wide, err := broker.ParseHost(c.wide)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := broker.ParseHost(c.narrow)
		if err != nil {
			t.Fatal(err)
		}
		if wide.Covers(narrow) != c.want {
			t.Errorf("%s covers %s: %v", c.wide, c.narrow, !c.want)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"api.example.com:443", "*.Example.com.:1", "[::1]:80", "*:443", "[fe80::1%a]:1", "a:b:c", "[]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := broker.ParseHost(s)
		if err != nil {
			return
		}
		again, err := broker.ParseHost(h.String())
		if err != nil || again != h || !h.Covers(again) {
			t.Errorf("%q: %v, %v, %v", s, h, again, err)
		}
	})
}
