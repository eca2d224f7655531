package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/wire"
)

// maxArguments bounds what is read from a file or stdin.
const maxArguments = 64 << 20

// arguments is what was typed for a call, before the tool's schema is known.
type arguments struct {
	base  json.RawMessage // a whole object; nil: none
	pairs []pair
}

type pair struct {
	key   string
	value string
	raw   bool // key:=json
}

// parseArguments reads key=value, key:=json, an object, @file and -, beside what --args
// gives; "" is nothing. read gives what a file holds, "-" being stdin.
func parseArguments(words []string, whole string, read func(name string) ([]byte, error)) (*arguments, error) {
	a := &arguments{}
	if whole != "" {
		if err := a.whole([]byte(whole), "--args"); err != nil {
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
			if err := a.whole(b, name); err != nil {
				return nil, err
			}
		case strings.HasPrefix(w, "{") && (!isPair || wire.Valid([]byte(w))):
			if err := a.whole([]byte(w), "an argument that begins with {"); err != nil {
				return nil, err
			}
		case !isPair || strings.TrimSuffix(key, ":") == "":
			return nil, usage("%q is no argument: write key=value, key:=json, {…}, @file or -", w)
		default:
			if err := a.pair(key, value); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// whole takes all arguments at once.
func (a *arguments) whole(b []byte, from string) error {
	if a.base != nil {
		return usage("the arguments are given twice as a whole: use one of --args, {…}, @file and -")
	}
	b = []byte(strings.TrimSpace(strings.TrimPrefix(string(b), "\ufeff")))
	if !wire.Valid(b) {
		return usage("%s is not JSON: %w", from, json.Unmarshal(b, new(any)))
	}
	if b[0] != '{' {
		return usage("%s is not a JSON object", from)
	}
	a.base = b
	return nil
}

func (a *arguments) pair(key, value string) error {
	p := pair{key: key, value: value}
	if p.key, p.raw = strings.CutSuffix(key, ":"); p.raw {
		if !wire.Valid([]byte(value)) {
			return usage("the value of %q is not JSON: %w; for text write %s=…", p.key, json.Unmarshal([]byte(value), new(any)), p.key)
		}
	}
	if slices.ContainsFunc(a.pairs, func(q pair) bool { return q.key == p.key }) {
		return usage("the argument %q is given twice", p.key)
	}
	a.pairs = append(a.pairs, p)
	return nil
}

// object is the arguments as a JSON object, each key=value typed by the schema.
func (a *arguments) object(schema json.RawMessage) (json.RawMessage, error) {
	base := a.base
	if base == nil {
		base = json.RawMessage(`{}`)
	}
	s := shapeOf(schema).resolved()
	params := s.parameters()
	edits := make([]wire.Edit, len(a.pairs))
	for i, p := range a.pairs {
		value := json.RawMessage(p.value)
		if !p.raw {
			of, known := declared(params, p.key)
			if !known && s.closed() {
				return nil, usage("the tool takes no argument %q%s", p.key, didYouMean(p.key, names(params)))
			}
			if !known {
				of = s.others()
			}
			var err error
			if value, err = typed(p.value, of); err != nil {
				return nil, usage("%s: %w", p.key, err)
			}
		}
		edits[i] = wire.Edit{Key: p.key, Value: value}
	}
	out, err := wire.Rewrite(base, edits...)
	if err != nil {
		return nil, usage("the arguments: %w", err)
	}
	return out, nil
}

// declared is the schema of the parameter of that name.
func declared(params []parameter, name string) (shape, bool) {
	i := slices.IndexFunc(params, func(p parameter) bool { return p.name == name })
	if i < 0 {
		return shape{}, false
	}
	return params[i].shape, true
}

// unknown is what a person may want to know of the keys that a schema does not
// name, though it takes them.
func (a *arguments) unknown(schema json.RawMessage) []string {
	s := shapeOf(schema).resolved()
	params := s.parameters()
	var out []string
	for _, p := range a.pairs {
		if _, known := declared(params, p.key); !known && !s.open() {
			out = append(out, fmt.Sprintf("the tool declares no argument %q%s", p.key, didYouMean(p.key, names(params))))
		}
	}
	return out
}

// inlet reads files, and stdin as "-", in at most maxArguments. A read that
// hangs, as on a terminal, is left behind when ctx ends.
func inlet(ctx context.Context, in io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		type answer struct {
			b   []byte
			err error
		}
		got := make(chan answer, 1)
		go func() {
			b, err := readAll(name, in)
			got <- answer{b, err}
		}()
		select {
		case a := <-got:
			return a.b, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func readAll(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("%w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err != nil {
		return nil, usage("%w", err)
	}
	if len(b) > maxArguments {
		return nil, usage("%s holds more than %d MiB", name, maxArguments>>20)
	}
	return b, nil
}
