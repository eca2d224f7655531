package cli

import (
	"encoding/json"
	"slices"

	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
)

// hideRow is a row as a person may see it: variables as they are written, and of
// values only those that are none of env and headers and look like no secret.
func hideRow(raw json.RawMessage) json.RawMessage {
	members, err := wire.Members(raw)
	if err != nil {
		return raw
	}
	var row object
	for _, m := range members {
		row.add(m.Key, hideField(m.Key, m.Value))
	}
	shown, err := row.MarshalJSON()
	if err != nil {
		return raw
	}
	return shown
}

func hideField(name string, raw json.RawMessage) any {
	switch name {
	case "env", "headers":
		return hideAll(raw)
	case "url":
		return hideText(raw, secret.URL)
	case "args":
		return hideArgs(raw)
	}
	return hideDeep(name, raw)
}

// hideAll hides every value of an object.
func hideAll(raw json.RawMessage) any {
	members, err := wire.Members(raw)
	if err != nil {
		return secret.Mask
	}
	var out object
	for _, m := range members {
		if s, ok := jsonString(m.Value); ok {
			out.add(m.Key, secret.Literal(s))
		} else {
			out.add(m.Key, secret.Mask)
		}
	}
	return out
}

// hideDeep hides what has a secret's name or looks like one.
func hideDeep(name string, raw json.RawMessage) any {
	if members, err := wire.Members(raw); err == nil {
		out := object{}
		for _, m := range members {
			out.add(m.Key, hideDeep(m.Key, m.Value))
		}
		return out
	}
	if elements, err := wire.Elements(raw); err == nil {
		out := []any{}
		for _, e := range elements {
			out = append(out, flat(hideDeep(name, e)))
		}
		return out
	}
	return hideText(raw, func(s string) string {
		if secret.Named(name) || secret.Like(s) {
			return secret.Literal(s)
		}
		return secret.Text(s)
	})
}

// flat is a value whose objects are encoded already, for encoding/json.
func flat(v any) any {
	if o, ok := v.(object); ok {
		raw, _ := o.MarshalJSON()
		return json.RawMessage(raw)
	}
	return v
}

// hideArgs hides what looks like a secret in arguments, strings or not.
func hideArgs(raw json.RawMessage) any {
	elements, err := wire.Elements(raw)
	if err != nil {
		return hideDeep("args", raw)
	}
	out := make([]any, len(elements))
	for i, shown := range secret.Args(texts(elements)) {
		if out[i] = shown; shown == string(elements[i]) {
			out[i] = flat(hideDeep("args", elements[i]))
		}
	}
	return out
}

func jsonString(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func hideText(raw json.RawMessage, hide func(string) string) any {
	if s, ok := jsonString(raw); ok {
		return hide(s)
	}
	return raw
}

// tellPasted warns of values that look like secrets in plain text, without showing
// them, and says how to keep them out of the file.
func tellPasted(d mcpconfig.Definition, path string, s streams) {
	for _, p := range pasted(d.JSON) {
		s.tell("%s: %s looks like a secret, and stands in %s in plain text; write %s, which takes it from the environment, or ${cmd:pass show …} instead",
			clean(d.ID), clean(p.where), clean(path), clean(p.variable))
	}
}

// paste is where a secret seems to stand in plain text, and a variable for it.
type paste struct{ where, variable string }

// pasted are the values of a row that look like secrets.
func pasted(raw json.RawMessage) []paste {
	field := func(name string) json.RawMessage {
		v, _ := wire.Lookup(raw, name)
		return v
	}
	var found []paste
	members := func(of, what string, variable func(name, value string) string) {
		list, _ := membersOf(field(of))
		for _, m := range list {
			if v, ok := jsonString(m.Value); ok && (secret.Named(m.Key) && secret.Worth(v) || secret.Like(v) || secret.Text(v) != v) {
				found = append(found, paste{what + " " + m.Key, variable(m.Key, v)})
			}
		}
	}
	members("env", "env", func(name, _ string) string { return "${" + name + "}" })
	members("headers", "header", func(_, value string) string { return secret.Scheme(value) + "${TOKEN}" })
	if v, ok := jsonString(field("url")); ok && secret.Text(v) != v {
		found = append(found, paste{"the URL", "${VAR} in that place"})
	}
	if v, ok := jsonString(field("command")); ok && secret.Text(v) != v {
		found = append(found, paste{"the command", "${VAR} in its place"})
	}
	elements, _ := elementsOf(field("args"))
	if args := texts(elements); !slices.Equal(args, secret.Args(args)) {
		found = append(found, paste{"an argument", "${VAR} in its place"})
	}
	return found
}

// texts are the elements of a list; what is no string as it is written.
func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, raw := range list {
		var ok bool
		if out[i], ok = jsonString(raw); !ok {
			out[i] = string(raw)
		}
	}
	return out
}
