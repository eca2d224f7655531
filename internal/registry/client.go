package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/httpconn"
	"github.com/indusagi/indus/internal/proxied"
	"github.com/indusagi/indus/internal/text"
)

// Official is the address of the official registry.
const Official = "https://registry.modelcontextprotocol.io"

const (
	maxAnswer    = 16 << 20         // bytes of one answer
	answerTime   = 30 * time.Second // of one answer, from the connection to its last byte
	maxPages     = 50               // pages of one search
	maxPage      = 100              // entries of one page
	maxCursor    = 4096             // bytes
	maxRedirects = 3
)

// Client reads one registry. It sends no credentials.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client for the registry at an address, without the path /v0.1. The address must be https://. A registry
// on this machine may be http://.
func New(address string) (*Client, error) {
	u, err := parseAddress(strings.TrimSuffix(address, "/"), true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("registry %s: %w", address, err)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("registry %s: the address must have no query and no fragment", address)
	}
	return &Client{u, newHTTP(sameOrigin, answerTime)}, nil
}

// newHTTP returns an HTTP client that follows only redirects that mayFollow allows.
func newHTTP(mayFollow func(next, first *url.URL) bool, limit time.Duration) *http.Client {
	return &http.Client{
		Timeout: limit,
		Transport: &http.Transport{
			Proxy: proxied.FromEnvironment(), OnProxyConnectResponse: proxied.Check,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || !mayFollow(next.URL, via[0].URL) {
				return errors.New("it redirects to an address that is not followed")
			}
			return nil
		},
	}
}

func sameOrigin(next, first *url.URL) bool {
	return next.Scheme == first.Scheme && next.Host == first.Host
}

// parseAddress returns an https address without a user. If local is true, this machine is allowed, also with http.
func parseAddress(address string, local bool) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the address cannot be read")
	case u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, errors.New("the address must name a host, and no user")
	case !local && isOwn(u.Hostname()):
		return nil, errors.New("the address is on this machine or its link")
	case u.Scheme == "https" || local && u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, errors.New("the address must begin with https://")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// isOwn reports whether a host is this machine, or is reached without a router, such as the metadata of a cloud. Names
// that only a hosts file has count as this machine. So do addresses that resolvers read in different ways, such as
// 127.1, 0x7f.1 or 2130706433.
func isOwn(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	isNumber := err == nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	isBare := host == last && (strings.HasPrefix(host, "ip6-") || strings.HasPrefix(host, "localhost"))
	return isNumber || isBare || last == "localhost" || last == "localdomain"
}

// String returns the address of the registry.
func (c *Client) String() string { return c.base.String() }

// Query selects entries.
type Query struct {
	// Words must all occur in the name, the title or the description of an entry, in any case. The beginning of a name
	// that most entries have, io.github, does not count.
	Words []string
	// Cursor is where to begin. It is a value of [Found.Cursor], or "".
	Cursor string
	// Limit is the number of entries to return at least, if there are so many. 0 means one page.
	Limit int
}

// Found is a result of [Client.Search].
type Found struct {
	Entries []*Entry // those with a word in the last part of the name first
	Cursor  string   // where the next search begins; "" at the end
	Invalid int      // entries that were left out because they are not valid
}

