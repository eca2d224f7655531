// Package readable shows the arguments of a call to the person who decides it: a text as lines, a change as a
// difference, a command as a command. Start with [Arguments].
package readable

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
)

// Kind is the way in which an argument is shown.
type Kind int

const (
	Short   Kind = iota // a value on one line
	Long                // a text of several lines
	Command             // a command or a query that runs
	Diff                // lines that begin with "-", "+" or a space
)

// Argument is an argument of a call, for the person who decides. Its text is escaped.
type Argument struct {
	Kind       Kind
	Name, Text string
}

const (
	maxShort     = 120 // characters on one line
	maxArguments = 40
)

// Names of arguments, by the practice of the servers that have them.
var (
	commandNames = []string{"command", "cmd", "script", "code", "sql", "query", "statement"}
	diffNames    = []string{"diff", "patch"}
	oldNames     = []string{"oldText", "old_text", "old_string", "old_str", "oldString", "search"}
	newNames     = []string{"newText", "new_text", "new_string", "new_str", "newString", "replace"}
)

// Arguments returns the arguments of a call for a person, in their order, or nil if they are only JSON. Texts that
// replace each other are a difference.
func Arguments(raw json.RawMessage) (all []Argument) {
	members, err := wire.Members(raw)
	if err != nil || len(members) > maxArguments {
		return nil
	}
	edit, isEdit := editOf(members)
	for _, m := range members {
		switch {
		case isEdit && slices.Contains(newNames, m.Key):
			all = append(all, Argument{Diff, "Change", edit})
		case isEdit && slices.Contains(oldNames, m.Key):
		default:
			all = append(all, argumentsOf(m)...)
		}
	}
	return all
}

// argumentsOf returns one argument, or a difference for each element of a list of edits.
func argumentsOf(m wire.Member) (all []Argument) {
	name := show.Escaped(m.Key)
	if text, isText := wire.Unquote(m.Value); isText {
		return []Argument{{kindOf(m.Key, text), name, escapedLines(text)}}
	}
	elements, err := wire.Elements(m.Value)
	for i := 0; err == nil && i < len(elements) && i < maxArguments; i++ {
		members, _ := wire.Members(elements[i])
		edit, isEdit := editOf(members)
		if !isEdit || len(members) != 2 {
			all = nil
			break
		}
		all = append(all, Argument{Diff, name, edit})
	}
	if len(all) == len(elements) && len(all) > 0 {
		return all
	}
	text := escapedLines(show.CompactJSON(m.Value))
	if len([]rune(text)) <= maxShort {
		return []Argument{{Short, name, text}}
	}
	return []Argument{{Long, name, escapedLines(show.IndentJSON(m.Value))}}
}

func kindOf(name, text string) Kind {
	name = strings.ToLower(name)
	switch {
	case slices.Contains(diffNames, name):
		return Diff
	case slices.Contains(commandNames, name):
		return Command
	case strings.Contains(text, "\n") || len([]rune(text)) > maxShort:
		return Long
	}
	return Short
}

// editOf returns the difference between the old and the new text among the members of an object.
func editOf(members []wire.Member) (edit string, isEdit bool) {
	find := func(names []string) (string, bool) {
		i := slices.IndexFunc(members, func(m wire.Member) bool { return slices.Contains(names, m.Key) })
		if i < 0 {
			return "", false
		}
		return wire.Unquote(members[i].Value)
	}
	before, hasBefore := find(oldNames)
	after, hasAfter := find(newNames)
	if !hasBefore || !hasAfter {
		return "", false
	}
	return escapedLines(lineDiff(before, after)), true
}

// lineDiff returns two texts as a difference: equal lines at their ends are there once.
func lineDiff(before, after string) string {
	olds, news := strings.Split(before, "\n"), strings.Split(after, "\n")
	begin, end := 0, 0
	for begin < min(len(olds), len(news)) && olds[begin] == news[begin] {
		begin++
	}
	for end < min(len(olds), len(news))-begin && olds[len(olds)-1-end] == news[len(news)-1-end] {
		end++
	}
	var out []string
	add := func(mark string, texts []string) {
		for _, line := range texts {
			out = append(out, mark+line)
		}
	}
	add("  ", olds[:begin])
	add("- ", olds[begin:len(olds)-end])
	add("+ ", news[begin:len(news)-end])
	add("  ", olds[len(olds)-end:])
	return strings.Join(out, "\n")
}

// First returns the first line of the arguments of a call, for a list of calls: the command, if there is one,
// else the first values.
func First(raw json.RawMessage) string {
	all := Arguments(raw)
	if i := slices.IndexFunc(all, func(a Argument) bool { return a.Kind == Command }); i >= 0 {
		return firstLine(all[i].Text)
	}
	var words []string
	for _, a := range all {
		words = append(words, a.Name+": "+firstLine(a.Text))
	}
	return firstLine(strings.Join(words, ", "))
}

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if line = show.Cut(line, maxShort); more {
		line += " …"
	}
	return line
}

// escapedLines returns a text of several lines, with all invisible and control characters as escapes.
func escapedLines(text string) string { return show.EscapedExcept(text, "\n") }
