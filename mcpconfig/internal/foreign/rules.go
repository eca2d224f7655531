package foreign

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// rule reads one key of a row. The value is not null.
type rule func(m *serverRow, key string, v *hujson.Value)

// rules returns the rules of all keys that the client's rows may have.
func (d *dialect) rules() map[string]rule {
	ignore := func(*serverRow, string, *hujson.Value) {}
	out := map[string]rule{
		d.command: asText("command"), d.args: asArgs, d.env: asPairs("env"),
		d.cwd: asText("cwd"), d.envFile: asText("envFile"),
		d.headers: asPairs("headers"), d.url: asURL, d.sseURL: asSSE, d.kind: asKind,
		d.enabled: asEnabled, d.disabled: asDisabled,
		d.allow: asAllow, d.deny: asDeny,
		d.forwardedVars: asHandOn, d.headerVars: asHeaderVariables, d.bearerVar: asBearerVariable,
	}
	if d.joined {
		out[d.command] = asCommandLine
	}
	for _, t := range d.timeouts {
		out[t.key] = asTimeout(t.unit, t.steps...)
	}
	for meaning, keys := range d.withoutMeaning {
		for key := range strings.FieldsSeq(keys) {
			out[key] = notImported(meaning)
		}
	}
	for key := range strings.FieldsSeq(d.ignored) {
		out[key] = ignore
	}
	out[d.idKey] = ignore
	if !d.commandsOnly {
		out["oauth"] = asOAuth
	}
	maps.Copy(out, d.extraRules)
	for key, primary := range d.otherKeys {
		out[key] = out[primary]
		if primary == d.url {
			out[key] = unlessPresent(primary, asText("url"))
		}
	}
	delete(out, "")
	for key, r := range map[string]rule{"enabled": asEnabled, "disabled": asDisabled} {
		if out[key] == nil {
			out[key] = remarkDisabled(r)
		}
	}
	return out
}

// remarkDisabled returns the rule of a switch that a client does not have, or not in all of its releases. The author of
// such a switch does not want the server to start.
func remarkDisabled(r rule) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		before := m.disable
		r(m, key, v)
		if m.disable && !before {
			m.remark(v.StartOffset, fmt.Sprintf("is disabled by %q, which %s may not heed", key, m.title), "")
		}
	}
}

// notImported returns the rule of a key that has no counterpart. If the value is false, nothing is lost, except for
// calls in parallel.
func notImported(meaning string) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		if v.Value.Kind() == 'f' && key != "supports_parallel_tool_calls" {
			return
		}
		m.remark(v.StartOffset, fmt.Sprintf("%q is not taken over: %s", key, meaning), "")
	}
}

// unlessPresent returns a rule that applies only if another key is absent.
func unlessPresent(other string, r rule) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		if m.fields[other] != nil {
			m.remark(v.StartOffset, fmt.Sprintf("%q is not used, because the row has %q", key, other), "")
			return
		}
		r(m, key, v)
	}
}

// expect marks the row as unusable if a value is of another kind.
func (m *serverRow) expect(kind hujson.Kind, expected, key string, v *hujson.Value) bool {
	if v.Value.Kind() == kind {
		return true
	}
	m.fail(v.StartOffset, fmt.Sprintf("%q is %s where %s is expected", key, tree.KindOf(v.Value), expected), "")
	return false
}

func asText(native string) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		if s, ok := m.text(key, v); ok && s != "" {
			m.out[native] = tree.String(v.StartOffset, s)
		}
	}
}

// text returns a value that must be a string, with its variables in indus's form.
func (m *serverRow) text(key string, v *hujson.Value) (string, bool) {
	if !m.expect('"', "a string", key, v) {
		return "", false
	}
	return m.convert(key, tree.Text(*v), v.StartOffset), true
}

// scalar returns an element that should be a string. A number or a boolean counts as its text.
func (m *serverRow) scalar(where string, v *hujson.Value) (hujson.Value, bool) {
	switch v.Value.Kind() {
	case '"':
		return tree.String(v.StartOffset, m.convert(where, tree.Text(*v), v.StartOffset)), true
	case '0', 't', 'f':
		m.remark(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" and is read as text", "")
		return tree.String(v.StartOffset, v.Value.(hujson.Literal).String()), true
	}
	m.remark(v.StartOffset, where+" is "+tree.KindOf(v.Value)+", no string, and is left out", "")
	return hujson.Value{}, false
}

