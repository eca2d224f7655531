package signin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
)

// TestAdviceForARedirect checks that a redirect of metadata is not taken for a server that does not answer.
func TestAdviceForARedirect(t *testing.T) {
	s := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/x?secret=1", http.StatusTemporaryRedirect))
	defer s.Close()
	c, err := oauth.New(&oauth.Options{Store: &oauth.MemoryStore{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Discover(t.Context(), s.URL+"/mcp")
	if err == nil || !strings.Contains(err.Error(), "it redirects to https://elsewhere.example/x, which is not followed") {
		t.Fatal(err)
	}
	if got := signin.Advice(err, "s"); !strings.Contains(got, "must name the final address") {
		t.Error(got)
	}
}
