package indus_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Plain sentences name things and are short.
const (
	maxDocsWords = 5 // vague words per 1,000 words of Markdown
	maxTextWords = 2 // vague words per 1,000 words of texts in Go that users read

	maxCommentPersons  = 20 // "nobody", "whose", "tell" per 1,000 lines of comments
	maxCommentPronouns = 25 // "what", "who", "that of" per 1,000 lines of comments

	docsSentence    = 35 // words of the longest sentence in Markdown
	commentSentence = 30 // words of the longest sentence in comments
)

// longSentences lists the sentences of Markdown that may exceed docsSentence: a file, and how the sentence begins.
var longSentences = map[string][]string{}

var (
	persons  = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|anybody|whose|tells?|says?)\b`)
	pronouns = regexp.MustCompile(`(?i)\b(what|who|those|that of|one that)\b`)

	// userTexts matches the files with texts that users read. The texts of agent/standard are for models.
	userTexts = regexp.MustCompile(`^(cmd|interop|host|gateway|ledger|mcpconfig|auth)/|^agent/([a-z_]+\.go|(anthropic|openai|internal)/)`)
)

// prose holds the counts of one file: its vague words and its sentences.
type prose struct {
	file      string
	lines     int
	words     int
	persons   int
	pronouns  int
	sentences []string
}

// newProse counts the words of a text whose sentences are in blocks. A block is a paragraph or an item of a list.
func newProse(file, text string, blocks []string) prose {
	p := prose{
		file: file, lines: strings.Count(text, "\n"), words: len(strings.Fields(text)),
		persons: len(persons.FindAllString(text, -1)), pronouns: len(pronouns.FindAllString(text, -1)),
	}
	for _, block := range blocks {
		p.sentences = append(p.sentences, endOfSentence.Split(block, -1)...)
	}
	return p
}

// vague returns the number of vague words.
func (p prose) vague() int { return p.persons + p.pronouns }

// longer returns the sentences of more than limit words.
func (p prose) longer(limit int) (long []string) {
	for _, sentence := range p.sentences {
		if len(strings.Fields(sentence)) > limit {
			long = append(long, strings.Join(strings.Fields(sentence), " "))
		}
	}
	return long
}

var (
	endOfSentence = regexp.MustCompile(`[.!?:][)"'*_]*(?:\s|$)`)
	fence         = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	htmlComment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	indented      = regexp.MustCompile(`(?m)^    .*$`)
	codeSpan      = regexp.MustCompile("`[^`]*`")
	linkTarget    = regexp.MustCompile(`\]\([^)]*\)`)
	noSentence    = regexp.MustCompile(`(?m)^(?:\||#|!\[).*$`)
	nextBlock     = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*]|[0-9]+\.) `)
)

// TestDocsArePlain checks that the Markdown files use few vague words and no sentence that has to be read twice.
func TestDocsArePlain(t *testing.T) {
	var pages []prose
	vague, words := 0, 0
	for _, file := range tracked(t, "*.md") {
		text := fence.ReplaceAllString(read(t, file), "")
		text = indented.ReplaceAllString(htmlComment.ReplaceAllString(text, ""), "")
		text = linkTarget.ReplaceAllString(codeSpan.ReplaceAllString(text, "code"), "]")
		page := newProse(file, text, nextBlock.Split(noSentence.ReplaceAllString(text, "\n"), -1))
		vague, words = vague+page.vague(), words+page.words
		pages = append(pages, page)
		for _, sentence := range page.longer(docsSentence) {
			begins := func(beginning string) bool { return strings.HasPrefix(sentence, beginning) }
			if !slices.ContainsFunc(longSentences[file], begins) {
				t.Errorf("%s: a sentence of %d words: %s", file, len(strings.Fields(sentence)), sentence)
			}
		}
	}
	if vague*1000 > maxDocsWords*words {
		worst := worstFiles(pages, func(p prose) int { return p.vague() })
		t.Errorf("%.1f vague words per 1,000 in Markdown, over %d: %s", float64(vague*1000)/float64(words), maxDocsWords, worst)
	}
}

// TestCommentsArePlain checks the comments of all Go files in the same way. The expected output of an example does not count.
func TestCommentsArePlain(t *testing.T) {
	var all []prose
	var sum prose
	for _, file := range tracked(t, "*.go") {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, group := range syntax.Comments {
			text, _, _ := strings.Cut(group.Text(), "Output:\n")
			groups = append(groups, text)
		}
		text := strings.Join(groups, "")
		var blocks []string
		for _, group := range groups {
			blocks = append(blocks, nextBlock.Split(strings.ReplaceAll(group, "\n\t", "\n\n"), -1)...)
		}
		comments := newProse(file, text, blocks)
		sum.lines, sum.persons, sum.pronouns = sum.lines+comments.lines, sum.persons+comments.persons, sum.pronouns+comments.pronouns
		for _, sentence := range comments.longer(commentSentence) {
			t.Errorf("%s: a sentence of %d words: %s", file, len(strings.Fields(sentence)), sentence)
		}
		all = append(all, comments)
	}
	if rate := sum.persons * 1000 / sum.lines; rate > maxCommentPersons {
		worst := worstFiles(all, func(p prose) int { return p.persons })
		t.Errorf("%d persons per 1,000 lines of comments, over %d: %s", rate, maxCommentPersons, worst)
	}
	if rate := sum.pronouns * 1000 / sum.lines; rate > maxCommentPronouns {
		worst := worstFiles(all, func(p prose) int { return p.pronouns })
		t.Errorf("%d pronouns per 1,000 lines of comments, over %d: %s", rate, maxCommentPronouns, worst)
	}
}

// TestTextsArePlain checks the texts of the program that users read: help, usage, errors and advice. These are the
// string literals of more than three words, outside tests.
func TestTextsArePlain(t *testing.T) {
	var all []prose
	vague, words := 0, 0
	for _, file := range tracked(t, "*.go") {
		if strings.HasSuffix(file, "_test.go") || !userTexts.MatchString(file) {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		ast.Inspect(syntax, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && len(strings.Fields(literal.Value)) > 3 {
				texts = append(texts, literal.Value)
			}
			return true
		})
		p := newProse(file, strings.Join(texts, "\n"), nil)
		vague, words = vague+p.vague(), words+p.words
		all = append(all, p)
	}
	if vague*1000 > maxTextWords*words {
		worst := worstFiles(all, func(p prose) int { return p.vague() })
		t.Errorf("%.1f vague words per 1,000 in texts, over %d: %s", float64(vague*1000)/float64(words), maxTextWords, worst)
	}
}

// worstFiles returns the five files with the highest counts.
func worstFiles(all []prose, count func(prose) int) string {
	worst := slices.SortedStableFunc(slices.Values(all), func(a, b prose) int { return cmp.Compare(count(b), count(a)) })
	var names []string
	for _, p := range worst[:min(5, len(worst))] {
		names = append(names, fmt.Sprintf("%s (%d)", p.file, count(p)))
	}
	return strings.Join(names, ", ")
}

// tracked returns the files of the repository that match a pattern, new files included.
func tracked(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "--", pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(file string) bool { return lines(t, file) == 0 })
}
