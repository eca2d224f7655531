package ledger

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/rogpeppe/go-internal/diff"
)

// wordPattern matches a word with the space before it.
var wordPattern = text.Pattern(`[\s\p{Z}]*[^\s\p{Z}]+|[\s\p{Z}]+`)

// diffWords returns the change from one text to another. The kept and removed words form the first text, and the kept
// and added words form the second. Each word is a line of a unified diff, which leaves out most of the kept words.
func diffWords(before, after string) (list []Word) {
	words := wordPattern().FindAllString(before, -1)
	changes := diff.Diff("", quotedLines(words), "", quotedLines(wordPattern().FindAllString(after, -1)))
	taken := 0         // words of the first text
	var texts [][]byte // of the list; joining strings for every word would take quadratic time
	add := func(op string, added ...string) {
		for _, word := range added {
			if n := len(list); n == 0 || list[n-1].Op != op {
				list, texts = append(list, Word{Op: op}), append(texts, nil)
			}
			last := len(texts) - 1
			texts[last] = append(texts[last], word...)
			if op != "+" {
				taken++
			}
		}
	}
	for line := range strings.Lines(string(changes)) {
		var from int
		if word, err := strconv.Unquote(strings.TrimSuffix(line[1:], "\n")); err == nil {
			add(line[:1], word)
		} else if _, err := fmt.Sscanf(line, "@@ -%d", &from); err == nil {
			add(" ", words[taken:max(0, from-1)]...)
		}
	}
	add(" ", words[taken:]...)
	for i, joined := range texts {
		list[i].Text = string(joined)
	}
	return list
}

// quotedLines returns one quoted word per line.
func quotedLines(words []string) []byte {
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString(strconv.Quote(w) + "\n")
	}
	return b.Bytes()
}
