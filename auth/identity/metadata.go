package identity

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// metadataPath precedes the path of a resource in the path of its metadata (RFC 9728, section 3.1).
const metadataPath = "/.well-known/oauth-protected-resource"

// metadata has the information that a client needs to get a token (RFC 9728, section 2).
type metadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// NamesIssuers reports whether the metadata name an authorization server, from which clients obtain their tokens.
func (g *Guard) NamesIssuers() bool { return len(g.opts.Issuers) > 0 }

// Metadata serves the metadata of all resources at their well-known places. A resource that does not exist has metadata
// like any other, so that they do not reveal which resources exist. Web pages of any origin may read them. All other
// paths get 404.
func (g *Guard) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, metadataPath)
		if !ok || len(path) > maxResource || path != "" && path[0] != '/' || len(g.opts.Issuers) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodOptions:
			w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD")
			w.Header().Set("Access-Control-Allow-Headers", "MCP-Protocol-Version, Accept, Authorization")
			w.WriteHeader(http.StatusNoContent)
		case http.MethodGet, http.MethodHead:
			g.writeMetadata(w, r, path)
		default:
			w.Header().Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
	})
}

// writeMetadata writes the metadata of the resource at a path.
func (g *Guard) writeMetadata(w http.ResponseWriter, r *http.Request, path string) {
	resourceRequest := r.Clone(r.Context())
	resourceRequest.URL.Path, resourceRequest.URL.RawPath = path, ""
	resource := g.opts.Resource(resourceRequest)
	address := g.address(r, resource)
	if address == "" || resource.Path == "" {
		http.NotFound(w, r)
		return
	}
	body, _ := json.Marshal(metadata{ // of strings
		Resource: address, Servers: g.opts.Issuers, Scopes: g.scopes(resource), Methods: []string{"header"}, Name: "indus",
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Host")
	_, _ = w.Write(body)
}

// Handler authenticates requests for next, and serves the metadata. In next, [FromContext] returns the caller. A
// browser's preflight (Fetch, "CORS-preflight request") brings no credentials: next answers it, and FromContext returns
// nil.
func (g *Guard) Handler(next http.Handler) http.Handler {
	wellKnown := g.Metadata()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, metadataPath) {
			wellKnown.ServeHTTP(w, r)
			return
		}
		isCORS := r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
		if r.Method == http.MethodOptions && isCORS {
			next.ServeHTTP(w, r)
			return
		}
		r = Carrying(r)
		if _, err := g.Authenticate(r); err != nil {
			refused := err.(*Refusal)
			maps.Copy(w.Header(), refused.Header)
			http.Error(w, refused.Reason, refused.Status)
			return
		}
		next.ServeHTTP(w, r)
	})
}
