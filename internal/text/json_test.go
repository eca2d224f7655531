package text_test

import (
	"testing"

	"github.com/indusagi/indus/internal/text"
)

func TestJSONIsNotEscapedForHTML(t *testing.T) {
	got, err := text.JSON(map[string]any{"a<b": "x & y > z"})
	if want := `{"a<b":"x & y > z"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := text.JSON(func() {}); err == nil {
		t.Error("a function has no JSON")
	}
	if got, want := string(text.Quote("a\xff\n<")), `"a\ufffd\n<"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPointerStepsAreEscaped(t *testing.T) {
	if got, want := text.Pointer("a/b", "~1", "", "0"), "/a~1b/~01//0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := text.Pointer(); got != "" {
		t.Errorf("%q for no steps", got)
	}
	for _, name := range []string{"", "~", "/", "~0", "~1", "~01/~~", "plain"} {
		if got := text.FromPointerStep(text.PointerStep(name)); got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
}
