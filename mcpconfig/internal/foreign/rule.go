package foreign

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// rule reads one key of a row. The value is not null.
type rule func(m *row, key string, v *hujson.Value)

// rules are all keys that the client's rows may have.
func (d *dialect) rules() map[string]rule {
	out := map[string]rule{}
	put := func(key string, r rule) {
		if key != "" {
			out[key] = r
		}
	}
	put(d.command, asText("command"))
	if d.joined {
		put(d.command, asCommandLine)
	}
	put(d.args, asArgs)
	put(d.env, asEnv)
	put(d.cwd, asText("cwd"))
	put(d.envFile, asText("envFile"))
	put(d.headers, asHeaders)
	put(d.url, asURL)
	put(d.sseURL, asSSE)
	put(d.kind, asKind)
	put(d.enabled, asEnabled)
	put(d.disabled, asDisabled)
	put(d.allow, asAllow)
	put(d.deny, asDeny)
	for _, t := range d.timeouts {
		put(t.key, asTimeout(t.unit, t.steps...))
	}
	for key, meaning := range d.none {
		put(key, notTaken(meaning))
	}
	for _, key := range d.quiet {
		put(key, func(*row, string, *hujson.Value) {})
	}
	if d.list {
		put("name", func(*row, string, *hujson.Value) {})
	}
	for key, r := range d.also {
		put(key, r)
	}
	for key, r := range map[string]rule{"enabled": asEnabled, "disabled": asDisabled} {
		if out[key] == nil {
			put(key, offAnyway(r))
		}
	}
	return out
}

// offAnyway is the rule of a switch that a client does not have, or not in all of its
// releases: whoever wrote it does not want the server to start.
func offAnyway(r rule) rule {
	return func(m *row, key string, v *hujson.Value) {
		before := m.disable
		if r(m, key, v); m.disable && !before {
			m.remark(v.StartOffset, fmt.Sprintf("is disabled by %q, which %s may not heed", key, m.title), "")
		}
	}
}

// notTaken is the rule of a key that has no counterpart. One that is false switches
// nothing on that could be missed, but for calls in parallel.
func notTaken(meaning string) rule {
	return func(m *row, key string, v *hujson.Value) {
		if v.Value.Kind() == 'f' && key != "supports_parallel_tool_calls" {
			return
		}
		m.remark(v.StartOffset, fmt.Sprintf("%q is not taken over: %s", key, meaning), "")
	}
}

func asText(native string) rule {
	return func(m *row, key string, v *hujson.Value) {
		if s, ok := m.text(key, v); ok && s != "" {
			m.out[native] = hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(s)}
		}
	}
}

// text is a value that must be a string, with its variables in indus's words.
func (m *row) text(key string, v *hujson.Value) (string, bool) {
	if v.Value.Kind() != '"' {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where a string is expected", key, tree.KindOf(v.Value)), "")
		return "", false
	}
	return m.convert(key, tree.Text(*v), v.StartOffset), true
}

// scalar is an element that should be a string; a number or a boolean counts as its text.
func (m *row) scalar(where string, v *hujson.Value) (hujson.Value, bool) {
	switch v.Value.Kind() {
	case '"':
		return hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(m.convert(where, tree.Text(*v), v.StartOffset))}, true
	case '0', 't', 'f':
		m.remark(v.StartOffset, where+" is "+tree.KindOf(v.Value)+" and is read as text", "")
		return hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(v.Value.(hujson.Literal).String())}, true
	}
	m.remark(v.StartOffset, where+" is "+tree.KindOf(v.Value)+", no string, and is left out", "")
	return hujson.Value{}, false
}

// texts are the elements of a value that must be a list.
func (m *row) texts(key string, v *hujson.Value) []hujson.ArrayElement {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where a list of strings is expected", key, tree.KindOf(v.Value)), "")
		return nil
	}
	out := []hujson.ArrayElement{}
	for i := range list.Elements {
		if e, ok := m.scalar(fmt.Sprintf("%s[%d]", key, i), &list.Elements[i]); ok {
			out = append(out, e)
		}
	}
	return out
}