// texts returns the elements of a value that must be a list.
func (m *serverRow) texts(key string, v *hujson.Value) []hujson.Value {
	if !m.expect('[', "a list of strings", key, v) {
		return nil
	}
	out := []hujson.Value{}
	for i, e := range tree.Elements(v) {
		if e, ok := m.scalar(fmt.Sprintf("%s[%d]", key, i), e); ok {
			out = append(out, e)
		}
	}
	return out
}

func asArgs(m *serverRow, key string, v *hujson.Value) {
	if list := m.texts(key, v); len(list) > 0 {
		m.out["args"] = tree.List(v.StartOffset, list)
	}
}

// asCommandLine reads a command and its arguments in one list.
func asCommandLine(m *serverRow, key string, v *hujson.Value) {
	m.commandLine(key, v.StartOffset, m.texts(key, v))
}

func (m *serverRow) commandLine(key string, offset int, list []hujson.Value) {
	if len(list) == 0 {
		m.fail(offset, fmt.Sprintf("%q is empty", key), "")
		return
	}
	m.out["command"] = list[0]
	if len(list) > 1 {
		m.out["args"] = tree.List(list[1].StartOffset, list[1:])
	}
}

// asEither reads a command alone, or a list of the command and its arguments. "args" are added behind these.
func asEither(m *serverRow, key string, v *hujson.Value) {
	if v.Value.Kind() != '[' {
		asText("command")(m, key, v)
		return
	}
	m.deferred = append(m.deferred, func() {
		list := m.texts(key, v)
		if args := m.fields["args"]; args != nil && len(list) > 0 {
			list = append(list, m.texts("args", args)...)
		}
		m.commandLine(key, v.StartOffset, list)
	})
}

// asPairs reads variables or headers.
func asPairs(native string) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		m.pairs[native] = append(m.pairsOf(key, v), m.pairs[native]...)
	}
}

// asHeaderLines reads headers as "Name: value", or an object of headers.
func asHeaderLines(m *serverRow, key string, v *hujson.Value) {
	if v.Value.Kind() != '[' {
		asPairs("headers")(m, key, v)
		return
	}
	for _, e := range m.texts(key, v) {
		name, value, ok := strings.Cut(tree.Text(e), ":")
		if !ok {
			m.remark(e.StartOffset, `a header without ":" is left out`, "")
			continue
		}
		header := tree.Member(strings.TrimSpace(name), tree.String(e.StartOffset, strings.TrimSpace(value)))
		m.pairs["headers"] = append(m.pairs["headers"], header)
	}
}

// pairsOf returns the members of a value that must be an object of strings.
func (m *serverRow) pairsOf(key string, v *hujson.Value) []hujson.ObjectMember {
	if !m.expect('{', "an object", key, v) {
		return nil
	}
	counts := tree.Fields(v)
	var out []hujson.ObjectMember
	for name, pair := range tree.Members(v) {
		where := key + " " + tree.Quote(name)
		if counts[name] != &pair.Value {
			m.remark(pair.Name.StartOffset, where+" comes again; the last counts", "")
		} else if value, ok := m.scalar(where, &pair.Value); ok {
			out = append(out, hujson.ObjectMember{Name: tree.String(pair.Name.StartOffset, name), Value: value})
		}
	}
	return out
}

// addPair adds a pair to env or headers after the row's own pairs, unless the name has a value already.
func (m *serverRow) addPair(list, name, value string, offset int) {
	m.deferred = append(m.deferred, func() {
		if m.pairNames[list] == nil {
			m.pairNames[list] = map[string]bool{}
			for _, pair := range m.pairs[list] {
				m.pairNames[list][tree.Text(pair.Name)] = true
			}
		}
		if !m.pairNames[list][name] {
			m.pairNames[list][name] = true
			m.pairs[list] = append(m.pairs[list], tree.Member(name, tree.String(offset, value)))
		}
	})
}

