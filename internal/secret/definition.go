package secret

import (
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/wire"
)

// Definition returns a server's row of a configuration in a form that a person may see. Variables
// stay as they are written. Values are masked if they belong to env or headers, or look like a
// secret.
func Definition(row json.RawMessage) json.RawMessage { return mapParts(row, maskField) }

func maskField(name string, raw json.RawMessage) json.RawMessage {
	switch name {
	case "env", "headers":
		return mapParts(raw, func(_ string, raw json.RawMessage) json.RawMessage {
			if s, ok := wire.Unquote(raw); ok {
				return wire.Quote(Literal(s))
			}
			return wire.Quote(Mask)
		})
	case "url":
		if s, ok := wire.Unquote(raw); ok {
			return wire.Quote(URL(s))
		}
	case "tls": // names of files; one field is called "key"
		return raw
	case "authorization": // a word; tokens are in headers
		if s, _ := wire.Unquote(raw); s == "forward" {
			return raw
		}
	case "args":
		args := argsOf(raw)
		shown, i := Args(args), -1
		return mapParts(raw, func(_ string, raw json.RawMessage) json.RawMessage {
			i++
			if i < len(args) && shown[i] != args[i] {
				return wire.Quote(shown[i])
			}
			return maskValue(name, raw)
		})
	}
	return maskValue(name, raw)
}

// maskValue masks values that look like a secret or have the name of a secret, at any depth.
func maskValue(name string, raw json.RawMessage) json.RawMessage {
	switch raw[0] {
	case '{':
		return mapParts(raw, maskValue)
	case '[':
		return mapParts(raw, func(_ string, raw json.RawMessage) json.RawMessage { return maskValue(name, raw) })
	}
	if s, ok := wire.Unquote(raw); ok {
		return wire.Quote(Named(name, s))
	}
	return raw
}

// Named returns the text of a member with likely credentials masked: all of it if the name of the member is typical for
// a secret.
func Named(name, s string) string {
	if IsSecretName(name) || HasSecretFormat(s) {
		return Literal(s)
	}
	return Text(s)
}

// mapParts returns an object or a list with its values replaced. Any other value is masked.
func mapParts(raw json.RawMessage, replace wire.Editor) json.RawMessage {
	out, err := wire.MapParts(raw, replace)
	if err != nil {
		return wire.Quote(Mask)
	}
	return out
}

// argsOf returns the elements of a list. Elements that are not strings stay as they are written.
func argsOf(raw json.RawMessage) []string {
	elements, _ := wire.Elements(raw)
	out := make([]string, len(elements))
	for i, e := range elements {
		var ok bool
		if out[i], ok = wire.Unquote(e); !ok {
			out[i] = string(e)
		}
	}
	return out
}

// PlainSecret names the place of a likely secret in plain text, and the variable to write instead.
type PlainSecret struct{ Where, Variable string }

// FindInDefinition returns the values of a server's row that look like secrets in plain text.
func FindInDefinition(row json.RawMessage) (found []PlainSecret) {
	field := func(name string) json.RawMessage {
		v, _ := wire.Lookup(row, name)
		return v
	}
	pairs := func(object json.RawMessage, kind string, variable func(name, value string) string) {
		list, _ := wire.Members(object)
		for _, m := range list {
			if v, ok := wire.Unquote(m.Value); ok &&
				(IsSecretName(m.Key) && IsLongEnough(v) || HasSecretFormat(v) || Text(v) != v) {
				found = append(found, PlainSecret{kind + " " + m.Key, variable(m.Key, v)})
			}
		}
	}
	pairs(field("env"), "env", func(name, _ string) string { return "${" + name + "}" })
	pairs(field("headers"), "header", func(_, value string) string { return Scheme(value) + "${TOKEN}" })
	signIn := field("oauth")
	provider, _ := wire.Lookup(signIn, "identityProvider")
	for _, object := range []json.RawMessage{signIn, provider} {
		pairs(object, "oauth", func(string, string) string { return "${VAR}" })
	}
	if v, _ := wire.Unquote(field("url")); Text(v) != v {
		found = append(found, PlainSecret{"the URL", "${VAR} in that place"})
	}
	if v, _ := wire.Unquote(field("command")); Text(v) != v {
		found = append(found, PlainSecret{"the command", "${VAR} in its place"})
	}
	if args := argsOf(field("args")); !slices.Equal(args, Args(args)) {
		found = append(found, PlainSecret{"an argument", "${VAR} in its place"})
	}
	return found
}
