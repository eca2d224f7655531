package arguments

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/wire"
)

// Help explains the forms of arguments.
const Help = `Arguments:
  key=value    typed by the schema: 5 is a number where one is asked for, and text
               where text is allowed
  key:=json    JSON, sent as it is
  {…}          a whole JSON object
  @file        a whole JSON object from a file
  -            a whole JSON object from stdin
  Keys given one by one replace the same keys of a whole object.`

// Input holds the typed arguments of a call, before the schema of the tool is known.
type Input struct {
	base  json.RawMessage // a whole object, or nil
	pairs []pair
}

type pair struct {
	key   string
	value string
	raw   bool // key:=json
}

// Parse parses words in the forms key=value, key:=json, an object, @file and -. whole is the value of --args, or "".
// read returns the content of a file, and of stdin for "-".
func Parse(words []string, whole string, read func(name string) ([]byte, error)) (*Input, error) {
	a := &Input{}
	if whole != "" {
		if err := a.SetJSON([]byte(whole), "--args"); err != nil {
			return nil, err
		}
	}
	for _, w := range words {
		key, value, isPair := strings.Cut(w, "=")
		name, isFile := strings.CutPrefix(w, "@")
		switch {
		case w == "-" || isFile && !isPair:
			b, err := read(name)
			if err != nil {
				return nil, err
			}
			if name == "-" {
				name = "stdin"
			}
			if err := a.SetJSON(b, name); err != nil {
				return nil, err
			}
		case strings.HasPrefix(w, "{") && (!isPair || wire.Valid([]byte(w))):
			if err := a.SetJSON([]byte(w), "an argument that begins with {"); err != nil {
				return nil, err
			}
		case !isPair || strings.TrimSuffix(key, ":") == "":
			return nil, command.Usagef("%q is no argument: write key=value, key:=json, {…}, @file or -", w)
		default:
			if err := a.pair(key, value); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// SetJSON sets all arguments at once. from is their source, for errors.
func (a *Input) SetJSON(b []byte, from string) error {
	if a.base != nil {
		return command.Usagef("the arguments are given twice as a whole: use one of --args, {…}, @file and -")
	}
	b = []byte(strings.TrimSpace(strings.TrimPrefix(string(b), "\ufeff")))
	if !wire.Valid(b) {
		return command.Usagef("%s is not JSON: %w", from, json.Unmarshal(b, new(any)))
	}
	if b[0] != '{' {
		return command.Usagef("%s is not a JSON object", from)
	}
	a.base = b
	return nil
}

func (a *Input) pair(key, value string) error {
	p := pair{key: key, value: value}
	p.key, p.raw = strings.CutSuffix(key, ":")
	if p.raw {
		if !wire.Valid([]byte(value)) {
			return command.Usagef("the value of %q is not JSON: %w; for text write %s=…", p.key,
				json.Unmarshal([]byte(value), new(any)), p.key)
		}
	}
	if slices.ContainsFunc(a.pairs, func(q pair) bool { return q.key == p.key }) {
		return command.Usagef("the argument %q is given twice", p.key)
	}
	a.pairs = append(a.pairs, p)
	return nil
}

// Object returns the arguments as a JSON object. The schema determines the type of each key=value.
func (a *Input) Object(schema json.RawMessage) (json.RawMessage, error) {
	base := a.base
	if base == nil {
		base = json.RawMessage(`{}`)
	}
	s := signature.Parse(schema).Resolved()
	params := s.Parameters()
	edits := make([]wire.Edit, len(a.pairs))
	for i, p := range a.pairs {
		value := json.RawMessage(p.value)
		if !p.raw {
			paramSchema, known := findParameter(params, p.key)
			if !known && takesParameter(s) == "nothing" {
				return nil, command.Usagef("the tool takes no argument %q%s", p.key,
					command.DidYouMean(p.key, parameterNames(params)))
			}
			if !known {
				paramSchema = s.Sub("additionalProperties")
			}
			var err error
			if value, err = parseValue(p.value, paramSchema); err != nil {
				return nil, command.Usagef("%s: %w", p.key, err)
			}
		}
		edits[i] = wire.Edit{Key: p.key, Value: value}
	}
	out, err := wire.Rewrite(base, edits...)
	if err != nil {
		return nil, command.Usagef("the arguments: %w", err)
	}
	return out, nil
}

// findParameter returns the schema of a declared parameter.
func findParameter(params []signature.Parameter, name string) (signature.Schema, bool) {
	i := slices.IndexFunc(params, func(p signature.Parameter) bool { return p.Name == name })
	if i < 0 {
		return signature.Schema{}, false
	}
	return params[i].Schema, true
}

func parameterNames(params []signature.Parameter) []string {
	return show.Names(params, func(p signature.Parameter) string { return p.Name })
}

// takesParameter returns "more" if a schema explicitly allows undeclared parameters, "nothing" if it forbids them, or
// "".
func takesParameter(s signature.Schema) string {
	more := s.Get("additionalProperties")
	switch {
	case s.Get("patternProperties") != nil, more != nil && !more.Is("f"):
		return "more"
	case more != nil:
		return "nothing"
	}
	return ""
}

// Unknown returns notes on keys that the schema neither declares nor explicitly allows.
func (a *Input) Unknown(schema json.RawMessage) []string {
	s := signature.Parse(schema).Resolved()
	params := s.Parameters()
	var out []string
	for _, p := range a.pairs {
		if _, known := findParameter(params, p.key); !known && takesParameter(s) != "more" {
			out = append(out,
				fmt.Sprintf("the tool declares no argument %q%s", p.key, command.DidYouMean(p.key, parameterNames(params))))
		}
	}
	return out
}
