package httpconn_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/httpconn"
)

// The reason of a failed request has the address of the request in no part, and the errors of net in its chain.
func TestReason(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(gone.URL, "http://"))
	for _, tt := range []struct{ url, want string }{
		{gone.URL + "/secret", "connect: connection refused"},
		{"http://nosuch.invalid/secret", "lookup: "},
		{"http://localhost:" + port + "/secret", ":" + port + ": connect: connection refused"}, // at which of its addresses
		{"ftp://127.0.0.1/secret", "unsupported protocol scheme"},
	} {
		_, err := http.Get(tt.url)
		reason := httpconn.Reason(err)
		if text := reason.Error(); !strings.Contains(text, tt.want) || strings.Contains(text, "secret") || strings.Contains(text, "nosuch") {
			t.Errorf("%s: %s", tt.url, text)
		}
		if strings.Contains(tt.want, "refused") && (!errors.Is(reason, syscall.ECONNREFUSED) || !errors.As(reason, new(*net.OpError))) {
			t.Errorf("%s: %#v", tt.url, reason)
		}
	}
	if strings.Contains(httpconn.Reason(getError(gone.URL)).Error(), port) {
		t.Error("the address is repeated")
	}
	if plain := errors.New("x"); httpconn.Reason(plain) != plain {
		t.Error("another error is changed")
	}
}

func getError(url string) error {
	_, err := http.Get(url)
	return err
}
