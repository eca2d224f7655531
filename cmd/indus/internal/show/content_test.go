package show_test

import (
	"encoding/base64"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

func TestTheSizeOfBase64(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 bytes", 1: "1 byte", 2: "2 bytes", 3: "3 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 3 << 20: "3.0 MiB",
	} {
		if got := show.DecodedSize(base64.StdEncoding.EncodeToString(make([]byte, n))); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