// asHandOn reads variables of the environment that the child gets under their own names.
func asHandOn(m *serverRow, key string, v *hujson.Value) {
	if !m.expect('[', "a list", key, v) {
		return
	}
	if m.place.Moving && !m.keepsSecrets && len(v.Value.(*hujson.Array).Elements) > 0 {
		m.remark(v.StartOffset, fmt.Sprintf(
			"%q passes on variables that are set; indus skips the server if one of them is not", key),
			"write ${NAME:-} in env where nothing will do")
	}
	for _, e := range tree.Elements(v) {
		name := tree.Text(*e)
		if tree.At(e, "name") != nil {
			name = tree.TextAt(e, "name")
		}
		switch {
		case !isName(name):
			m.remark(e.StartOffset, key+": "+tree.Quote(name)+" is no variable's name and is left out", "")
			continue
		case tree.TextAt(e, "source") == "remote":
			m.remark(e.StartOffset,
				key+": "+tree.Quote(name)+" comes from the remote side of "+m.title+"; it is taken from here", "")
		case m.keepsSecrets:
			m.remark(e.StartOffset, m.title+" keeps the value of "+name+" itself", "set the variable "+name)
		}
		m.addPair("env", name, "${"+name+"}", e.StartOffset)
	}
}

// asHeaderVariables reads headers with names of variables as their values.
func asHeaderVariables(m *serverRow, key string, v *hujson.Value) {
	for _, pair := range m.pairsOf(key, v) {
		header, name := tree.Text(pair.Name), tree.Text(pair.Value)
		if !isName(name) {
			m.remark(pair.Value.StartOffset, key+" "+tree.Quote(header)+" is no variable's name and is left out", "")
			continue
		}
		m.addPair("headers", header, "${"+name+"}", pair.Value.StartOffset)
	}
}

// asBearerVariable reads the name of the variable that holds a token.
func asBearerVariable(m *serverRow, key string, v *hujson.Value) {
	if name := tree.Text(*v); isName(name) {
		m.addPair("headers", "Authorization", "Bearer ${"+name+"}", v.StartOffset)
	} else {
		m.fail(v.StartOffset, fmt.Sprintf("%q is no variable's name", key), "")
	}
}

func asURL(m *serverRow, key string, v *hujson.Value) {
	if m.fields[m.sseURL] != nil && m.sseURL != "" && m.sseURL != key {
		defer m.remark(m.fields[m.sseURL].StartOffset,
			fmt.Sprintf("%q is not used, because the row has %q", m.sseURL, key), "")
	}
	asText("url")(m, key, v)
}

// asSSE reads the url of an SSE server, for a client that has a key for each transport.
func asSSE(m *serverRow, key string, v *hujson.Value) {
	if other := m.fields[m.url]; other != nil && tree.Text(*other) != "" {
		return
	}
	asText("url")(m, key, v)
	m.deferred = append(m.deferred, func() {
		if m.kind == "" {
			m.kind = "sse"
		}
	})
}

// asKind reads the transport, in any word that clients use for it.
func asKind(m *serverRow, key string, v *hujson.Value) {
	word := tree.Text(*v)
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(word)) {
	case "stdio", "local":
		m.kind = "stdio"
	case "http", "https", "streamablehttp", "remote":
		m.kind = "http"
	case "sse":
		m.kind = "sse"
	case "builtin", "platform", "frontend", "inlinepython", "inprocess":
		m.fail(v.StartOffset, "is a part of "+m.title+" itself, and nothing that can be started", "")
	case "ws", "websocket":
		m.fail(v.StartOffset, "speaks WebSocket, which is no transport of MCP", "")
	default:
		m.fail(v.StartOffset, fmt.Sprintf("unknown %s %s", key, tree.Quote(word)), "")
	}
}

func asEnabled(m *serverRow, key string, v *hujson.Value) {
	m.disable = m.disable || !m.flag(key, v, true)
}
func asDisabled(m *serverRow, key string, v *hujson.Value) {
	m.disable = m.disable || m.flag(key, v, false)
}

func (m *serverRow) flag(key string, v *hujson.Value, absent bool) bool {
	switch word := tree.Text(*v); {
	case v.Value.Kind() == 't' || v.Value.Kind() == 'f':
		return v.Value.Kind() == 't'
	case word == "true" || word == "false":
		m.remark(v.StartOffset, fmt.Sprintf("%q is a string and is read as %s", key, word), "")
		return word == "true"
	}
	m.remark(v.StartOffset,
		fmt.Sprintf("%q is %s where true or false is expected, and is left out", key, tree.KindOf(v.Value)), "")
	return absent
}

