package page

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
)

// argumentKind is the way in which an argument is shown.
type argumentKind int

const (
	shortArgument   argumentKind = iota // a value on one line
	longArgument                        // a text of several lines
	commandArgument                     // a command or a query that runs
	diffArgument                        // lines that begin with "-", "+" or a space
)

// shownArgument is an argument of a call, for the person who decides. Its text is escaped.
type shownArgument struct {
	kind       argumentKind
	name, text string
}

const (
	maxShortArgument  = 120 // characters on one line
	maxShownArguments = 40
)

// Names of arguments, by the practice of the servers that have them.
var (
	commandNames = []string{"command", "cmd", "script", "code", "sql", "query", "statement"}
	diffNames    = []string{"diff", "patch"}
	oldNames     = []string{"oldText", "old_text", "old_string", "old_str", "oldString", "search"}
	newNames     = []string{"newText", "new_text", "new_string", "new_str", "newString", "replace"}
)

// shownArguments returns the arguments of a call for a person, in their order, or nil if they are only JSON. Texts that
// replace each other are a difference.
func shownArguments(raw json.RawMessage) (all []shownArgument) {
	members, err := wire.Members(raw)
	if err != nil || len(members) > maxShownArguments {
		return nil
	}
	edit, isEdit := editOf(members)
	for _, m := range members {
		switch {
		case isEdit && slices.Contains(newNames, m.Key):
			all = append(all, shownArgument{diffArgument, "Change", edit})
		case isEdit && slices.Contains(oldNames, m.Key):
		default:
			all = append(all, argumentsOf(m)...)
		}
	}
	return all
}

// argumentsOf returns one argument, or a difference for each element of a list of edits.
func argumentsOf(m wire.Member) (all []shownArgument) {
	name := show.Escaped(m.Key)
	if text, isText := wire.Unquote(m.Value); isText {
		return []shownArgument{{kindOf(m.Key, text), name, escapedLines(text)}}
	}
	elements, err := wire.Elements(m.Value)
	for i := 0; err == nil && i < len(elements) && i < maxShownArguments; i++ {
		members, _ := wire.Members(elements[i])
		edit, isEdit := editOf(members)
		if !isEdit || len(members) != 2 {
			all = nil
			break
		}
		all = append(all, shownArgument{diffArgument, name, edit})
	}
	if len(all) == len(elements) && len(all) > 0 {
		return all
	}
	text := escapedLines(show.CompactJSON(m.Value))
	if len([]rune(text)) <= maxShortArgument {
		return []shownArgument{{shortArgument, name, text}}
	}
	return []shownArgument{{longArgument, name, escapedLines(show.IndentJSON(m.Value))}}
}

func kindOf(name, text string) argumentKind {
	name = strings.ToLower(name)
	switch {
	case slices.Contains(diffNames, name):
		return diffArgument
	case slices.Contains(commandNames, name):
		return commandArgument
	case strings.Contains(text, "\n") || len([]rune(text)) > maxShortArgument:
		return longArgument
	}
	return shortArgument
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
	add := func(mark string, lines []string) {
		for _, line := range lines {
			out = append(out, mark+line)
		}
	}
	add("  ", olds[:begin])
	add("- ", olds[begin:len(olds)-end])
	add("+ ", news[begin:len(news)-end])
	add("  ", olds[len(olds)-end:])
	return strings.Join(out, "\n")
}

// firstArgument returns the first line of the arguments of a call, for a list of calls: the command, if there is one,
// else the first values.
func firstArgument(raw json.RawMessage) string {
	all := shownArguments(raw)
	if i := slices.IndexFunc(all, func(a shownArgument) bool { return a.kind == commandArgument }); i >= 0 {
		return firstLine(all[i].text)
	}
	var words []string
	for _, a := range all {
		words = append(words, a.name+": "+firstLine(a.text))
	}
	return firstLine(strings.Join(words, ", "))
}

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if line = show.Cut(line, maxShortArgument); more {
		line += " …"
	}
	return line
}
