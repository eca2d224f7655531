// Package proxied names the proxy that refuses to open a connection. net/http returns only the status text of such a
// refusal, as if the server had sent it.
//
// Set [Check] as OnProxyConnectResponse of an http.Transport. It is pure, and safe for concurrent use.
package proxied

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

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