// Search returns the newest versions of entries. It reads pages until it has enough entries.
//
// A registry looks for one substring of the name. Search asks it for one after the other: see [searchesFor]. A cursor
// has the number of the substring before the registry's own cursor, except for the first one.
func (c *Client) Search(ctx context.Context, q Query) (*Found, error) {
	found, searches := &Found{}, searchesFor(q.Words)
	at, cursor := cutCursor(q.Cursor)
	if at >= len(searches) {
		return nil, c.failure("%q is no cursor of an earlier search for the same words", text.Clip(q.Cursor, maxName))
	}
	seen := map[string]bool{}
	for range maxPages {
		found.Cursor = joinCursor(at, cursor)
		seen[found.Cursor] = true
		next, err := c.page(ctx, q, searches[:at+1], cursor, found)
		if err != nil {
			return found, err
		}
		if cursor = next; cursor == "" {
			at++
		}
		if at == len(searches) {
			found.Cursor = ""
			break
		}
		if found.Cursor = joinCursor(at, cursor); seen[found.Cursor] {
			return found, c.failure("its pages have no end: a cursor comes again")
		}
		isNextWord := cursor == "" && searches[at].word != searches[at-1].word
		if n := len(found.Entries); n > 0 && (n >= q.Limit || isNextWord) {
			break
		}
	}
	slices.SortStableFunc(found.Entries, func(a, b *Entry) int { return a.rank(q.Words) - b.rank(q.Words) })
	return found, nil
}

// joinCursor returns a registry's cursor with the number of the search before it. The first search has no number.
func joinCursor(at int, cursor string) string {
	if number, _ := cutCursor(cursor); at == 0 && number == 0 {
		return cursor
	}
	return strconv.Itoa(at) + "~" + cursor
}

// cutCursor returns the number of a search and the registry's cursor.
func cutCursor(joined string) (at int, cursor string) {
	number, cursor, ok := strings.Cut(joined, "~")
	if at, err := strconv.ParseUint(number, 10, 16); ok && err == nil {
		return int(at), cursor
	}
	return 0, joined
}

// commonName is the beginning of the names of entries whose publisher signed in at GitHub: most of them.
const commonName = "io.github."

// searchesFor returns the substrings of names to search for, in order: the beginning of the last part of the name and
// the words in it first. A word that is a part of commonName would find almost every entry, so it must begin a part.
func searchesFor(words []string) (all []nameSearch) {
	longest := slices.Clone(words)
	slices.SortStableFunc(longest, func(a, b string) int { return len(b) - len(a) })
	for i, w := range longest {
		w = strings.ToLower(w)
		texts := []string{"/" + w, w}
		if strings.Contains(commonName, w) {
			texts = []string{"/" + w, "-" + w, "_" + w, "." + w + "/"}
		}
		for _, text := range texts {
			all = append(all, nameSearch{i, text})
		}
	}
	if len(all) == 0 {
		all = []nameSearch{{}}
	}
	return all
}

// nameSearch is a substring to search names for, because of a word.
type nameSearch struct {
	word int
	text string
}

// page adds a page of the last search to a result, without the entries of the searches before. It returns the cursor of
// the next page, or "".
func (c *Client) page(
	ctx context.Context, q Query, searches []nameSearch, cursor string, found *Found,
) (string, error) {
	size := maxPage
	if q.Limit > 0 && len(q.Words) < 2 {
		size = min(q.Limit, maxPage)
	}
	values := url.Values{"version": {"latest"}, "limit": {strconv.Itoa(size)}}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	last := len(searches) - 1
	if searches[last].text != "" {
		values.Set("search", searches[last].text)
	}
	var answer struct {
		Servers  []json.RawMessage `json:"servers"`
		Metadata struct {
			NextCursor string `json:"nextCursor"`
		} `json:"metadata"`
	}
	if err := c.get(ctx, "/v0.1/servers?"+values.Encode(), &answer); err != nil {
		return "", err
	}
	if len(answer.Metadata.NextCursor) > maxCursor {
		return "", c.failure("its cursor is longer than %d bytes", maxCursor)
	}
	for _, raw := range answer.Servers[:min(len(answer.Servers), maxPage)] {
		e, err := c.parse(raw)
		switch {
		case err != nil:
			found.Invalid++
		case e.Status != "deleted" && e.matches(q.Words) && !e.isFoundBy(searches[:last]):
			found.Entries = append(found.Entries, e)
		}
	}
	return answer.Metadata.NextCursor, nil
}

// isFoundBy reports whether the name has one of the substrings.
func (e *Entry) isFoundBy(searches []nameSearch) bool {
	name := strings.ToLower(e.Name)
	return slices.ContainsFunc(searches, func(s nameSearch) bool { return strings.Contains(name, s.text) })
}

