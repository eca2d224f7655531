package proxied_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/proxied"
)

// The error of a connection that a proxy refuses names the proxy and its status, without its password.
func TestAProxyThatRefuses(t *testing.T) {
	for _, status := range []int{200, 403, 407, 502} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer proxy.Close()
		u, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		host := u.Host
		u.User = url.UserPassword("me", "s3cret")
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), OnProxyConnectResponse: proxied.Check}}
		_, err = client.Get("https://mcp.example.com/")
		refused, ok := errors.AsType[*proxied.Error](err)
		if ok != (status != 200) || ok && (refused.Status != status || refused.Proxy != host) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// ALL_PROXY is used where no other variable names a proxy, and NO_PROXY excludes hosts from it.
func TestTheProxyOfTheEnvironment(t *testing.T) {
	for _, tt := range []struct{ variables, url, proxy string }{
		{"", "https://mcp.example.com/", ""},
		{"ALL_PROXY=http://all:1", "https://mcp.example.com/", "http://all:1"},
		{"ALL_PROXY=http://all:1", "http://mcp.example.com/", "http://all:1"},
		{"all_proxy=socks5://all:1", "https://mcp.example.com/", "socks5://all:1"},
		{"ALL_PROXY=http://all:1 HTTPS_PROXY=http://secure:1", "https://mcp.example.com/", "http://secure:1"},
		{"ALL_PROXY=http://all:1 HTTPS_PROXY=http://secure:1", "http://mcp.example.com/", "http://all:1"},
		{"HTTPS_PROXY=http://secure:1", "http://mcp.example.com/", ""},
		{"ALL_PROXY=http://all:1 NO_PROXY=.example.com", "https://mcp.example.com/", ""},
		{"ALL_PROXY=http://all:1", "http://127.0.0.1:8080/mcp", ""},
	} {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
			t.Setenv(name, "")
			t.Setenv(strings.ToLower(name), "")
		}
		for variable := range strings.FieldsSeq(tt.variables) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
		}
		r := httptest.NewRequest("GET", tt.url, nil)
		got := ""
		if u, err := proxied.FromEnvironment()(r); err != nil {
			t.Errorf("%+v: %v", tt, err)
		} else if u != nil {
			got = u.String()
		}
		if got != tt.proxy {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
