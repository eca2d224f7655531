package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"
)

const (
	maxFile  = 1 << 20 // bytes of a file
	maxRules = 10_000  // of all files
)

// Set is a set of policies. It does not change, apart from results that it remembers.
type Set struct {
	version  string
	rules    []*rule
	byAction map[Action]*rules
	mentions mentions // of all rules
	files    []string
	hides    []*rule // the forbids of the action list that can differ from the forbids of other actions

	satisfiable memory[bool] // results of canAllow, by the reduced conditions
	decided     memory[Verdict]

	checked  sync.Once
	findings []Finding // set by checked
}

// rules are the rules of one action.
type rules struct {
	all      []*rule // with the forbids first
	mentions mentions
}

// Load reads a file of policies, or all *.cedar files of a directory. The error lists all problems with their places.
func Load(path string) (*Set, error) {
	files, err := policyFiles(path)
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, len(files))
	for i, file := range files {
		if texts[i], err = atomicfile.ReadPlain(file, maxFile); err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
	}
	return parse(files, texts)
}

// policyFiles returns the files of policies at a path, sorted.
func policyFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	var files []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".cedar" && e.Name()[0] != '.' { // a dot: an editor's lock
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("policy: %s has no *.cedar file", path)
	}
	return files, nil
}

// Parse reads one text of policies. name stands for the file in errors and verdicts.
func Parse(name string, text []byte) (*Set, error) { return parse([]string{name}, [][]byte{text}) }

