package standard

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/indusagi/indus/internal/text"
)

const (
	// The limits of time: fetchLimit for a page with all redirects, and headLimit for the head of a response. A
	// connection may take dialLimit, and the TLS handshake as much again.
	fetchLimit = time.Minute
	dialLimit  = 10 * time.Second
	headLimit  = 30 * time.Second
	// The limits of size: maxHead for the head of a response, and maxBody for a body, both packed and unpacked. At most
	// maxHTML bytes of an HTML page are converted, because that takes a hundred times as much memory.
	maxHead = 64 << 10
	maxBody = 5 << 20
	maxHTML = 2 << 20
	// maxRedirects is the number of redirects that are followed.
	maxRedirects = 5

	userAgent     = "indus (+https://github.com/indusagi/indus)"
	acceptedTypes = "text/markdown, text/plain;q=0.9, text/html;q=0.8, application/json;q=0.8, */*;q=0.1"
)

// fetcher gets pages. It keeps no credentials, cookies or connections between calls.
type fetcher struct {
	client *http.Client
	check  func(netip.Addr) error // called for each dialled address, unless all are allowed
	limit  time.Duration
}

func newFetcher(o Options) *fetcher {
	f := &fetcher{check: onlyPublic, limit: fetchLimit}
	dialer := &net.Dialer{Timeout: dialLimit}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialLimit,
		ResponseHeaderTimeout:  headLimit,
		MaxResponseHeaderBytes: maxHead,
		DisableKeepAlives:      true,
		DisableCompression:     true, // read bounds the unpacked body
	}
	if o.AllowPrivate {
		transport.Proxy = http.ProxyFromEnvironment
		f.check = func(netip.Addr) error { return nil }
	} else {
		dialer.Control = f.checkDial
	}
	f.client = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return f
}

// webPage is a page that was fetched.
type webPage struct {
	url    *url.URL // after all redirects
	status int
	kind   string // its media type
	text   string // readable; "" if it is not text
	isText bool
	size   int64 // the size if it is not text, -1 if unknown
	cut    bool  // whether the page is longer
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("only http and https are fetched")
	case u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("a URL with a user name or a password in it is not fetched")
	}
	return nil
}

func checkRedirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer")
	if len(before) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	if err := checkURL(next.URL); err != nil {
		return fmt.Errorf("it redirects to %s: %w", shownURL(next.URL), err)
	}
	if first := before[0].URL; siteOf(next.URL) != siteOf(first) || next.URL.Scheme == "http" && first.Scheme == "https" {
		return &crossSiteRedirect{next.URL}
	}
	return nil
}

// siteOf returns the site of a URL. http and https belong to the same site, and so do names with and without "www.".
func siteOf(u *url.URL) string {
	port := u.Port()
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") + ":" + port
}

// crossSiteRedirect is the error of a redirect to another site, which is not followed. Permission for one site covers
// neither another site nor the data that the URL carries to it.
type crossSiteRedirect struct{ target *url.URL }

func (e *crossSiteRedirect) Error() string {
	return fmt.Sprintf("it redirects to another site: %s. Fetch that if it is what you need", shownURL(e.target))
}

// shownURL returns a URL on one line, of bounded length and without a password.
func shownURL(u *url.URL) string { return text.Clip(text.OneLine(u.Redacted()), 2000) }

func (f *fetcher) fetch(ctx context.Context, from string) (*webPage, error) {
	u, err := url.Parse(from)
	if err == nil {
		err = checkURL(u)
	}
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"User-Agent": {userAgent}, "Accept": {acceptedTypes}, "Accept-Encoding": {"gzip"}}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	p := &webPage{url: response.Request.URL, status: response.StatusCode, size: response.ContentLength}
	return p, p.read(ctx, response)
}

// read reads the body if it may be text.
func (p *webPage) read(ctx context.Context, response *http.Response) error {
	declared := response.Header.Get("Content-Type")
	p.kind, _, _ = mime.ParseMediaType(declared)
	if p.kind != "" && p.kind != "application/octet-stream" && !isTextual(p.kind) {
		return nil
	}
	body, err := unpackBody(response)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return err
	}
	if !isTextual(p.kind) {
		p.kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	if !isTextual(p.kind) {
		return nil
	}
	most := maxBody
	if isHTML(p.kind) {
		most = maxHTML
	}
	if p.cut = len(data) > most; p.cut {
		data = wholeRunes(data[:most])
	}
	return p.decode(ctx, data, declared)
}

// unpackBody returns the unpacked body of a response. The packed body is bounded too, because a reader may unpack input
// forever without output.
func unpackBody(response *http.Response) (io.Reader, error) {
	raw := io.LimitReader(response.Body, maxBody+1)
	switch encoding := strings.ToLower(response.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(raw)
	default:
		return nil, fmt.Errorf("it is encoded as %q, which nobody asked for", text.Clip(encoding, 100))
	}
}

// decode converts a body to readable text.
func (p *webPage) decode(ctx context.Context, data []byte, declared string) error {
	if !utf8.Valid(data) {
		if r, err := charset.NewReader(bytes.NewReader(data), declared); err == nil {
			if data, err = io.ReadAll(r); err != nil {
				return err
			}
		}
	}
	if isBinary(data) {
		return nil
	}
	p.isText, p.text = true, strings.ToValidUTF8(string(data), "\uFFFD")
	if isHTML(p.kind) {
		var err error
		if p.text, err = markdown(ctx, p.text); err != nil {
			return err
		}
	}
	p.text, _ = text.Visible(p.text)
	return nil
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// isTextual reports whether a media type is text that people write or read.
func isTextual(kind string) bool {
	switch kind {
	case "application/json", "application/jsonl", "application/x-ndjson", "application/xml", "application/yaml",
		"application/x-yaml", "application/toml", "application/javascript", "application/ecmascript", "application/x-sh",
		"application/graphql", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// explainFetch returns the error without the wrapping of the packages below.
func explainFetch(err error) error {
	if refused, ok := errors.AsType[*refusedAddress](err); ok {
		return refused
	}
	if redirect, ok := errors.AsType[*crossSiteRedirect](err); ok {
		return redirect
	}
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return fmt.Errorf("there is no host %s", cmp.Or(show(missing.Name), "of this name"))
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return errors.New(text.Clip(text.OneLine(err.Error()), 300))
}
