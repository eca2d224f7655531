package ledger

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"
)

// wordPattern is a word with the space before it.
var wordPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\s\p{Z}]*[^\s\p{Z}]+|[\s\p{Z}]+`) })

// diffWords is the change from one text to another: together the kept and removed words are the first, and the kept and
// added words the second. Each word is a line of a unified diff, which leaves out most of what is kept.
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
	return out.list
}

// quotedLines is a word on each line.
func quotedLines(words []string) []byte {
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString(strconv.Quote(w) + "\n")
	}
	return b.Bytes()
}

// wordList counts the words of the first text that it has taken.
type wordList struct {
	list  []Word
	taken int
}

// add appends words to the last stretch, or begins another.
func (w *wordList) add(op string, words ...string) {
	if op != "+" {
		w.taken += len(words)
	}
	switch n := len(w.list); {
	case len(words) == 0:
	case n > 0 && w.list[n-1].Op == op:
		w.list[n-1].Text += strings.Join(words, "")
	default:
		w.list = append(w.list, Word{op, strings.Join(words, "")})
	}
}