func asAllow(m *serverRow, key string, v *hujson.Value) {
	list := m.nameList(key, v)
	switch {
	case list == nil, len(list) == 0 && m.emptyIsAll:
	case m.starIsAll && slices.ContainsFunc(list, func(e hujson.Value) bool { return tree.Text(e) == "*" }):
	case len(list) == 0:
		m.deny = append(m.deny, tree.String(v.StartOffset, "*"))
	default:
		m.allow = append(m.allow, list...)
	}
}

func asDeny(m *serverRow, key string, v *hujson.Value) {
	m.deny = append(m.deny, m.nameList(key, v)...)
}

// nameList reads names of tools. Variables are not replaced in them.
func (m *serverRow) nameList(key string, v *hujson.Value) []hujson.Value {
	if !m.expect('[', "a list of tools", key, v) {
		return nil
	}
	out := []hujson.Value{}
	for i, e := range tree.Elements(v) {
		if e.Value.Kind() != '"' {
			m.fail(e.StartOffset, fmt.Sprintf("%s[%d] is %s where a tool's name is expected", key, i, tree.KindOf(e.Value)), "")
			continue
		}
		out = append(out, tree.String(e.StartOffset, tree.Text(*e)))
	}
	return out
}

// asTimeout returns a rule that reads a number in a unit. It bounds the given steps, or all steps if there are none.
func asTimeout(unit float64, steps ...string) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		if v.Value.Kind() != '0' {
			m.remark(v.StartOffset,
				fmt.Sprintf("%q is %s where a number is expected, and is left out", key, tree.KindOf(v.Value)), "")
			return
		}
		n := v.Value.(hujson.Literal).Float() * unit
		if n <= 0 || n > maxSeconds || math.IsNaN(n) {
			m.remark(v.StartOffset, fmt.Sprintf("%q is left out, because it is no time of up to 30 days", key), "")
			return
		}
		d := time.Duration(math.Round(n*1000)) * time.Millisecond
		out := tree.String(v.StartOffset, d.String())
		if len(steps) == 0 {
			m.steps[""] = out
		}
		for _, step := range steps {
			if _, there := m.steps[step]; !there {
				m.steps[step] = out
			}
		}
	}
}

const (
	maxSeconds = 30 * 24 * 3600
	inSeconds  = 1
	inMillis   = 0.001
)

// convert turns the client's variables into indus's.
func (m *serverRow) convert(where, s string, offset int) string {
	parts := split(s, formsIn(m.dialect, m.forms, where)...)
	for i := range parts {
		switch p := &parts[i]; p.kind {
		case literalPart:
			if begin := strings.Index(p.text, "${"); begin >= 0 {
				m.remark(offset, fmt.Sprintf("%s: %s takes \"${\" for these characters themselves here, and so does indus now: "+
					"it is written \"$${\"", where, m.title), "")
			}
		case inputPart, clientPart:
			*p = m.inputVariable(where, *p, offset)
		case variablePart:
			m.remarkUnset(p, offset)
		case filePart:
			p.text = m.place.absolute(p.text)
		case commandPart:
			m.remark(offset, where+`: "$(…)" has become "${cmd:…}", a command that runs before the server starts`, "")
		case projectPart, baseNamePart:
			hint := "" // an argument does not run
			if where == "cwd" || where == "command" || where == "envFile" {
				hint = "a server of your own file then waits for approval in each project; with ${workspaceFolder} " +
					"as an argument alone it does not"
			}
			switch {
			case m.place.ofUser():
				m.remark(offset, where+": ${workspaceFolder} is the folder that is open in "+m.title+
					"; in indus it is the project in which indus runs", hint)
			case m.place.Moving:
				m.remark(offset, where+": ${workspaceFolder} is the project of the file that the server is written to; "+
					"in your own file it is the project in which indus runs", hint)
			}
		}
	}
	out, ok := nativeText(parts)
	if !ok {
		m.fail(offset, where+" has a variable that indus cannot write", `write the whole value as one variable: "${NAME}"`)
	}
	return out
}

// remarkUnset adds a note, once for a file, that indus is stricter about unset variables than its client.
func (m *serverRow) remarkUnset(p *part, offset int) {
	if m.optional && m.place.Moving && p.fallback == nil && !m.warnedUnset {
		m.warnedUnset = true
		m.reading.remark(offset, "a server with a variable that is not set is skipped, where "+m.title+
			" may start it without", "set "+p.text+" and the like, or write ${NAME:-} where nothing will do")
	}
}