// rank returns 0 if the last part of the name is a word, 1 if a word begins or ends it, 2 if it has a word, and else 3.
func (e *Entry) rank(words []string) int {
	_, short, _ := strings.Cut(strings.ToLower(e.Name), "/")
	best := 3
	for _, w := range words {
		switch w = strings.ToLower(w); {
		case short == w:
			return 0
		case strings.HasPrefix(short, w), strings.HasSuffix(short, w):
			best = min(best, 1)
		case strings.Contains(short, w):
			best = min(best, 2)
		}
	}
	return best
}

func (c *Client) parse(raw json.RawMessage) (*Entry, error) {
	e, err := parseEntry(raw)
	if err == nil {
		e.local = isLoopback(c.base.Hostname())
	}
	return e, err
}

func (e *Entry) matches(words []string) bool {
	name := strings.TrimPrefix(strings.ToLower(e.Name), commonName)
	about := name + "\n" + strings.ToLower(e.Title+"\n"+e.Description)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(about, strings.ToLower(w)) })
}

// ErrNoEntry is returned if a registry has no such entry, or no such version of it.
var ErrNoEntry = errors.New("there is no such entry")

// Entry returns one version of an entry. The version may be "latest".
func (c *Client) Entry(ctx context.Context, name, version string) (*Entry, error) {
	if !IsName(name) || !plainVersion().MatchString(version) {
		return nil, c.failure("%q is no name of an entry, such as io.github.user/server@1.0.0",
			text.Clip(name+"@"+version, maxName))
	}
	var raw json.RawMessage
	err := c.get(ctx, "/v0.1/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version), &raw)
	if err != nil {
		return nil, err
	}
	e, err := c.parse(raw)
	switch {
	case err != nil:
		return nil, c.failure("%w", err)
	case e.Name != name || version != "latest" && e.Version != version:
		return nil, c.failure("it returned %s@%s for %s@%s", e.Name, e.Version, name, version)
	case e.Status == "deleted":
		return nil, c.failure("%s@%s is deleted: %w", e.Name, e.Version, ErrNoEntry)
	}
	return e, nil
}

// get reads the JSON at a path.
func (c *Client) get(ctx context.Context, path string, to any) error {
	body, err := fetch(ctx, c.http, c.base.String()+path, "application/json", maxAnswer)
	if errors.Is(err, statusError(http.StatusNotFound)) {
		err = ErrNoEntry
	}
	if err != nil {
		return c.failure("%w", err)
	}
	if err := json.Unmarshal(body, to); err != nil {
		return c.failure("its answer is no JSON of a registry: %w", err)
	}
	return nil
}

// statusError is the status of an answer without a document.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("it answers with HTTP %d", int(s)) }

// fetch reads an answer of at most limit bytes. Its errors leave out the address.
func fetch(ctx context.Context, client *http.Client, address, accepted string, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accepted)
	response, err := client.Do(r)
	if err != nil {
		return nil, cause(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("its answer is longer than %d MiB", limit>>20)
	}
	return body, cause(err)
}

// failure returns an error about the registry.
func (c *Client) failure(format string, arguments ...any) error {
	return fmt.Errorf("registry %s: %w", c.base.Host, fmt.Errorf(format, arguments...))
}

// cause returns the reason of a failed request without its address.
func cause(err error) error {
	err = httpconn.Reason(err)
	if IsOffline(err) {
		return fmt.Errorf("it cannot be reached: %w", err)
	}
	if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return &slowError{err}
	}
	return err
}

// slowError is the error of an answer that did not arrive in time.
type slowError struct{ cause error }

func (*slowError) Error() string   { return "it did not answer in time; try again" }
func (e *slowError) Unwrap() error { return e.cause }

// IsOffline reports whether a registry could not be reached at all.
func IsOffline(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}
