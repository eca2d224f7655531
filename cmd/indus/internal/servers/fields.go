package servers

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

// rowSchema returns the schema of a server's row, which declares every field.
func rowSchema() signature.Schema {
	return signature.Parse(mcpconfig.FileSchema()).Follow("#/$defs/server")
}

// setFields sets the fields of --set in a row: FIELD=VALUE, or FIELD.FIELD=VALUE for a nested field.
func setFields(row json.RawMessage, settings []string) (json.RawMessage, error) {
	for _, word := range settings {
		path, text, ok := strings.Cut(word, "=")
		if !ok || path == "" {
			return nil, command.Usagef("--set takes FIELD=VALUE, such as maxConcurrent=4, and not %q", word)
		}
		keys, fieldSchema, err := fieldAt(rowSchema(), path)
		if err != nil {
			return nil, err
		}
		value, err := arguments.Setting(text, fieldSchema)
		if err == nil {
			row, err = setAt(row, keys, value)
		}
		if err != nil {
			return nil, command.Usagef("--set %s: %w", path, err)
		}
	}
	return row, nil
}

// fieldAt returns the keys along a path, and the schema at its end. The keys of maps (env, headers, tools.rename) may
// contain dots.
func fieldAt(s signature.Schema, path string) (keys []string, fieldSchema signature.Schema, err error) {
	name, rest, deeper := strings.Cut(path, ".")
	var known []string
	for _, s := range append([]signature.Schema{s}, s.Alternatives("anyOf")...) {
		for _, p := range s.Parameters() {
			switch {
			case p.Name != name && !slices.Contains(known, p.Name): // each alternative declares them
				known = append(known, p.Name)
			case p.Name != name:
			case !deeper:
				return []string{name}, p.Schema, nil
			default:
				keys, fieldSchema, err = fieldAt(p.Schema, rest)
				return append([]string{name}, keys...), fieldSchema, err
			}
		}
		if any := s.Sub("additionalProperties"); any.Is("{") {
			return []string{path}, any, nil
		}
	}
	if len(known) == 0 {
		return nil, fieldSchema, command.Usagef("--set: nothing is in a field at %q", path)
	}
	return nil, fieldSchema, command.Usagef("--set: there is no field %q%s", name,
		cmp.Or(command.DidYouMean(name, known), ": there are "+strings.Join(known, ", ")))
}

// setAt sets a value in an object. Missing outer objects are created.
func setAt(object json.RawMessage, keys []string, value json.RawMessage) (json.RawMessage, error) {
	if len(keys) > 1 {
		inner, _ := wire.Lookup(object, keys[0])
		if len(inner) == 0 || inner[0] != '{' {
			inner = json.RawMessage("{}")
		}
		var err error
		if value, err = setAt(inner, keys[1:], value); err != nil {
			return nil, err
		}
	}
	return wire.Rewrite(object, wire.Edit{Key: keys[0], Value: value})
}

// completeFields completes the fields that --set takes.
func completeFields(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	const d = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	given := []string{"command", "args", "url", "id", "name", "type"} // set by the other arguments
	var offers []string
	for _, p := range rowSchema().Parameters() {
		if !slices.Contains(given, p.Name) {
			offers = append(offers, p.Name+"=\t"+show.FirstSentence(p.Schema.String("description")))
		}
	}
	return command.WithPrefix(typed, offers), d
}

// objectOrNone returns an object as JSON, or nil if it has no member.
func objectOrNone(o wire.Object) json.RawMessage {
	if len(o) == 0 {
		return nil
	}
	return o.JSON()
}

// listOrNone returns texts as a JSON array, or nil if there are none.
func listOrNone(list []string) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	raw, _ := text.JSON(list) // strings always encode
	return raw
}
