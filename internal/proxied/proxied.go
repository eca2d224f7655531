// Package proxied selects the proxy of the environment, and names the proxy that refuses to open a connection.
// net/http ignores ALL_PROXY, and returns only the status text of such a refusal, as if the server had sent it.
//
// Set [FromEnvironment] as Proxy of an http.Transport, and [Check] as OnProxyConnectResponse. Both are safe for
// concurrent use.
package proxied

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

// FromEnvironment reads the environment and returns the function that selects the proxy of a request. It is
// [http.ProxyFromEnvironment], and uses ALL_PROXY where HTTP_PROXY or HTTPS_PROXY is not set.
func FromEnvironment() func(*http.Request) (*url.URL, error) {
	c, all := httpproxy.FromEnvironment(), cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	c.HTTPProxy, c.HTTPSProxy = cmp.Or(c.HTTPProxy, all), cmp.Or(c.HTTPSProxy, all)
	choose := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// Error reports that a proxy answered CONNECT with another status than 200.
type Error struct {
	Proxy  string // its host and port
	Status int
}

func (e *Error) Error() string {
	return fmt.Sprintf("the proxy %s answers HTTP %d %s", e.Proxy, e.Status, http.StatusText(e.Status))
}

// Check returns an [*Error] if the proxy does not open the connection.
func Check(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &Error{proxy.Host, answer.StatusCode}
}
