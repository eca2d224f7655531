package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// fetchWait bounds one request to an authorization server.
	fetchWait = 10 * time.Second
	// maxFetch bounds the response, in bytes.
	maxFetch = 1 << 20
)

// fetcher sends requests to authorization servers. It follows no redirect, because the target is not configured.
type fetcher struct{ client *http.Client }

func newFetcher(c *http.Client) fetcher {
	copied := http.Client{}
	if c != nil {
		copied = *c
	}
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return fetcher{&copied}
}

// do sends a request, which must have a deadline in its context. It returns the body of a response with status 200.
func (f fetcher) do(r *http.Request) ([]byte, error) {
	r.Header.Set("Accept", "application/json")
	res, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 {
		return nil, fmt.Errorf("%s %s: it redirects to %s://%s, which is not followed: configure the address that answers",
			r.Method, r.URL, to.Scheme, to.Host)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", r.Method, r.URL, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFetch+1))
	if err == nil && len(body) > maxFetch {
		err = fmt.Errorf("%s %s: the answer is larger than %d KiB", r.Method, r.URL, maxFetch>>10)
	}
	return body, err
}

func (f fetcher) get(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return f.do(r)
}

// serverMetadata holds the members of an authorization server's metadata that are used (RFC 8414, OpenID Connect
// Discovery).
type serverMetadata struct {
	Issuer string `json:"issuer"`
	Keys   string `json:"jwks_uri"`
}

// discoverKeys discovers the address of an issuer's keys.
func (f fetcher) discoverKeys(ctx context.Context, issuer string) (string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	for _, place := range []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + path + "/.well-known/openid-configuration",
		origin + "/.well-known/openid-configuration" + path,
	} {
		var body []byte
		body, err = f.get(ctx, place)
		if err != nil {
			continue
		}
		var m serverMetadata
		err = json.Unmarshal(body, &m)
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %w", place, err)
		case m.Issuer != issuer:
			err = fmt.Errorf("%s: the metadata belong to %.200q", place, m.Issuer)
		case checkAddress(m.Keys) != nil:
			err = fmt.Errorf("%s: jwks_uri: %w", place, checkAddress(m.Keys))
		default:
			return m.Keys, nil
		}
	}
	return "", err
}

// checkAddress refuses addresses that must not be used. Without TLS, only this machine is allowed.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return err
	case u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%.200q is no https URL", address)
	case u.Scheme == "http" && !isLoopbackName(u.Hostname()):
		return fmt.Errorf("%.200q: without TLS it may only be on this machine", address)
	}
	return nil
}

func isLoopbackName(name string) bool {
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
