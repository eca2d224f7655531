package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/secret"
)

// encodings lists the forms in which servers repeat a value.
var encodings = map[string]func(string) string{
	"verbatim": func(s string) string { return s },
	"query":    url.QueryEscape,
	"path":     url.PathEscape,
	"percent": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			b.WriteString("%" + hex.EncodeToString([]byte{s[i]}))
		}
		return b.String()
	},
	"query twice": func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"json":        quoted,
	"json twice":  func(s string) string { return quoted(quoted(s)) },
	"go":          func(s string) string { q := strconv.QuoteToASCII(s); return q[1 : len(q)-1] },
	"go in json":  func(s string) string { q := strconv.QuoteToASCII(s); return quoted(q[1 : len(q)-1]) },
	"html":        html.EscapeString,
	"hex":         func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":         func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 in a URL": func(s string) string {
		return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s)))
	},
	"base64, one before": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(":" + s + "\n")) },
	"base64, two before": func(s string) string { return base64.URLEncoding.EncodeToString([]byte("u:" + s + "?")) },
	"base64, wrapped":    func(s string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte(s))) },
	"base64, indented": func(s string) string {
		return strings.ReplaceAll(wrapped(base64.StdEncoding.EncodeToString([]byte(s))), "\n", "\n\t")
	},
	"base64 twice":        func(s string) string { return b64(b64(s)) },
	"hex, colons":         func(s string) string { return bytesOf(s, "%02X", ":") },
	"hex, dump":           func(s string) string { return bytesOf(s, "%02x", " ") },
	"hex, as a list":      func(s string) string { return bytesOf(s, "0x%02x", ", ")[2:] },
	"bytes of Go":         func(s string) string { return bytesOf(s, "%d", " ") },
	"bytes of JSON":       func(s string) string { return bytesOf(s, "%d", ",") },
	"bytes, on lines":     func(s string) string { return bytesOf(s, "%d", ",\n  ") },
	"octal":               func(s string) string { return bytesOf(s, "\\%03o", "") },
	"code points":         func(s string) string { return runesOf(s, `\u{%x}`) },
	"html twice":          func(s string) string { return html.EscapeString(html.EscapeString(s)) },
	"html in json":        func(s string) string { return quoted(html.EscapeString(s)) },
	"json in html":        func(s string) string { return html.EscapeString(quoted(s)) },
	"mail":                func(s string) string { return bytesOf(s, "=%02X", "") },
	"base64, and escaped": func(s string) string { return quoted(wrapped(base64.StdEncoding.EncodeToString([]byte(s)))) },
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// bytesOf returns the bytes of a text in a format, with a separator between them.
func bytesOf(s, format, separator string) string {
	var all []string
	for i := range len(s) {
		all = append(all, fmt.Sprintf(format, s[i]))
	}
	return strings.Join(all, separator)
}

