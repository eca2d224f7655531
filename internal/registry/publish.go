package registry

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/text"
)

const (
	publishedVersion = "1.0.0" // of each published view: its remote is its only version
	publishedTime    = 5 * time.Minute
	serversPath      = "/v0.1/servers"
	cardPath         = "/server-card"
	catalogPath      = "/.well-known/ai-catalog.json"
	cardType         = "application/mcp-server-card+json"
	cardSchema       = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// Site serves public documents about the views of a gateway. Below the path of a view, it serves a registry with the
// view as its only entry (/v0.1/servers), and the view's server card (SEP-2127, draft). Below the path of all views, it
// serves a registry with all published views. /.well-known/ai-catalog.json names all server cards. The documents are
// the same for every caller. They contain only the address and the names of the views.
type Site struct {
	entries []*Entry          // by name
	views   map[string]*Entry // by path of the view
	all     string            // the path of all views
	catalog []byte
}

// noNamespace matches characters that the namespace of an entry cannot have.
var noNamespace = text.Pattern(`[^a-z0-9.-]+`)

// NewSite returns the documents of views at an address, a scheme and host. all is the path of the view of everything.
// The path of each view is all + "/@" + its name. If needsKey is set, an entry asks for an Authorization header.
func NewSite(address *url.URL, all string, views []string, needsKey bool) *Site {
	s := &Site{views: map[string]*Entry{}, all: all}
	host, prefix := publisherOf(address.Hostname())
	list := catalog{SpecVersion: "1.0"}
	for _, name := range slices.Sorted(slices.Values(views)) {
		path := all + "/@" + name
		e := &Entry{
			Name: prefix + "/" + name, Title: name, Description: "The view " + name + " of an MCP gateway",
			Version: publishedVersion, Remotes: []Transport{remote(address.String()+path, needsKey)},
		}
		s.entries, s.views[path] = append(s.entries, e), e
		list.Entries = append(list.Entries, catalogEntry{
			"urn:air:" + host + ":" + name, name, cardType, address.String() + path + cardPath,
		})
	}
	s.catalog = encode(list)
	return s
}

// publisherOf returns the form of a host in a catalog, and the namespace of its entries. That is the name in reverse
// order, or the IP address as it is.
func publisherOf(hostname string) (host, namespace string) {
	host = strings.Trim(noNamespace().ReplaceAllString(strings.ToLower(hostname), "-"), ".")
	if _, err := netip.ParseAddr(hostname); err == nil {
		return host, host
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return host, strings.Join(labels, ".")
}

// remote returns the transport of a view.
func remote(address string, needsKey bool) Transport {
	t := Transport{Type: "streamable-http", URL: address}
	if needsKey {
		t.Headers = []KeyValue{{"Authorization", Input{
			Description: "A key of this gateway", Required: true, Secret: true, Value: "Bearer {token}",
			Variables: map[string]Input{"token": {Description: "A key of this gateway", Required: true, Secret: true}},
		}}}
	}
	return t
}

// catalog is an AI catalog.
type catalog struct {
	SpecVersion string         `json:"specVersion"`
	Entries     []catalogEntry `json:"entries"`
}

type catalogEntry struct {
	Identifier string `json:"identifier"`
	Name       string `json:"displayName"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// published is an entry as a registry lists it.
type published struct {
	Server *Entry         `json:"server"`
	Meta   map[string]any `json:"_meta"`
}

func publish(e *Entry) published {
	return published{e, map[string]any{official: map[string]any{"status": "active", "isLatest": true}}}
}

// serverList is a page of entries.
type serverList struct {
	Servers  []published `json:"servers"`
	Metadata struct {
		Next  string `json:"nextCursor,omitempty"`
		Count int    `json:"count"`
	} `json:"metadata"`
}

// Handler returns the handler of a document, or nil if there is none at this path.
func (s *Site) Handler(path string) http.Handler {
	if path == catalogPath {
		return document("application/ai-catalog+json", func(url.Values) ([]byte, error) { return s.catalog, nil })
	}
	if view, ok := strings.CutSuffix(path, cardPath); ok && s.views[view] != nil {
		return document(cardType, func(url.Values) ([]byte, error) {
			return encode(struct {
				Schema string `json:"$schema"`
				*Entry
			}{cardSchema, s.views[view]}), nil
		})
	}
	view, rest, ok := strings.Cut(path, serversPath)
	if !ok || rest != "" && rest[0] != '/' {
		return nil
	}
	entries := s.entries
	if e := s.views[view]; e != nil {
		entries = []*Entry{e}
	} else if view != s.all {
		return nil
	}
	return document("application/json", func(query url.Values) ([]byte, error) {
		return registryAnswer(entries, rest, query)
	})
}

// registryAnswer returns the answer of a registry. rest is the path below /v0.1/servers.
func registryAnswer(entries []*Entry, rest string, query url.Values) ([]byte, error) {
	if rest == "" {
		return listPage(entries, query)
	}
	for _, e := range entries {
		switch rest {
		case "/" + e.Name + "/versions":
			return listPage([]*Entry{e}, nil)
		case "/" + e.Name + "/versions/latest", "/" + e.Name + "/versions/" + e.Version:
			return encode(publish(e)), nil
		}
	}
	return nil, ErrNoEntry
}

// listPage returns a page of entries. A cursor is the name of the last entry before it.
func listPage(entries []*Entry, query url.Values) ([]byte, error) {
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), "30"))
	if err != nil || limit < 1 {
		return nil, fmt.Errorf("limit must be a number from 1 to %d", maxPage)
	}
	limit = min(limit, maxPage)
	search, version, cursor := strings.ToLower(query.Get("search")), query.Get("version"), query.Get("cursor")
	list := serverList{Servers: []published{}}
	for _, e := range entries {
		switch {
		case e.Name <= cursor || !strings.Contains(strings.ToLower(e.Name), search):
			continue
		case version != "" && version != "latest" && version != e.Version:
			continue
		case len(list.Servers) == limit:
			list.Metadata.Next = list.Servers[limit-1].Server.Name
			return encode(list), nil
		}
		list.Servers = append(list.Servers, publish(e))
		list.Metadata.Count++
	}
	return encode(list), nil
}

// document serves JSON that web pages of every origin may read.
func document(kind string, body func(url.Values) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodOptions:
			head.Set("Access-Control-Allow-Methods", "GET, HEAD")
			head.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, MCP-Protocol-Version")
			w.WriteHeader(http.StatusNoContent)
			return
		case http.MethodGet, http.MethodHead:
		default:
			head.Set("Allow", "GET, HEAD, OPTIONS")
			writeError(w, http.StatusMethodNotAllowed, "method not allowed")
			return
		}
		content, err := body(r.URL.Query())
		switch {
		case errors.Is(err, ErrNoEntry):
			writeError(w, http.StatusNotFound, err.Error())
			return
		case err != nil:
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		head.Set("Content-Type", kind)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(publishedTime.Seconds())))
		head.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}

// writeError writes an error in the form of the registry's API (RFC 9457).
func writeError(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(map[string]any{"status": status, "title": http.StatusText(status), "detail": reason}))
}

// encode returns the JSON of a document, which has only texts and numbers.
func encode(v any) []byte {
	out, _ := json.Marshal(v)
	return out
}
