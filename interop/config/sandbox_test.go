package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/interop/config"
)

func TestCanonicalHost(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"api.github.com:443": "api.github.com:443", "API.GitHub.com.:0443": "api.github.com:443",
		"*.Example.com:443": "*.example.com:443", "*:443": "*:443", "localhost:5432": "localhost:5432",
		"10.1.2.3:5432": "10.1.2.3:5432", "[::1]:80": "[::1]:80", "[0:0::1]:80": "[::1]:80", "[::ffff:10.0.0.1]:80": "10.0.0.1:80",
		"_srv.x:1": "_srv.x:1", "3com.com:443": "3com.com:443",
	} {
		if got, err := config.CanonicalHost(entry); err != nil || got != want {
			t.Errorf("%s: %q, %v", entry, got, err)
		}
	}
	for _, entry := range []string{
		"", ":", "api.github.com", "api.github.com:", "api.github.com:0", "api.github.com:65536", "api.github.com:+80", ":443",
		"api.github.com:https", "https://api.github.com:443", "api.github.com:443/x", "a.*.com:443", "*github.com:443", "**:443", "*.*:443",
		"::1:80", "[::1]", "[::1:80", "[fe80::1%eth0]:80", "a b:80", "bücher.example:443", "a..b:80", ".a:80", "-a:80", "user@host:80",
		"127.1:80", "0.0.0.0:80", "[::]:80", "2130706433:80", "0x7f000001:80", "1.2.3.4.5:80", "*.1:80", "a\x00b:80", "a:80\n", strings.Repeat("a.", 130) + "a:80",
	} {
		if got, err := config.CanonicalHost(entry); err == nil {
			t.Errorf("%q is taken as %q", entry, got)
		}
	}
}

func TestWhatASandboxAllowsBeyondAnother(t *testing.T) {
	t.Parallel()
	type box = config.Sandbox
	for _, c := range []struct {
		name     string
		s, limit *box
		want     string
	}{
		{"the same", &box{}, &box{Base: config.Strict}, ""},
		{"any, without a limit", &box{Optional: true, Hosts: []string{"*:443"}}, nil, ""},
		{"none", nil, &box{Base: config.Package}, "no sandbox"},
		{"none, without a limit", nil, nil, ""},
		{"a base", &box{Base: config.Package}, &box{}, "base package"},
		{"a narrower base", &box{}, &box{Base: config.Package}, ""},
		{"paths below", &box{Read: []string{"/p/a", "/w"}, Write: []string{"/w/x"}}, &box{Read: []string{"/p"}, Write: []string{"/w"}}, ""},
		{"paths beside", &box{Read: []string{"/pp", "/"}, Write: []string{"/p/a", "/w/../v"}}, &box{Read: []string{"/p"}, Write: []string{"/w"}},
			"read /pp, read /, write /p/a, write /w/../v"},
		{"hosts", &box{Hosts: []string{"a.x:443", "b.a.x:443", "*.a.x:443", "127.0.0.2:1", "[::1]:1", "c.y:80"}},
			&box{Hosts: []string{"*.x:443", "localhost:1", "*:80"}}, ""},
		{"other hosts", &box{Hosts: []string{"x:443", "ax:443", "*:443", "localhost:80", "10.0.0.1:80", "localhost.:2", "10.0.0.1:1"}},
			&box{Hosts: []string{"*.x:443", "*:80", "localhost:1"}},
			"host x:443, host ax:443, host *:443, host localhost:80, host 10.0.0.1:80, host localhost.:2, host 10.0.0.1:1"},
		{"a wider pattern", &box{Hosts: []string{"*.x:1"}}, &box{Hosts: []string{"*.a.x:1"}}, "host *.x:1"},
		{"ports and sockets", &box{Listen: []int{0, 80}, Sockets: []string{"/a", "/b"}}, &box{Listen: []int{80}, Sockets: []string{"/b"}},
			"listen 0, socket /a"},
		{"bounds", &box{Limits: config.Limits{Files: 9, Memory: 5}}, &box{Limits: config.Limits{Files: 8, Memory: 5, Processes: 1}},
			"more files, more processes"},
		{"the rest", &box{RealHome: true, Optional: true, User: "0"}, &box{NoProc: true}, "user 0, your home directory as HOME, /proc, a start without the sandbox"},
		{"less", &box{NoProc: true, Home: "/other"}, &box{RealHome: true, Optional: true}, ""},
	} {
		if got := strings.Join(c.s.Beyond(c.limit), ", "); got != c.want {
			t.Errorf("%s: %s", c.name, cmp.Diff(c.want, got))
		}
		if got := slices.Concat(c.s.Beyond(c.s), c.limit.Beyond(c.limit)); got != nil {
			t.Errorf("%s: beyond itself: %s", c.name, got)
		}
	}
}

func TestTheShortFormOfASandbox(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*config.Sandbox{
		"off": nil, "strict": {}, "package": {Base: config.Package, Listen: nil},
		"package +2 hosts +1 path": {Base: config.Package, Hosts: []string{"a:1", "b:1"}, Write: []string{"/"}},
		"strict +1 port +1 socket": {Listen: []int{0}, Sockets: []string{"/a"}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
