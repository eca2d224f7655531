package secret_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/testkit/linear"
	"github.com/indusagi/indus/internal/wire"
)

// shapes are units of which a caller may make a text of any length. Each was slow in some version, or looks so.
var shapes = []string{
	"a=", "token=", "token=abcdef ", `token="`, `token=\"a;`, "token:\n  ", "--token ", "Bearer ", "x", " ", "\\", `\"`, "%25",
	"://a:", "://user:secret-of-the-user@h/", "ghp_", "eyJ_______.", "eyJhbGciOi.eyJhbGciOi.", "-----BEGIN PRIVATE KEY----- ",
	"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANB\n", "<secret: 1", "aHVudGVyMWh1bnRlcg==", "{", "[", `{"token":`, `{"properties":{"token":`, `["--token",`,
	`{"name":"token","value":"abcdefgh"},`, "token=$(", "token:://", "key=x<secret: 1 character>", "<token>", "-u a:b ", "name=\"token\"\n\n", `\<token>ab-`, `{"value":"a","name":"token"},`, "-----BEGIN PRIVATE KEY-----\na: b\n", "cookie: a=b; ", "password: a b\n", "ключ=", "the token is wrong. ",
	"68:", "104, ", `\u{68}`, "&amp;", "=68", "YUhW",
}

// TestMaskingIsLinear checks that the time grows as the text does, which is at most 20 ms for 1 MiB.
func TestMaskingIsLinear(t *testing.T) {
	known := secret.New(append(values, "Bearer abcdefgh-0123456789", `pass\word"%25`)...)
	for name, mask := range map[string]func(string){
		"string":   func(s string) { secret.MaskLikely(wire.Quote(s)) },
		"document": func(s string) { secret.MaskLikely(json.RawMessage(s)) },
		"known":    func(s string) { known.Mask(s) },
	} {
		for _, shape := range shapes {
			if name == "document" && !strings.ContainsAny(shape[:1], "[{\"") {
				continue
			}
			linear.Check(t, fmt.Sprintf("%s %q", name, shape), 20*time.Millisecond, func(size int) func() {
				s := strings.Repeat(shape, size/len(shape))
				return func() { mask(s) }
			})
		}
	}
}
