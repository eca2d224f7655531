package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/rogpeppe/go-internal/diff"
)

// wordPattern matches a word with the space before it.
var wordPattern = text.Pattern(`[\s\p{Z}]*[^\s\p{Z}]+|[\s\p{Z}]+`)

// diffWords returns the change from one text to another. The kept and removed words form the first text, and the kept
// and added words form the second. Each word is a line of a unified diff, which leaves out most of the kept words.
func diffWords(before, after string) []Word {
	words := wordPattern().FindAllString(before, -1)
	changes := diff.Diff("", quotedLines(words), "", quotedLines(wordPattern().FindAllString(after, -1)))
	var out wordList
	for line := range strings.Lines(string(changes)) {
		var from int
		if word, err := strconv.Unquote(strings.TrimSuffix(line[1:], "\n")); err == nil {
			out.add(line[:1], word)
		} else if _, err := fmt.Sscanf(line, "@@ -%d", &from); err == nil {
			out.add(" ", words[out.taken:max(0, from-1)]...)
		}
	}
	out.add(" ", words[out.taken:]...)
	return out.joined()
}

// quotedLines returns one quoted word per line.
func quotedLines(words []string) []byte {
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString(strconv.Quote(w) + "\n")
	}
	return b.Bytes()
}

// wordList is a list of parts, and the number of words of the first text that it has taken.
type wordList struct {
	parts []wordPart
	taken int
}

// wordPart is a [Word] whose text is not joined yet. Joining it for every word would take quadratic time.
type wordPart struct {
	op    string
	words []string
}

// add appends words to the last part, or begins another.
func (w *wordList) add(op string, words ...string) {
	if op != "+" {
		w.taken += len(words)
	}
	n := len(w.parts)
	switch {
	case len(words) == 0:
	case n > 0 && w.parts[n-1].op == op:
		w.parts[n-1].words = append(w.parts[n-1].words, words...)
	default:
		w.parts = append(w.parts, wordPart{op, slices.Clone(words)})
	}
}

func (w *wordList) joined() []Word {
	var list []Word
	for _, p := range w.parts {
		list = append(list, Word{p.op, strings.Join(p.words, "")})
	}
	return list
}