func asArgs(m *row, key string, v *hujson.Value) {
	if list := m.texts(key, v); len(list) > 0 {
		m.out["args"] = hujson.Value{StartOffset: v.StartOffset, Value: &hujson.Array{Elements: list}}
	}
}

// asCommandLine is a command and its arguments in one list.
func asCommandLine(m *row, key string, v *hujson.Value) {
	list := m.texts(key, v)
	if len(list) == 0 {
		m.fail(v.StartOffset, fmt.Sprintf("%q is empty", key), "")
		return
	}
	m.out["command"] = list[0]
	if len(list) > 1 {
		m.out["args"] = hujson.Value{StartOffset: list[1].StartOffset, Value: &hujson.Array{Elements: list[1:]}}
	}
}

func asEnv(m *row, key string, v *hujson.Value) { m.env = append(m.pairsOf(key, v), m.env...) }
func asHeaders(m *row, key string, v *hujson.Value) {
	m.headers = append(m.pairsOf(key, v), m.headers...)
}

// pairsOf are the members of a value that must be an object of strings.
func (m *row) pairsOf(key string, v *hujson.Value) []hujson.ObjectMember {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where an object is expected", key, tree.KindOf(v.Value)), "")
		return nil
	}
	last := lasts(o)
	var out []hujson.ObjectMember
	for i := range o.Members {
		name := tree.Text(o.Members[i].Name)
		where := key + " " + tree.Quote(name)
		if last[name] != i {
			m.remark(o.Members[i].Name.StartOffset, where+" comes again; the last counts", "")
		} else if value, ok := m.scalar(where, &o.Members[i].Value); ok {
			out = append(out, hujson.ObjectMember{Name: hujson.Value{StartOffset: o.Members[i].Name.StartOffset, Value: hujson.String(name)}, Value: value})
		}
	}
	return out
}

// give adds a pair to env or headers, unless the name has a value already. All that
// the row says itself is in the list by then.
func (m *row) give(list *[]hujson.ObjectMember, name, value string, offset int) {
	if m.given == nil {
		m.given = map[*[]hujson.ObjectMember]map[string]bool{}
	}
	has := m.given[list]
	if has == nil {
		has = map[string]bool{}
		for _, pair := range *list {
			has[tree.Text(pair.Name)] = true
		}
		m.given[list] = has
	}
	if !has[name] {
		has[name] = true
		*list = append(*list, member(name, hujson.Value{StartOffset: offset, Value: hujson.String(value)}))
	}
}

func asURL(m *row, key string, v *hujson.Value) {
	if m.fields[m.sseURL] != nil && m.sseURL != "" && m.sseURL != key {
		defer m.remark(m.fields[m.sseURL].StartOffset, fmt.Sprintf("%q is not used, because the row has %q", m.sseURL, key), "")
	}
	asText("url")(m, key, v)
}

// asSSE is the url of a client that has one key for each transport.
func asSSE(m *row, key string, v *hujson.Value) {
	if other := m.fields[m.url]; other != nil && tree.Text(*other) != "" {
		return
	}
	asText("url")(m, key, v)
	m.later = append(m.later, func() {
		if m.kind == "" {
			m.kind = "sse"
		}
	})
}

