package oauth_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The end of an httptest.Server closes the unused connections of http.DefaultTransport. A request of another test may
	// have just begun to use one. A transport without CloseIdleConnections keeps them.
	http.DefaultTransport = struct{ http.RoundTripper }{http.DefaultTransport}
	goleak.VerifyTestMain(m)
}
