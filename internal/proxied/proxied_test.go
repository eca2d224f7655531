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
