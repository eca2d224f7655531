package protocol_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/protocol"
)

func TestPickHeaders(t *testing.T) {
	from := http.Header{"X-A": {"1", "2"}, "X-B": {"b\r\nAuthorization: Bearer stolen"}, "X-C": {"c\x00"},
		"X-D": {"tab\tand ü"}, "Authorization": {"Bearer t"}}
	want := http.Header{"X-A": {"1", "2"}, "X-D": {"tab\tand ü"}}
	if diff := cmp.Diff(want, protocol.PickHeaders(from, []string{"X-A", "X-B", "X-C", "X-D", "X-E"})); diff != "" {
		t.Error(diff)
	}
	if got := protocol.PickHeaders(http.Header{"X-A": {strings.Repeat("a", 9000)}}, []string{"X-A"}); got != nil {
		t.Errorf("9,000 bytes are passed on")
	}
	if got := protocol.PickHeaders(nil, []string{"X-A"}); got != nil {
		t.Error(got)
	}
}
