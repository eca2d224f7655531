package cli

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/indusagi/indus/internal/variable"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/mcpconfig"
)

// hidden stands for a value that may be a secret.
const hidden = "<secret>"

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
		return hideText(raw, hideURL)
	case "args":
		return hideArgs(raw)
	}
	return hideDeep(name, raw)
}

// hideAll hides every value of an object.
func hideAll(raw json.RawMessage) any {
	members, err := wire.Members(raw)
	if err != nil {
		return hidden
	}
	var out object
	for _, m := range members {
		if s, ok := text(m.Value); ok {
			out.add(m.Key, hideLiteral(s))
		} else {
			out.add(m.Key, hidden)
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
		if secretName(name) || secretLike(s) {
			return hideLiteral(s)
		}
		return hideInside(s)
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

func hideArgs(raw json.RawMessage) any {
	elements, err := wire.Elements(raw)
	if err != nil {
		return hideDeep("args", raw)
	}
	out, before := []any{}, ""
	for _, e := range elements {
		s, ok := text(e)
		switch {
		case secretName(before) && (!ok || worth(s) && !strings.HasPrefix(s, "-")):
			out = append(out, hidden)
		case ok:
			out = append(out, hideInside(s))
		default:
			out = append(out, flat(hideDeep("args", e)))
		}
		if before = ""; strings.HasPrefix(s, "-") && !strings.Contains(s, "=") {
			before = s
		}
	}
	return out
}

func text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func hideText(raw json.RawMessage, hide func(string) string) any {
	if s, ok := text(raw); ok {
		return hide(s)
	}
	return raw
}

// hideLiteral hides all of a text but its variables, and the word in front of a
// credential. Of a variable the default is hidden.
func hideLiteral(s string) string {
	var b strings.Builder
	word := scheme(s)
	b.WriteString(word)
	s = s[len(word):]
	literal := func(s string) {
		if s != "" {
			b.WriteString(hidden)
		}
	}
	for {
		at := variable.Index(s)
		if at == len(s) {
			literal(s)
			return b.String()
		}
		end := at + variable.Length(s[at:])
		literal(s[:at])
		b.WriteString(hideDefault(s[at:end]))
		s = s[end:]
	}
}

// hideInside hides the secrets in a text of which the rest may be seen, such as a
// command line: what stands behind a secret's name, logs in to a URL, or has a form
// that secrets have.
func hideInside(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		return hidden
	}
	var b strings.Builder
	for {
		at := variable.Index(s)
		if at == len(s) {
			b.WriteString(hideWords(s))
			return b.String()
		}
		end := at + variable.Length(s[at:])
		one := s[at:end]
		if name, standIn, ok := strings.Cut(strings.Trim(one, "${}"), ":-"); ok && (secretName(name) || hideInside(standIn) != standIn) {
			one = hideDefault(one)
		}
		b.WriteString(hideWords(s[:at]) + one)
		s = s[end:]
	}
}

// The name of a value, as flags, shells, headers, queries and JSON have it, also
// where JSON stands in a string of JSON; and what then is the value.
var (
	valueName  = regexp.MustCompile(`([\w.-]+)["'\\]*[ \t]*[=:][ \t]*["'\\]*(?:(?i:bearer|basic|token)[ \t]+)?`)
	namedValue = regexp.MustCompile(`^[^\s"'\\&;|]+`)
	passwords  = regexp.MustCompile(`(://[^\s/?#@:]*:)([^\s/?#@]+)(@)`)
)

// hideWords is hideInside for a text without variables.
func hideWords(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range valueName.FindAllStringSubmatchIndex(s, -1) {
		value := namedValue.FindString(s[m[1]:])
		if m[1] >= done && secretName(s[m[2]:m[3]]) && worth(value) {
			b.WriteString(s[done:m[1]] + hidden)
			done = m[1] + len(value)
		}
	}
	s = b.String() + s[done:]
	s = passwords.ReplaceAllString(s, "${1}"+hidden+"${3}")
	return tokensInside.ReplaceAllString(s, "${1}"+hidden)
}

func hideDefault(variable string) string {
	if strings.HasPrefix(variable, "${cmd:") || strings.HasPrefix(variable, "${file:") {
		return variable
	}
	name, standIn, ok := strings.Cut(strings.TrimSuffix(variable, "}"), ":-")
	if !ok {
		return variable
	}
	return name + ":-" + hideLiteral(standIn) + "}"
}

var (
	userinfo = regexp.MustCompile(`://[^/?#@]*@`)
	queries  = regexp.MustCompile(`([?&][^=&#]*=)([^&#]*)`)
	segments = regexp.MustCompile(`([^:/]/)([\w.~=-]{20,})`)
)

// hideURL hides who logs in, the values of the query, and what in the path looks like
// a key: some services give everyone a URL of their own.
func hideURL(s string) string {
	s = userinfo.ReplaceAllString(s, "://"+hidden+"@")
	s = queries.ReplaceAllStringFunc(s, func(q string) string {
		name, value, _ := strings.Cut(q, "=")
		return name + "=" + hideLiteral(value)
	})
	if path, fragment, ok := strings.Cut(s, "#"); ok && fragment != "" {
		s = path + "#" + hidden
	}
	path, query, more := strings.Cut(s, "?")
	path = segments.ReplaceAllStringFunc(path, func(m string) string {
		if word := m[2:]; strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, unicode.IsLetter) {
			return m[:2] + hidden
		}
		return m
	})
	if more {
		path += "?" + query
	}
	return path
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
			if v, ok := text(m.Value); ok && (secretName(m.Key) && worth(v) || secretLike(v) || secretURL(v)) {
				found = append(found, paste{what + " " + m.Key, variable(m.Key, v)})
			}
		}
	}
	members("env", "env", func(name, _ string) string { return "${" + name + "}" })
	members("headers", "header", func(_, value string) string { return scheme(value) + "${TOKEN}" })
	if v, ok := text(field("url")); ok && secretURL(v) {
		found = append(found, paste{"the URL", "${VAR} in that place"})
	}
	if v, ok := text(field("command")); ok && hideInside(v) != v {
		found = append(found, paste{"the command", "${VAR} in its place"})
	}
	if anyHidden(field("args")) {
		found = append(found, paste{"an argument", "${VAR} in its place"})
	}
	return found
}

