package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

func TestQuoteAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range append(corpus(), "<a>&</a>", "\u2027\u2028\u2029\u202a", "\x00\x01\b\f\n\r\t\x1f \x7f",
		"\xff\xc3é\xed\xa0\x80\U0001f600\ufffd") {
		checkQuote(t, s)
	}
}

func TestUnquoteAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range append(corpus(), deep()...) {
		checkUnquote(t, []byte(s))
	}
	for _, s := range []string{`"é\u00e9"`, "\"\xc3\\n\"", "\"\xe2\x82\\u20ac\"", "\"\xe2\\ud800\xff\\udc00\"",
		`"\ud800\ud83d\ude00"`} {
		checkUnquote(t, []byte(s))
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range corpus() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkQuote(t, s)
		checkUnquote(t, []byte(s))
		checkUnquote(t, []byte(`"`+s+`"`))
	})
}

func checkQuote(t *testing.T, s string) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	if got := wire.Quote(s); string(got) != string(bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
		t.Fatalf("Quote(%q) = %s, encoding/json has %s", s, got, want.Bytes())
	}
}

func checkUnquote(t *testing.T, raw []byte) {
	var want string
	ok := len(raw) > 0 && raw[0] == '"' && raw[len(raw)-1] == '"' && json.Unmarshal(raw, &want) == nil
	if got, gotOK := wire.Unquote(raw); got != want || gotOK != ok {
		t.Fatalf("Unquote(%q) = %q, %v, encoding/json has %q, %v", raw, got, gotOK, want, ok)
	}
}
