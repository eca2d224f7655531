package wire_test

import (
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestBegins(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"content":[{"type":"text","text":"a resource, a \\resource and \u0022resource"}]}`: false,
		`{"type":"resource_link"}`:         true,
		`{"type":"resou"}`:                 false,
		`{"type":"r`:                       false,
		`{"type":"r\u0065source"}`:         true,
		`{"type":"\u0072esource"}`:         true,
		`{"uri":"ui\u003a//x"}`:            true,
		`{"uri":"ui://x"}`:                 true,
		`{"uri":"uix"}`:                    false,
		`{"text":"\u00e9t\u00e9"}`:         false,
		`{"text":"one \"resource\" more"}`: true, // by its bytes
		`"`:                                false,
		``:                                 false,
	} {
		if got := wire.Begins([]byte(raw), "resource", "ui:"); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}
