package sealed_test

import (
	"testing"

	"github.com/indusagi/indus/internal/sealed"
)

func TestCursorsAreOfOneListAndPrincipal(t *testing.T) {
	keys := sealed.Random()
	own := keys.Cursors("ann", "tools/list")
	cursor := own.Seal([]byte("here"))
	if place, err := own.Open(cursor); string(place) != "here" || err != nil {
		t.Errorf("%q, %v", place, err)
	}
	for name, other := range map[string]sealed.Cursors{
		"principal": keys.Cursors("bob", "tools/list"), "list": keys.Cursors("ann", "prompts/list"), "key": sealed.Random().Cursors("ann", "tools/list"),
	} {
		if place, err := other.Open(cursor); err == nil || place != nil {
			t.Errorf("another %s opens it: %q", name, place)
		}
	}
}
