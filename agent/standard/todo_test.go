package standard_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTodo(t *testing.T) {
	r := fullRegistry(t, t.TempDir())
	other := fullRegistry(t, t.TempDir())
	steps := []struct{ input, want string }{
		{`{}`, "(the list is empty)"},
		{
			`{"tasks":[{"text":"Read","status":"done"},{"text":"Mend\n[x] all \u001b[2J","status":"in_progress"},{"text":"Test","status":"pending"}]}`,
			"[x] Read\n[>] Mend [x] all [2J\n[ ] Test\n(1 of 3 done)",
		},
		{`{}`, "[x] Read\n[>] Mend [x] all [2J\n[ ] Test\n(1 of 3 done)"},
		{`{"tasks":[{"text":"Test","status":"done"}]}`, "[x] Test\n(1 of 1 done)"},
		{`{"tasks":[]}`, "(the list is empty)"},
		{`{}`, "(the list is empty)"},
	}
	for _, s := range steps {
		if got := call(t, r, "todo", s.input); got != s.want {
			t.Errorf("%s: %q, want %q", s.input, got, s.want)
		}
	}
	if got := call(t, other, "todo", `{}`); got != "(the list is empty)" {
		t.Errorf("two sessions share a list: %s", got)
	}
	for _, bad := range []string{
		`{"tasks":[{"text":"","status":"done"}]}`, `{"tasks":[{"text":"a","status":"half"}]}`, `{"tasks":[{"text":"a"}]}`, `{"tasks":"a"}`,
		`{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{"text":"a","status":"done"},`, 51), ",") + `]}`,
		fmt.Sprintf(`{"tasks":[{"text":%q,"status":"done"}]}`, strings.Repeat("a", 301)),
	} {
		if got := call(t, r, "todo", bad); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%.60s: %s", bad, got)
		}
	}
}
