package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/text"
)

// longestWord is where a word is cut: nobody types more, and slips are looked for in quadratic time.
const longestWord = 40

// words calls each for every word of a text, in lower case and without endings: the parts
// of an identifier, and, where it has several, the whole of it without separators.
// It ends early where each returns false.
func words(text string, each func(word string) bool) {
	for len(text) > 0 {
		start := strings.IndexFunc(text, isWordy)
		if start < 0 {
			return
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !isWordy(r) && r != '_' && r != '-' })
		if end < 0 {
			end = len(text)
		}
		if !identifier(text[:end], each) {
			return
		}
		text = text[end:]
	}
}

func isWordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// identifier gives the parts of one, and then the whole.
func identifier(id string, each func(string) bool) bool {
	parts := 0
	rest := id
	for rest != "" {
		var part string
		part, rest = cutPart(rest)
		if part == "" {
			continue
		}
		parts++
		if !each(stem(lower(part))) {
			return false
		}
	}
	if parts < 2 || len(id) > longestWord {
		return true
	}
	return each(stem(cut(fold(id)))) // some letters grow in lower case
}

// cutPart takes the first part off an identifier: "readFile" is "read" and "File", "HTTPServer"
// is "HTTP" and "Server", "sha256" is "sha" and "256". Separators are a part of nothing, and
// every character of a script without spaces is one of its own.
func cutPart(id string) (part, rest string) {
	var before, last rune
	var lastAt int
	for i, r := range id {
		switch {
		case !isWordy(r):
			return id[:i], id[i+utf8.RuneLen(r):]
		case i == 0:
		case isAlone(r) || isAlone(last):
			return id[:i], id[i:]
		case unicode.IsDigit(r) != unicode.IsDigit(last):
			return id[:i], id[i:]
		case unicode.IsUpper(r) && unicode.IsLower(last):
			return id[:i], id[i:]
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			return id[:lastAt], id[lastAt:]
		}
		before, last, lastAt = last, r, i
	}
	return id, ""
}

func isAlone(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func lower(s string) string { return cut(strings.ToLower(s)) }

// cut is the beginning of a word that is too long.
func cut(s string) string {
	return text.Cut(s, longestWord)
}

// fold is a name without what people spell differently: case, and whatever is no letter or digit.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !isWordy(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
