package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/registry"
	"github.com/indusagi/indus/schema/validate"
)

// site serves the documents of views. All other paths get 418. The views' address is the one of the server if address
// is "".
func site(t *testing.T, address string, needsKey bool, views ...string) *httptest.Server {
	t.Helper()
	var documents *registry.Site
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := documents.Handler(r.URL.Path); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(s.Close)
	if address == "" {
		address = s.URL
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	documents = registry.NewSite(at, "/mcp", views, needsKey)
	return s
}

// get returns the answer to a request with headers, in turn names and values.
func get(t *testing.T, method, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// TestPublishedEntryBecomesARow checks the way of a client from the registry of a view to a row.
func TestPublishedEntryBecomesARow(t *testing.T) {
	s := site(t, "", true, "team", "other")
	c, err := registry.New(s.URL + "/mcp/@team")
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Search(t.Context(), registry.Query{Words: []string{"team"}})
	if err != nil || found.Invalid > 0 || len(found.Entries) != 1 || found.Entries[0].Name != "127.0.0.1/team" {
		t.Fatalf("%v %+v", err, found)
	}
	for _, version := range []string{"latest", "1.0.0"} {
		e, err := c.Entry(t.Context(), "127.0.0.1/team", version)
		if err != nil {
			t.Fatal(err)
		}
		row, err := complete(e.Offers()[0], "team")
		want := `{"url":"` + s.URL + `/mcp/@team","headers":{"Authorization":"Bearer ${TEAM_TOKEN}"}}`
		if err != nil || string(row) != want {
			t.Errorf("%v\n%s\n%s", err, row, want)
		}
	}
	for _, entry := range []string{"127.0.0.1/other@latest", "127.0.0.1/team@2.0.0", "x/y@latest"} {
		name, version, _ := strings.Cut(entry, "@")
		if _, err := c.Entry(t.Context(), name, version); !errors.Is(err, registry.ErrNoEntry) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// TestPublishedPages checks that pages have each entry once, and what the other parameters select.
func TestPublishedPages(t *testing.T) {
	s := site(t, "https://mcp.example.com", false, "c", "a", "b", "B", "versions")
	names := func(query string) (all []string, next string) {
		_, body := get(t, "GET", s.URL+"/mcp/v0.1/servers?"+query)
		var list struct {
			Servers []struct {
				Server registry.Entry `json:"server"`
			} `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
				Count      int    `json:"count"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil || list.Metadata.Count != len(list.Servers) {
			t.Fatal(err, body)
		}
		for _, e := range list.Servers {
			all = append(all, strings.TrimPrefix(e.Server.Name, "com.example.mcp/"))
		}
		return all, list.Metadata.NextCursor
	}
	for query, want := range map[string]string{
		"": "B a b c versions", "limit=100000": "B a b c versions", "search=%2FB": "B b", "search=%5B": "", "version=latest": "B a b c versions",
		"version=1.0.0": "B a b c versions", "version=2": "", "cursor=zzz": "", "limit=1": "B",
	} {
		if got, _ := names(query); strings.Join(got, " ") != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	var paged []string
	for next := ""; ; {
		var page []string
		page, next = names("limit=2&cursor=" + url.QueryEscape(next))
		paged = append(paged, page...)
		if next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"B", "a", "b", "c", "versions"}, paged); diff != "" {
		t.Error(diff)
	}
	if answer, body := get(t, "GET", s.URL+"/mcp/v0.1/servers/com.example.mcp%2Fversions/versions/latest"); answer.StatusCode != 200 {
		t.Error(body)
	}
	if answer, body := get(t, "GET", s.URL+"/mcp/v0.1/servers?limit=-1"); answer.StatusCode != 400 || !strings.Contains(body, "limit must be") {
		t.Error(body)
	}
}

// TestPublishedAnswersFollowTheDescription checks answers against the API's OpenAPI description.
func TestPublishedAnswersFollowTheDescription(t *testing.T) {
	description, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	one := bytes.Replace(description, []byte("#/$defs/ServerList"), []byte("#/$defs/ServerResponse"), 1)
	for _, address := range []string{"https://mcp.example.com", "http://[::1]:8080", "http://10.0.0.1", "http://a_b.Example", "https://x"} {
		s := site(t, address, true, "team", strings.Repeat("x", 64))
		for path, schema := range map[string][]byte{
			"/mcp/v0.1/servers": description, "/mcp/@team/v0.1/servers": description, "/mcp/@team/v0.1/servers?search=no": description,
			"/mcp/@team/v0.1/servers/NAME/versions": description, "/mcp/@team/v0.1/servers/NAME/versions/latest": one,
		} {
			_, list := get(t, "GET", s.URL+"/mcp/@team/v0.1/servers")
			name, _, _ := strings.Cut(strings.SplitN(list, `"name":"`, 2)[1], `"`)
			answer, body := get(t, "GET", s.URL+strings.Replace(path, "NAME", url.PathEscape(name), 1))
			v, err := validate.New(schema)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Validate([]byte(body)); answer.StatusCode != 200 || err != nil {
				t.Errorf("%s%s: %v\n%s", address, path, err, body)
			}
		}
	}
}

func TestServerCardsAndTheirCatalog(t *testing.T) {
	s := site(t, "https://mcp.example.com", false, "team")
	answer, body := get(t, "GET", s.URL+"/.well-known/ai-catalog.json")
	if diff := cmp.Diff(`{"specVersion":"1.0","entries":[{"identifier":"urn:air:mcp.example.com:team","displayName":"team",`+
		`"type":"application/mcp-server-card+json","url":"https://mcp.example.com/mcp/@team/server-card"}]}`, body); diff != "" {
		t.Error(diff)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/ai-catalog+json" {
		t.Error(kind)
	}
	answer, body = get(t, "GET", s.URL+"/mcp/@team/server-card")
	if diff := cmp.Diff(`{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",`+
		`"name":"com.example.mcp/team","title":"team","description":"The view team of an MCP gateway","version":"1.0.0",`+
		`"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/mcp/@team"}]}`, body); diff != "" {
		t.Error(diff)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/mcp-server-card+json" {
		t.Error(kind)
	}
}

// TestDocumentsAreForWebPagesAndCaches checks methods and headers.
func TestDocumentsAreForWebPagesAndCaches(t *testing.T) {
	s := site(t, "", false, "team")
	for _, path := range []string{"/mcp/v0.1/servers", "/mcp/@team/server-card", "/.well-known/ai-catalog.json"} {
		answer, body := get(t, "GET", s.URL+path, "Origin", "https://example.com")
		head := answer.Header
		if head.Get("Access-Control-Allow-Origin") != "*" || head.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s: %v", path, head)
		}
		if again, rest := get(t, "GET", s.URL+path, "If-None-Match", head.Get("ETag")); again.StatusCode != 304 || rest != "" {
			t.Error(path, again.Status, rest)
		}
		if only, rest := get(t, "HEAD", s.URL+path); only.StatusCode != 200 || only.ContentLength != int64(len(body)) || rest != "" {
			t.Error(path, only.Status, only.ContentLength)
		}
		asked, _ := get(t, "OPTIONS", s.URL+path, "Origin", "https://example.com", "Access-Control-Request-Method", "GET")
		if asked.StatusCode != 204 || asked.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD" {
			t.Error(path, asked.Status, asked.Header)
		}
		if refused, _ := get(t, "POST", s.URL+path); refused.StatusCode != 405 || refused.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Error(path, refused.Status)
		}
	}
	if none, _ := get(t, "GET", s.URL+"/mcp/v0.1/servers/a%2Fb/versions/latest"); none.StatusCode != 404 ||
		none.Header.Get("Access-Control-Allow-Origin") != "*" || none.Header.Get("Cache-Control") != "" {
		t.Error(none.Status, none.Header)
	}
}

// TestOtherPathsAreNoDocuments checks that views without documents and paths of MCP are left to the gateway.
func TestOtherPathsAreNoDocuments(t *testing.T) {
	s := site(t, "", false, "team")
	for _, path := range []string{
		"/", "/mcp", "/mcp/", "/mcp/@team", "/mcp/@other/v0.1/servers", "/mcp/@other/server-card", "/mcp/server-card", "/v0.1/servers",
		"/mcp/@team/v0.1/serversX", "/mcp/@team/v0.1", "/mcp/one/v0.1/servers", "/mcp/@team/x/server-card", "/sse/@team/v0.1/servers",
		"/mcp/@team/v0/servers", "/.well-known/mcp/server-card.json",
	} {
		if answer, body := get(t, "GET", s.URL+path); answer.StatusCode != http.StatusTeapot {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
	}
}
