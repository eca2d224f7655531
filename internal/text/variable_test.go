package text_test

import (
	"testing"

	"github.com/indusagi/indus/internal/text"
)

func TestVariables(t *testing.T) {
	for _, tt := range []struct{ before, one, after string }{
		{"", "", ""}, {"$", "", ""}, {"$${X}", "", ""}, {"a $${ b", "", ""},
		{"a", "${X}", "b"}, {"$$${Y}", "${X}", "${Z}"}, {"", "${X:-${Y:-}}", "}"}, {"", "${X:-$${Y}", "}"},
		{"", "${cmd:echo {}; echo ${X}}", "s}"}, {"", "${X:-${cmd:a {b}}c}", "d"}, {"", "${cmd:{", ""}, {"", "${X", ""},
	} {
		s := tt.before + tt.one + tt.after
		at := text.VariableIndex(s)
		if at != len(tt.before) {
			t.Errorf("%q: the first is at %d, want %d", s, at, len(tt.before))
		} else if got := s[at:][:text.VariableLength(s[at:])]; got != tt.one {
			t.Errorf("%q: it is %q, want %q", s, got, tt.one)
		}
	}
}