// anyHidden reports whether hideArgs hides anything.
func anyHidden(args json.RawMessage) bool {
	elements, _ := elementsOf(args)
	shown, _ := hideArgs(args).([]any)
	for i, e := range elements {
		before, isText := text(e)
		if now, ok := shown[i].(string); ok && (!isText || now != before) {
			return true
		}
	}
	return false
}

// scheme is the word in front of a credential, such as "Bearer ".
func scheme(v string) string {
	if scheme, _, ok := strings.Cut(v, " "); ok && slices.Contains(schemes(), strings.ToLower(scheme)) {
		return scheme + " "
	}
	return ""
}

func schemes() []string { return []string{"bearer", "basic", "token"} }

func secretURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	if password, ok := u.User.Password(); ok && worth(password) {
		return true
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName(name) && worth(v) || secretLike(v) {
				return true
			}
		}
	}
	return false
}

// secretName reports a name that secrets have.
func secretName(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
	for _, end := range []string{"file", "path", "url", "limit", "ttl", "count", "type", "mode", "id", "name", "tokens", "dir"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	for _, part := range []string{
		"apikey", "accesskey", "authkey", "privatekey", "secret", "token", "passw", "credential", "authorization", "cookie",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "key" || strings.HasSuffix(name, "auth") || strings.HasSuffix(name, "pat") || strings.HasSuffix(name, "pwd")
}

// worth reports a literal that is long enough to be a secret.
func worth(v string) bool {
	return len(v) >= 6 && variable.Index(v) == len(v) && v != "false"
}

// forms are those in which well-known services hand out secrets.
const forms = `gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abposr]-[\w-]{10,}|xapp-[\w-]{10,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}` +
	`|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{16,}|figd_[\w-]{16,}` +
	`|lin_api_\w{16,}|ntn_\w{16,}|dop_v1_\w{16,}|SG\.[\w-]{16,}\.[\w-]+|ya29\.[\w-]{16,}|tvly-[\w-]{12,}|sbp_\w{16,}|sntry[su]_[\w-]{16,}` +
	`|gl(?:sa|c)_\w{16,}|gsk_\w{16,}|pplx-\w{16,}|nvapi-[\w-]{16,}|napi_\w{16,}|fc-[0-9a-f]{24,}|ATATT3x[\w-]{16,}|shp(?:at|ca|pa|ss)_\w{16,}`

var (
	tokens       = regexp.MustCompile(`^(?:(?i:bearer|basic|token) +)?(?:` + forms + `|-----BEGIN [A-Z ]*PRIVATE KEY)`)
	tokensInside = regexp.MustCompile(`(^|[^\w-])(?:` + forms + `)[\w./+=-]*`)
)

func secretLike(v string) bool { return tokens.MatchString(v) }
