package show_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

func TestTheFirstSentenceIsNoAbbreviation(t *testing.T) {
	for _, c := range [][2]string{
		{"One. Two.", "One."},
		{"Takes one, e.g. a number. More.", "Takes one, e.g. a number."},
		{"Two\n lines.\tThree.", "Two lines."},
		{"v1.2 reads. 3 more", "v1.2 reads."},
		{"\x1b[31mred\x00 ", "[31mred"},
		{"", ""},
		{strings.Repeat("é", 150), strings.Repeat("é", 99) + "…"},
	} {
		if got := show.FirstSentence(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestHarmfulCharactersOfJSONAreEscaped(t *testing.T) {
	for _, c := range [][2]string{
		{`{"a":"é 世"}`, `{"a":"é 世"}`},
		{"{\"a\":\"\u009b\u202e\u2028\xff\"}", "{\"a\":\"" + `\u009b\u202e\u2028` + "\xff\"}"},
	} {
		if got := string(show.EscapeHarmful([]byte(c[0]))); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 entry": show.Count(1, "entry"), "2 entries": show.Count(2, "entry"), "0 keys": show.Count(0, "key"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