// asKind is the transport, by any of the words that clients have for it.
func asKind(m *row, key string, v *hujson.Value) {
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

func asEnabled(m *row, key string, v *hujson.Value)  { m.disable = m.disable || !m.flag(key, v, true) }
func asDisabled(m *row, key string, v *hujson.Value) { m.disable = m.disable || m.flag(key, v, false) }

func (m *row) flag(key string, v *hujson.Value, absent bool) bool {
	switch word := tree.Text(*v); {
	case v.Value.Kind() == 't' || v.Value.Kind() == 'f':
		return v.Value.Kind() == 't'
	case word == "true" || word == "false":
		m.remark(v.StartOffset, fmt.Sprintf("%q is a string and is read as %s", key, word), "")
		return word == "true"
	}
	m.remark(v.StartOffset, fmt.Sprintf("%q is %s where true or false is expected, and is left out", key, tree.KindOf(v.Value)), "")
	return absent
}

func asAllow(m *row, key string, v *hujson.Value) {
	list := m.names(key, v)
	if list == nil {
		return
	}
	if len(list) == 0 {
		if m.emptyIsAll {
			return
		}
		m.deny = append(m.deny, hujson.Value{StartOffset: v.StartOffset, Value: hujson.String("*")})
		return
	}
	m.allow = append(m.allow, list...)
}

func asDeny(m *row, key string, v *hujson.Value) { m.deny = append(m.deny, m.names(key, v)...) }

// names are tools; variables are not replaced in them.
func (m *row) names(key string, v *hujson.Value) []hujson.ArrayElement {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where a list of tools is expected", key, tree.KindOf(v.Value)), "")
		return nil
	}
	out := []hujson.ArrayElement{}
	for i := range list.Elements {
		e := &list.Elements[i]
		if e.Value.Kind() != '"' {
			m.fail(e.StartOffset, fmt.Sprintf("%s[%d] is %s where a tool's name is expected", key, i, tree.KindOf(e.Value)), "")
			continue
		}
		out = append(out, hujson.Value{StartOffset: e.StartOffset, Value: hujson.String(tree.Text(*e))})
	}
	return out
}

// asTimeout is a number of a unit, for some steps, or for all where none is named.
func asTimeout(unit float64, of ...string) rule {
	return func(m *row, key string, v *hujson.Value) {
		if v.Value.Kind() != '0' {
			m.remark(v.StartOffset, fmt.Sprintf("%q is %s where a number is expected, and is left out", key, tree.KindOf(v.Value)), "")
			return
		}
		n := v.Value.(hujson.Literal).Float() * unit
		if n <= 0 || n > maxSeconds || math.IsNaN(n) {
			m.remark(v.StartOffset, fmt.Sprintf("%q is left out, because it is no time of up to 30 days", key), "")
			return
		}
		d := time.Duration(math.Round(n*1000)) * time.Millisecond
		out := hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(d.String())}
		if len(of) == 0 {
			m.steps[""] = out
		}
		for _, step := range of {
			if _, there := m.steps[step]; !there {
				m.steps[step] = out
			}
		}
	}
}

const (
	maxSeconds = 30 * 24 * 3600
	seconds    = 1
	millis     = 0.001
)

// convert turns the client's variables into indus's.
func (m *row) convert(where, s string, offset int) string {
	parts := split(s, m.variablesOf(where))
	for i := range parts {
		switch p := &parts[i]; p.kind {
		case literal:
			if begin := strings.Index(p.text, "${"); begin >= 0 {
				m.remark(offset, fmt.Sprintf("%s: %s takes \"${\" for these characters themselves here, and so does indus now: it is written \"$${\"", where, m.title), "")
			}
		case input, alien:
			*p = m.ask(where, *p, offset)
		case variable:
			m.unset(p, offset)
		case contents:
			p.text = m.place.absolute(p.text)
		case output:
			m.remark(offset, where+`: "$(…)" has become "${cmd:…}", a command that runs before the server starts`, "")
		case workspace, baseName:
			switch {
			case m.place.ofUser():
				m.remark(offset, where+": ${workspaceFolder} is the folder that is open in "+m.title+"; in indus it is the one of the file", "write the path itself, or put the server into the project's file")
			case m.place.Moving:
				m.remark(offset, where+": ${workspaceFolder} will be the directory of the file that the server is written to", "write the path itself if that is no file of this project")
			}
		}
	}
	out, ok := native(parts)
	if !ok {
		m.fail(offset, where+" has a variable that indus cannot write", `put the whole value into one variable: "${NAME}"`)
	}
	return out
}

// unset says once in a file that indus is stricter about variables than its client.
func (m *row) unset(p *part, offset int) {
	if m.lax && m.place.Moving && p.fallback == nil && !m.strict {
		m.strict = true
		m.reading.remark(offset, "a server with a variable that is not set is skipped, where "+m.title+" may start it without", "set "+p.text+" and the like, or write ${NAME:-} where nothing will do")
	}
}
