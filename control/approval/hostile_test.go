package approval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/control/approval"
)

// Texts of servers and callers are stored in bounded size, valid, and without likely secrets.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	huge := strings.Repeat("<\x1b[2J\u202e\x00", 40_000)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	many := "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, 50_000), ",") + "}"
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	d := newDesk(t, approval.Options{})
	for n, arguments := range []string{
		"", " ", "null", "7", "{", "\xff\xfe", huge, deep, many, quoted(huge),
		`{"token":"` + secret + `","list":["` + secret + `",{"password":"hunter2hunter2"}]}`,
		`{"text":` + quoted(strings.Repeat("x", 5000)+" "+secret+strings.Repeat("<&>", 90_000)) + `}`,
		`{"a":"` + strings.Repeat("x", 64<<10) + " " + secret + `"`,
		`{"` + secret + `":1,"a":` + quoted("\n\x1b[31m\u202e"+secret) + `}`,
	} {
		call := callOf(arguments)
		call.Client, call.Title, call.Description, call.Changed = huge, huge, huge, huge
		call.Tool, call.Rule = fmt.Sprint(n, huge), huge
		item := d.wants(call, approval.Pending)
		if !json.Valid(item.Shown) || len(item.Shown) > 8<<10 || item.Bytes != len(arguments) {
			t.Errorf("%.40q: %d bytes are shown of %d, valid: %v", arguments, len(item.Shown), item.Bytes,
				json.Valid(item.Shown))
		}
		if len(arguments) > 9<<10 && !item.Partial {
			t.Errorf("%.40q: a part is shown as all", arguments)
		}
		for _, text := range []string{item.Client, item.Title, item.Description, item.Changed, item.Tool, item.Rule} {
			if len(text) > 4<<10 || !utf8.ValidString(text) {
				t.Errorf("%.40q: %d bytes, valid: %v", arguments, len(text), utf8.ValidString(text))
			}
		}
		reason := strings.Repeat(huge, 2)
		d.decide(item.ID, approval.Decision{Allow: n%2 == 0, By: huge, Reason: reason, Channel: approval.ByOperator})
	}
	text, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret[:20]) || strings.Contains(string(text), "hunter2") {
		t.Error("a secret is stored")
	}
	if lines := strings.Count(string(text), "\n"); len(text) > lines*40<<10 {
		t.Errorf("%d items take %d KiB", lines-1, len(text)>>10)
	}
	before, err := d.List(t.Context(), &approval.Filter{All: true})
	if err != nil {
		t.Fatal(err)
	}
	d.reopen(approval.Options{})
	after, err := d.List(t.Context(), &approval.Filter{All: true})
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d items of %d are read again: %v", len(after), len(before), err)
	}
}

// No member of the arguments hides another from the approver.
func TestNoMemberHidesAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	got := d.wants(callOf(`{"token":1234567,"note":"token=command","-----BEGIN PRIVATE KEY-----":1,"command":"rm -rf /"}`),
		approval.Pending)
	const want = `{"token":"<secret: 7 characters>","note":"token=<secret: 7 characters>",` +
		`"-----BEGIN PRIVATE KEY-----":"<secret: 1 character>","command":"rm -rf /"}`
	if string(got.Shown) != want {
		t.Errorf("the approver sees %s, want %s", got.Shown, want)
	}
}