func runesOf(s, format string) (all string) {
	for _, r := range s {
		all += fmt.Sprintf(format, r)
	}
	return all
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

// uncounted returns a text without the numbers of characters that are hidden.
func uncounted(s string) string { return counts.ReplaceAllString(s, secret.Mask) }

var counts = regexp.MustCompile(`<secret: [1-9]\d* characters?>`)

func wrapped(s string) string { return s[:5] + "\r\n" + s[5:] }

var values = []string{
	"hunter2hunter2", "sesame", "p@ss w0rd/+%25&<'\">", `C:\new\"x"\\`, "ключ-пароль", "𝔘𝔫𝔦-\u2028-", "a%41b%zz&amp;", `trailing\\`, ">]+?0&😀=$#>+=a", "//_9-b)$😀", "a\\\tb\\\nc",
}

func TestMaskFindsEveryEncoding(t *testing.T) {
	set := secret.New(values...)
	for name, encode := range encodings {
		for _, v := range values {
			for _, around := range [][2]string{{"", ""}, {"the key (", ") is wrong"}, {`{"a":"`, `"}`}} {
				if name == "verbatim" && strings.HasPrefix(around[0], "{") {
					continue
				}
				got, want := uncounted(set.Mask(around[0]+encode(v)+around[1])), around[0]+secret.Mask+around[1]
				if strings.HasPrefix(name, "base64") || strings.HasPrefix(name, "html ") {
					// padding and the surrounding text may stay, and the end of an escape
					if !strings.Contains(got, secret.Mask) || strings.Contains(got, encode(v)) || len(got) > len(want)+8 {
						t.Errorf("%s of %q: %q", name, v, got)
					}
				} else if got != want {
					t.Errorf("%s of %q: %q, want %q", name, v, got, want)
				}
			}
		}
	}
}

// TestMaskFindsWhatWasWrapped checks a secret with a line break within it, or with a backslash as a number. A line break
// after the beginning of a secret is none.
func TestMaskFindsWhatWasWrapped(t *testing.T) {
	set := secret.New("hunter2-hunter2", `C:\pass\name`)
	for text, want := range map[string]string{
		"a hunter2-\nhunter2.":       "a <secret>.",
		"a hunt\r\n    er2-hunter2.": "a <secret>.",
		"a hunter2-=\r\nhunter2=2E":  "a <secret>=2E",
		`"a hunter2-\r\nhunter2"`:    `"a <secret>"`,
		"hunter2-\nother":            "hunter2-\nother",
		`C:\u005cpass\\name`:         `<secret>`,
		`C:\pass\name`:               `<secret>`,
	} {
		if got := uncounted(set.Mask(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMaskFindsWhatWasCut(t *testing.T) {
	set := secret.New("hunter2-hunter2-hunter2")
	for text, want := range map[string]string{
		"wrong: hunter2-hunt":           "wrong: <secret>",
		"wrong: hunter2-hunt… (300)":    "wrong: <secret>… (300)",
		"wrong: hunter2-hunt... and so": "wrong: <secret>... and so",
		`{"e":"hunter2-hu"}`:            `{"e":"<secret>"}`,
		"wrong: aHVudGVyMi1odW5":        "wrong: <secret>",
		"wrong: hunte":                  "wrong: hunte", // shorter than any secret
		"hunter2-hunting":               "hunter2-hunting",
	} {
		if got := uncounted(set.Mask(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := uncounted(set.Tail("r2-hunter2 is wrong")); got != "<secret> is wrong" {
		t.Errorf("the end of a text: %q", got)
	}
}

func TestSetKnowsWhatStandsInAValue(t *testing.T) {
	for value, also := range map[string][]string{
		"Bearer abcdef-123":                            {"abcdef-123"},
		"Basic dXNlcjpzM2NyM3Q=":                       {"user:s3cr3t", "s3cr3t"},
		"postgres://joe:s3cr3t@db/x?key=qwerty":        {"s3cr3t", "qwerty", "am9lOnMzY3IzdA"},
		"https://a-token-of-mine@host/":                {"a-token-of-mine"},
		"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANB\n": {"MIIEvQIBADANB"},
		`{"private_key":"MIIEvQIBADANBgkq\nhkiG9w0B"}`: {"hkiG9w0B", "MIIEvQIBADANBgkq"},
		"--flag --api-key=abcdef":                      {"abcdef"},
	} {
		set := secret.New(value)
		for _, v := range append(also, value) {
			if got := set.Mask("> " + v + " <"); strings.Contains(got, v) {
				t.Errorf("%q shows %q: %q", value, v, got)
			}
		}
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	set := secret.New("1", "true", "/usr/lib/x", "https://api.example.com", "", "false",
		"postgres://joe:s3cr3t@db/x?sslmode=require", "12345678")
	for _, text := range []string{"", "1", "it is true", "/usr/lib/x is missing",
		"https://api.example.com does not answer", "a key is required, joe", `{"a":[1,2,"%zz\\"]}`} {
		if got := set.Mask(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
	for raw, want := range map[string]string{
		`{"a" : "12345678", "b":1.50}`: `{"a" : "<secret: 8 characters>", "b":1.50}`,
		`{"a":12345678}`:               `{"a":"<secret: 8 characters>"}`,
		` {"a": 1234567890123 }`:       ` {"a": "<secret: 8 characters>90123" }`,
		` {"a":"\u00e9",  "b":1e400 }`: ` {"a":"\u00e9",  "b":1e400 }`,
	} {
		if got := string(set.JSON(json.RawMessage(raw))); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	var none *secret.Set
	if none.Mask("12345678") != "12345678" || secret.New().Mask("12345678") != "12345678" {
		t.Error("an empty set masks")
	}
}

func TestLearnedValues(t *testing.T) {
	set := secret.New("configured-value")
	raw := json.RawMessage(`{"a":"a-sign-in-token-00 a-sign-in-token-01", "b":"configured-value"}`)
	if got := set.Result(raw); &got[0] != &raw[0] {
		t.Errorf("a copy: %s", got)
	}
	with := set.With("another-value")
	set.Learn("Bearer a-sign-in-token-00")
	set.Learn("Bearer a-sign-in-token-00")
	set.Learn("configured-value") // is configured already
	if got := uncounted(string(set.Result(raw))); got != `{"a":"<secret> a-sign-in-token-01", "b":"configured-value"}` {
		t.Error(got)
	}
	if got := uncounted(set.Mask("Bearer a-sign-in-token-00, configured-value")); got != "<secret>, <secret>" {
		t.Error(got)
	}
	if set.With("Bearer a-sign-in-token-00") != set || with.Mask("a-sign-in-token-00") != "a-sign-in-token-00" {
		t.Error("a set is not what it is made of")
	}
	for i := range 16 {
		set.Learn(fmt.Sprintf("Bearer a-sign-in-token-%02d", i+1))
	}
	if got := uncounted(set.Mask("a-sign-in-token-00 a-sign-in-token-01 a-sign-in-token-16 configured-value")); got != "a-sign-in-token-00 <secret> <secret> <secret>" {
		t.Errorf("the last 16: %q", got)
	}
	// A token outside of a string becomes a string.
	number := secret.New()
	number.Learn("1234567890123456")
	if got := string(number.Result(json.RawMessage(`{"n":1234567890123456}`))); got != `{"n":"<secret: 16 characters>"}` {
		t.Error(got)
	}
	// Results may contain a word that is easy to guess.
	words := secret.New()
	words.Learn("Bearer description")
	if got := `{"description":"description"}`; string(words.Result(json.RawMessage(got))) != got ||
		words.Mask("description") != "<secret: 11 characters>" {
		t.Error(string(words.Result(json.RawMessage(got))))
	}
	var none *secret.Set
	if got := string(none.Result(raw)); got != string(raw) {
		t.Error(got)
	}
}

func BenchmarkResult(b *testing.B) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("eyJhbGciOiJSUzI1NiJ9 ", 50) + `"}]}`)
	for _, tokens := range []int{0, 1, 16} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			set := secret.New("configured-value")
			for i := range tokens {
				set.Learn(fmt.Sprintf("Bearer eyJhbGciOiJSUzI1NiJ9.%s.%032d", strings.Repeat("x", 700), i))
			}
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				set.Result(raw)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	args := []string{"-y", "server", "--token", "abcdef", "--api-key=abcdefg", "-e", "DB_PASSWORD=abcdefgh", "-H",
		"Authorization: Bearer abcdefghi", "Bearer abcdefghij", "postgres://u:s3cr3t@h/", "--max-tokens", "100000", "--token", "${TOKEN}", "--token-file", "/a/b/c/d"}
	want := []string{"-y", "server", "--token", "<secret>", "--api-key=<secret>", "-e", "DB_PASSWORD=<secret>", "-H",
		"Authorization: Bearer <secret>", "Bearer <secret>", "postgres://u:<secret>@h/", "--max-tokens", "100000", "--token", "${TOKEN}", "--token-file", "/a/b/c/d"}
	if got := secret.Args(args); !slices.Equal(got, want) {
		t.Errorf("shown: %q", got)
	}
	if got, want := secret.FindInArgs(args), []string{"abcdef", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghij",
		"s3cr3t"}; !slices.Equal(got, want) {
		t.Errorf("found: %q", got)
	}
}

// TestABearerIsFoundUnderAnyKey checks that the text after the word is masked, unless it is a word of a
// sentence.
func TestABearerIsFoundUnderAnyKey(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"Bearer opaque","b":"basic dXNlcjpw"}`:         `{"a":"Bearer <secret>","b":"basic <secret>"}`,
		`{"a":"send Bearer abcdefgh-1234, please"}`:          `{"a":"send Bearer <secret>, please"}`,
		`{"a":"{\"x\":\"Bearer opaque\"}"}`:                  `{"a":"{\"x\":\"Bearer <secret>\"}"}`,
		`{"a":"it takes Bearer AbcDefGhi"}`:                  `{"a":"it takes Bearer <secret>"}`,
		`{"a":"curl -H 'X: Bearer abcdefghijklmnopqrst' u"}`: `{"a":"curl -H 'X: Bearer <secret>' u"}`,
		`{"a":"bearer authentication and basic knowledge"}`:  `{"a":"bearer authentication and basic knowledge"}`,
		`{"a":"Bearer ${TOKEN}","b":"forbearer abcdefgh-1"}`: `{"a":"Bearer ${TOKEN}","b":"forbearer abcdefgh-1"}`,
	} {
		if got := uncounted(string(secret.MaskLikely(json.RawMessage(text)))); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("hunter2hunter2", `\u0068unter2hunter2 %68 &#104; \\\\`, uint8(0))
	f.Fuzz(func(t *testing.T, value, text string, way uint8) {
		set := secret.New(value)
		set.Tail(text)
		if raw := set.JSON(json.RawMessage(text)); json.Valid([]byte(text)) && !json.Valid(raw) {
			t.Errorf("%q became %q", text, raw)
		}
		if v := strings.TrimSpace(value); len(v) >= secret.Least && !strings.ContainsAny(v, "/<") &&
			!hostAndPort.MatchString(v) && strings.Contains(set.Mask("> "+v+" <"), v) {
			t.Errorf("%q is shown", v)
		}
	})
}

// hostAndPort matches an address, which is not a secret.
var hostAndPort = regexp.MustCompile(`^(localhost|[\w.:-]*[.:][\w.:-]*|\[[\w.:-]*[.:][\w.:-]*\]):\d{1,5}$`)

func BenchmarkMask(b *testing.B) {
	set := secret.New(append(values, strings.Repeat("a long key 0123456789", 100))...)
	for name, text := range map[string]string{
		"prose":       strings.Repeat("the server says that something is wrong with it. ", 5000),
		"backslashes": strings.Repeat(`\`, 250_000),
		"base64":      strings.Repeat(base64.StdEncoding.EncodeToString([]byte("hunter1")), 25_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				set.Mask(text)
			}
		})
	}
}
