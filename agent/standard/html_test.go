package standard_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/agent/standard"
)

func TestHeadingsKeepWhatStandsBeforeTheirLastSign(t *testing.T) {
	for page, want := range map[string]string{
		"<h1>Learn C#</h1>": "# Learn C#", "<h2>日本語#</h2>": "## 日本語#", "<h3>#</h3>": "### #", "<h1>a<br>b\r</h1>": "# a b", "<h6> </h6>": "",
	} {
		if got, err := standard.Markdown(t.Context(), page); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", page, got, err, want)
		}
	}
}

// FuzzMarkdown checks that the Markdown of any page is text, and not much larger than the page.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"", "<p>a<b>b<i>c</b>d</i>", "<table><tr><td>a<tr><td><table><tr><td>b", "<ul><li>a<ol start=9><li>b", "<pre>a\n```\nb", "<code>``a`</code>",
		"<a href='x' title='\"'>[a]</a>", "<img src=x alt='a\nb'>", "<svg><p>a</svg>", "<main>a</main><p>b", "<p hidden>a", "<select><option>a", "a<!--b-->c",
		"<h1>a<br>b</h1>", "<h1>日本語#", "<h1>#", "<blockquote><p>a<p>b", "<template><p>a", "<math><mi>a", "<frameset><frame>", "<body role=main>a", "<html role=main>" + strings.Repeat("a", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ToValidUTF8(page, "")
		got, err := standard.Markdown(t.Context(), page)
		if err == nil && (!utf8.ValidString(got) || len(got) > 100*len(page)+1000) {
			t.Errorf("%q: %q", page, got)
		}
	})
}