func parse(files []string, texts [][]byte) (*Set, error) {
	s := &Set{files: files, byAction: map[Action]*rules{}, mentions: newMentions()}
	hash := sha256.New()
	check, err := newChecker()
	if err != nil {
		return nil, fmt.Errorf("policy: the schema: %w", err)
	}
	var problems []error
	for i, text := range texts {
		name := filepath.Base(files[i])
		fmt.Fprintf(hash, "%q %d\n%s", name, len(text), text)
		problems = append(problems, s.add(check, name, text)...)
	}
	if len(s.rules) > maxRules {
		problems = append(problems, fmt.Errorf("policy: more than %d rules", maxRules))
	}
	problems = append(problems, s.repeatedIDs()...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	s.version = hex.EncodeToString(hash.Sum(nil)[:8])
	s.index()
	return s, nil
}

// parseError matches the errors of Cedar's parser.
var parseError = text.Pattern(`(?s)^parser error: (?:parse error at )?<input>:(\d+):(\d+):? ?(.*)$`)

// add adds the rules of one text and returns the problems.
func (s *Set) add(check *checker, name string, text []byte) []error {
	policies, err := cedar.NewPolicyListFromBytes(name, text)
	if err != nil {
		if parts := parseError().FindStringSubmatch(err.Error()); parts != nil {
			return []error{syntaxError(name, text, parts)}
		}
		return []error{fmt.Errorf("%s: %w", name, err)}
	}
	var problems []error
	for i, p := range policies {
		end := len(text)
		if i+1 < len(policies) {
			end = policies[i+1].Position().Offset
		}
		where := excerpt{file: name, text: string(text), from: p.Position().Offset, to: end}
		r, err := newRule(len(s.rules), p)
		if bad, ok := errors.AsType[*annotationError](err); ok {
			problems = append(problems, where.problem("@", bad.name, bad.problem))
			continue
		}
		r.original = where.rule()
		s.rules = append(s.rules, r)
		problems = append(problems, check.rule(r, where)...)
	}
	return problems
}

// expectedToken matches the parser's complaint about a token.
var expectedToken = text.Pattern(`(?s)^".*": exact got (.*) want (.+)$`)

// syntaxError returns an error of Cedar's parser, with its place. The parser has the place after an unexpected token.
func syntaxError(name string, text []byte, parts []string) error {
	line, _ := strconv.Atoi(parts[1])
	column, _ := strconv.Atoi(parts[2])
	problem := parts[3]
	if tokens := expectedToken().FindStringSubmatch(problem); tokens != nil && tokens[1] == "" {
		problem = fmt.Sprintf("the file ends where %q is expected", tokens[2])
	} else if tokens != nil {
		problem = fmt.Sprintf("%q is expected before %q", tokens[2], tokens[1])
		e := excerpt{text: string(text)}
		if at := strings.LastIndex(e.text[:e.offset(line, column)], tokens[1]); at >= 0 {
			line, column = e.place(at)
		}
	}
	return fmt.Errorf("%s:%d:%d: %s", name, line, column, problem)
}

func (s *Set) repeatedIDs() (problems []error) {
	first := map[string]*rule{}
	for _, r := range s.rules {
		other := first[r.ID]
		if other == nil {
			first[r.ID] = r
			continue
		}
		if r.ID == fmt.Sprintf("%s:%d", r.File, r.Line) {
			r.ID += ":" + strconv.Itoa(r.column) // two rules on one line
			continue
		}
		problems = append(problems, fmt.Errorf("%s:%d:%d: @id(%q) is also the id of the rule at %s:%d: choose another",
			r.File, r.Line, r.column, r.ID, other.File, other.Line))
	}
	return problems
}

// index sorts the rules by their actions.
func (s *Set) index() {
	for _, r := range s.rules {
		if r.rate != nil {
			r.rate.Policy = r.ID
		}
		s.mentions.merge(r.mentions)
		_, anyAction := r.ast.Action.(ast.ScopeTypeAll)
		if !r.permit && r.covers(List) && (!anyAction || r.mentions.action) {
			s.hides = append(s.hides, r)
		}
	}
	for _, action := range allActions {
		of := &rules{mentions: newMentions()}
		for _, r := range s.rules {
			if r.covers(action) {
				of.all = append(of.all, r)
				of.mentions.merge(r.mentions)
			}
		}
		slices.SortStableFunc(of.all, func(a, b *rule) int { return cmp.Compare(a.Effect, b.Effect) })
		s.byAction[action] = of
	}
}

var allActions = []Action{List, Call, Read, Get, Complete, Subscribe, Ask, Approve, Administer}

// Version identifies the content of the policies.
func (s *Set) Version() string { return s.version }

// Len returns the number of rules.
func (s *Set) Len() int { return len(s.rules) }

// Text is a rule with its text, without the comments around it.
type Text struct {
	Rule
	Text string `json:"text"`
}

// Rules returns the rules in the order of the files.
func (s *Set) Rules() []Text {
	texts := make([]Text, len(s.rules))
	for i, r := range s.rules {
		texts[i] = Text{r.Rule, r.original}
	}
	return texts
}

// Files returns the files of the policies.
func (s *Set) Files() []string { return slices.Clone(s.files) }

// excerpt is the text of one rule.
type excerpt struct {
	file, text string
	from, to   int
}

// rule returns the text up to the end of the rule.
func (e excerpt) rule() string {
	text := e.text[e.from:e.to]
	for _, at := range token().FindAllStringIndex(text, -1) {
		if text[at[0]:at[1]] == ";" {
			return text[:at[1]]
		}
	}
	return text
}

// problem returns an error at the first token with the name in the rule, or at the rule. If before is not "", it is the
// token before.
func (e excerpt) problem(before, name, problem string) error {
	at := e.from
	if offset, ok := findToken(e.text[e.from:e.to], before, name); ok && name != "" {
		at += offset
	}
	line, column := e.place(at)
	return fmt.Errorf("%s:%d:%d: %s", e.file, line, column, problem)
}

// place returns the line and column of an offset.
func (e excerpt) place(at int) (line, column int) {
	begin := strings.LastIndex(e.text[:at], "\n") + 1
	return 1 + strings.Count(e.text[:at], "\n"), 1 + utf8.RuneCountInString(e.text[begin:at])
}

// offset returns the offset of a line and column, or the length of the text.
func (e excerpt) offset(line, column int) int {
	for at := range e.text {
		if line == 1 && column == 1 {
			return at
		}
		if e.text[at] == '\n' {
			line--
		} else if line == 1 {
			column--
		}
	}
	return len(e.text)
}

// token matches a comment, a string, an identifier or another character of Cedar.
var token = text.Pattern(`//[^\n]*|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|\S`)

// findToken returns the offset of an identifier, or of a string with the same content.
func findToken(text, before, name string) (offset int, ok bool) {
	previous := ""
	for _, at := range token().FindAllStringIndex(text, -1) {
		t := text[at[0]:at[1]]
		if strings.HasPrefix(t, "//") {
			continue
		}
		if (t == name || t == strconv.Quote(name)) && (before == "" || previous == before) {
			return at[0], true
		}
		previous = t
	}
	return 0, false
}
