package foreign

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// These are the keys that one client alone has, or has in its own way.

// unless is the rule of a key that yields to another one.
func unless(other string, r rule) rule {
	return func(m *row, key string, v *hujson.Value) {
		if m.fields[other] != nil {
			m.remark(v.StartOffset, fmt.Sprintf("%q is not used, because the row has %q", key, other), "")
			return
		}
		r(m, key, v)
	}
}

// asEither is a command alone, or with its arguments in one list.
func asEither(m *row, key string, v *hujson.Value) {
	if _, list := v.Value.(*hujson.Array); list {
		if args := m.fields["args"]; args != nil {
			m.later = append(m.later, func() { asCommandLine(m, key, v); m.moreArgs(args) })
			return
		}
		asCommandLine(m, key, v)
		return
	}
	asText("command")(m, key, v)
}

// moreArgs puts "args" behind the arguments that came with the command.
func (m *row) moreArgs(v *hujson.Value) {
	list := m.texts("args", v)
	if had, ok := m.out["args"].Value.(*hujson.Array); ok && len(list) > 0 {
		list = append(had.Elements[:len(had.Elements):len(had.Elements)], list...)
	}
	if len(list) > 0 {
		m.out["args"] = hujson.Value{StartOffset: v.StartOffset, Value: &hujson.Array{Elements: list}}
	}
}

// asToolsOrAll is a list of tools in which "*" is every one.
func asToolsOrAll(m *row, key string, v *hujson.Value) {
	if list, ok := v.Value.(*hujson.Array); ok {
		for _, e := range list.Elements {
			if tree.Text(e) == "*" {
				return
			}
		}
	}
	asAllow(m, key, v)
}

// claudeProject is where ~/.claude.json has the servers of the project's own.
func claudeProject(r *reading) [][]string { return [][]string{{"projects", r.place.Dir, "mcpServers"}} }

// otherProjects remarks on the servers of ~/.claude.json that are not this
// project's, and finds those that the project switches off.
func otherProjects(r *reading) {
	projects, ok := r.member("projects").(*hujson.Object)
	if !ok {
		return
	}
	for i := range projects.Members {
		m := &projects.Members[i]
		o, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		servers := get(o, "mcpServers")
		if tree.Text(m.Name) == r.place.Dir {
			r.switchOff(get(o, "disabledMcpServers"), "this project's disabledMcpServers")
			if off, ok := valueOrNil(get(o, "disabledMcpjsonServers")).(*hujson.Array); ok && len(off.Elements) > 0 {
				r.remark(get(o, "disabledMcpjsonServers").StartOffset, "this project's disabledMcpjsonServers are servers of .mcp.json, and are not switched off here", "indus mcp disable does it")
			}
			continue
		}
		if servers == nil {
			continue
		}
		if list, ok := servers.Value.(*hujson.Object); ok && len(list.Members) > 0 {
			reason := fmt.Sprintf("the servers of the project %s are not taken over (%d)", tree.Quote(tree.Text(m.Name)), len(list.Members))
			r.remark(m.Name.StartOffset, reason, "import them from that directory")
		}
	}
}

// member is what a name of the root holds.
func (r *reading) member(name string) hujson.ValueTrimmed {
	return valueOrNil(get(r.root, name))
}

func valueOrNil(v *hujson.Value) hujson.ValueTrimmed {
	if v == nil {
		return nil
	}
	return v.Value
}

// switchOff takes a list of ids that are disabled.
func (r *reading) switchOff(v *hujson.Value, where string) {
	if v == nil {
		return
	}
	if list, ok := v.Value.(*hujson.Array); ok {
		for _, e := range list.Elements {
			r.off[tree.Text(e)] = where
		}
	}
}

// geminiLists are mcp.allowed and mcp.excluded.
func geminiLists(r *reading) {
	r.toolsOff("excludeTools", "tools.exclude")
	servers, ok := r.member("mcpServers").(*hujson.Object)
	if !ok {
		return
	}
	excluded, _ := r.patterns("mcp.excluded")
	allowed, limited := r.patterns("mcp.allowed")
	for i := range servers.Members {
		switch id := tree.Text(servers.Members[i].Name); {
		case excluded(id):
			r.off[id] = "mcp.excluded"
		case limited && !allowed(id):
			r.off[id] = "mcp.allowed"
		}
	}
}

// patterns is a list of names, which in Qwen Code may have "*" and "?"; there is false
// where there is none.
func (r *reading) patterns(name string) (match func(id string) bool, there bool) {
	exact, globs := map[string]bool{}, []string{}
	if v := at(&r.doc.Root, strings.Split(name, ".")); v != nil {
		list, ok := v.Value.(*hujson.Array)
		if !ok {
			r.remark(v.StartOffset, tree.Quote(name)+" is "+tree.KindOf(v.Value)+" where a list is expected, and is left out", "")
		} else {
			there = true
			for _, e := range list.Elements {
				exact[tree.Text(e)] = true
				if strings.ContainsAny(tree.Text(e), "*?") && len(globs) < maxRemarks {
					globs = append(globs, strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(tree.Text(e)))
				}
			}
		}
	}
	return func(id string) bool {
		return exact[id] || slices.ContainsFunc(globs, func(glob string) bool {
			ok, _ := path.Match(glob, id)
			return ok
		})
	}, there
}

// toolsOff remarks on lists of tools that stand outside of the servers.
func (r *reading) toolsOff(paths ...string) {
	for _, path := range paths {
		if v := at(&r.doc.Root, strings.Split(path, ".")); v != nil && v.Value.Kind() == '[' {
			r.remark(v.StartOffset, tree.Quote(path)+" is not taken over, and may be about tools of these servers", `put them into "tools": {"deny": […]} of their server`)
		}
	}
}

// opencodeTools remarks on tools that are switched off outside of their server.
func opencodeTools(r *reading) {
	tools, ok := r.member("tools").(*hujson.Object)
	servers, there := r.member("mcp").(*hujson.Object)
	if !ok || !there {
		return
	}
	for i := range tools.Members {
		name, value := tree.Text(tools.Members[i].Name), tools.Members[i].Value
		about := strings.HasPrefix(name, "*") || slices.ContainsFunc(servers.Members[:min(len(servers.Members), maxRows)], func(m hujson.ObjectMember) bool {
			return strings.HasPrefix(name, tree.Text(m.Name))
		})
		if about && value.Value.Kind() == 'f' && len(r.file.Remarks) < maxRemarks {
			r.remark(tools.Members[i].Name.StartOffset, tree.Quote("tools."+name)+" switches tools off and is not taken over", `put them into "tools": {"deny": […]} of their server`)
		}
	}
}

// filled leaves out headers without a value, as Crush does.
func filled(m *row) {
	m.headers = slices.DeleteFunc(m.headers, func(h hujson.ObjectMember) bool {
		if tree.Text(h.Value) != "" {
			return false
		}
		m.remark(h.Name.StartOffset, "the header "+tree.Quote(tree.Text(h.Name))+" is empty and is left out, as by "+m.title, "")
		return true
	})
}

// socketless gives up a url that is no http: Visual Studio Code takes sockets and pipes too.
func socketless(m *row) {
	v, ok := m.out["url"]
	if scheme, _, _ := strings.Cut(tree.Text(v), "://"); ok && (scheme == "unix" || scheme == "pipe") {
		m.fail(v.StartOffset, "is reached over a socket or a pipe, which indus does not do", "")
	}
}

// zedCommand is a command, or, as Zed had it before, an object with all of it.
func zedCommand(m *row, key string, v *hujson.Value) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		asText("command")(m, key, v)
		return
	}
	for i := range o.Members {
		name, value := tree.Text(o.Members[i].Name), &o.Members[i].Value
		switch {
		case value.Value.Kind() == 'n':
		case name == "path":
			asText("command")(m, "path", value)
		case name == "args":
			asArgs(m, name, value)
		case name == "env":
			asEnv(m, name, value)
		case name == "timeout":
			zedTimeout(m, name, value)
		default:
			m.remark(o.Members[i].Name.StartOffset, "unknown key "+tree.Quote("command."+name), "")
		}
	}
}

func zedSource(m *row, _ string, v *hujson.Value) {
	if m.fields["command"] == nil && m.fields["url"] == nil && tree.Text(*v) != "custom" {
		m.fail(v.StartOffset, "is started by an extension of Zed", "look up the extension's command and write it down")
	}
}

// zedSettings are for an extension, which has no command of its own.
func zedSettings(m *row, key string, v *hujson.Value) {
	notTaken("they are those of an extension of Zed")(m, key, v)
	if m.fields["command"] == nil && m.fields["url"] == nil && m.fields["source"] == nil {
		m.fail(m.at, "is started by an extension of Zed", "look up the extension's command and write it down")
	}
}

// mcporterDir begins at the directory of the file.
func mcporterDir(m *row, key string, v *hujson.Value) {
	if s, ok := m.text(key, v); ok && s != "" {
		if !strings.HasPrefix(s, "${") {
			s = m.place.absolute(s)
		}
		m.out["cwd"] = hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(s)}
	}
}

// zedTimeout was milliseconds and is seconds: nobody waits for hours, nor for less
// than a second.
func zedTimeout(m *row, key string, v *hujson.Value) {
	unit := float64(seconds)
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '0' && l.Float() >= 1000 {
		unit = millis
		m.remark(v.StartOffset, fmt.Sprintf("%q is read as milliseconds, because so many seconds make no sense", key), "")
	}
	asTimeout(unit, "call")(m, key, v)
}

// codexVariables are variables that Codex hands on to its child.
func codexVariables(m *row, key string, v *hujson.Value) {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where a list is expected", key, tree.KindOf(v.Value)), "")
		return
	}
	if len(list.Elements) > 0 && m.place.Moving {
		m.remark(v.StartOffset, fmt.Sprintf("%q hands on what is set; indus skips the server where one of them is not", key), "write ${NAME:-} in env where nothing will do")
	}
	for i := range list.Elements {
		e := &list.Elements[i]
		name := tree.Text(*e)
		if o, ok := e.Value.(*hujson.Object); ok && get(o, "name") != nil {
			name = tree.Text(*get(o, "name"))
			if source := get(o, "source"); source != nil && tree.Text(*source) == "remote" {
				m.remark(e.StartOffset, key+": "+tree.Quote(name)+" comes from the remote side of Codex; it is taken from here", "")
			}
		}
		m.handOn(e.StartOffset, key, name)
	}
}

// handOn gives the child a variable of the environment under its own name.
func (m *row) handOn(offset int, key, name string) {
	if !isName(name) {
		m.remark(offset, key+": "+tree.Quote(name)+" is no variable's name and is left out", "")
		return
	}
	m.later = append(m.later, func() { m.give(&m.env, name, "${"+name+"}", offset) })
}

func codexBearer(m *row, key string, v *hujson.Value) {
	name := tree.Text(*v)
	if !isName(name) {
		m.fail(v.StartOffset, fmt.Sprintf("%q is no variable's name", key), "")
		return
	}
	m.later = append(m.later, func() { m.give(&m.headers, "Authorization", "Bearer ${"+name+"}", v.StartOffset) })
}

// codexHeaders are headers whose values are names of variables.
func codexHeaders(m *row, key string, v *hujson.Value) {
	for _, pair := range m.pairsOf(key, v) {
		header, name := tree.Text(pair.Name), tree.Text(pair.Value)
		if !isName(name) {
			m.remark(pair.Value.StartOffset, key+" "+tree.Quote(header)+" is no variable's name and is left out", "")
			continue
		}
		m.later = append(m.later, func() { m.give(&m.headers, header, "${"+name+"}", pair.Value.StartOffset) })
	}
}

// gooseKeys are the names of secrets that Goose keeps.
func gooseKeys(m *row, key string, v *hujson.Value) {
	for _, e := range m.names(key, v) {
		name := tree.Text(e)
		if isName(name) {
			m.remark(e.StartOffset, "Goose keeps the value of "+name+" itself", "set the variable "+name)
		}
		m.handOn(e.StartOffset, key, name)
	}
}

// continueOptions has the headers, beside much that is for Continue's own requests.
func continueOptions(m *row, key string, v *hujson.Value) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q is %s where an object is expected", key, tree.KindOf(v.Value)), "")
		return
	}
	for i := range o.Members {
		name, value := tree.Text(o.Members[i].Name), &o.Members[i].Value
		switch {
		case value.Value.Kind() == 'n':
		case name == "headers":
			asHeaders(m, "headers", value)
		default:
			m.remark(o.Members[i].Name.StartOffset, tree.Quote(key+"."+name)+" is not taken over: indus has no such option", "")
		}
	}
}

// continueTransport is the older form, an object with all of the row.
func continueTransport(m *row, key string, v *hujson.Value) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		asKind(m, key, v)
		return
	}
	rules := m.rules()
	for i := range o.Members {
		name, value := tree.Text(o.Members[i].Name), &o.Members[i].Value
		if apply := rules[name]; apply != nil && name != key && value.Value.Kind() != 'n' {
			apply(m, name, value)
		} else if apply == nil {
			m.remark(o.Members[i].Name.StartOffset, "unknown key "+tree.Quote(key+"."+name), "")
		}
	}
}

// mcporterCommand is a list, or a line that mcporter cuts where there are no "args".
func mcporterCommand(m *row, key string, v *hujson.Value) {
	line := tree.Text(*v)
	args := m.fields["args"]
	if v.Value.Kind() != '"' || line == "" || args != nil && !emptyList(args) {
		asEither(m, key, v)
		return
	}
	words, ok := words(line)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q has a quote that is not closed", key), "")
		return
	}
	list := &hujson.Array{}
	for _, w := range words {
		list.Elements = append(list.Elements, hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(w)})
	}
	asCommandLine(m, key, &hujson.Value{StartOffset: v.StartOffset, Value: list})
}

func emptyList(v *hujson.Value) bool {
	list, ok := v.Value.(*hujson.Array)
	return ok && len(list.Elements) == 0
}

// words cuts a line at spaces, with quotes and backslashes, as mcporter does.
func words(line string) (out []string, ok bool) {
	line = strings.TrimSpace(line)
	var word strings.Builder
	quote, escape := rune(0), false
	for _, c := range line {
		switch {
		case escape:
			word.WriteRune(c)
			escape = false
		case c == '\\':
			escape = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == ' ':
			if word.Len() > 0 {
				out = append(out, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(c)
		}
	}
	if escape {
		word.WriteByte('\\')
	}
	if word.Len() > 0 {
		out = append(out, word.String())
	}
	return out, quote == 0
}

// bearer is a token, or the name of the variable that mcporter sends as the whole header.
func bearer(name bool) rule {
	return func(m *row, key string, v *hujson.Value) {
		s, ok := m.text(key, v)
		value := "Bearer " + s
		if name {
			value = "${" + tree.Text(*v) + "}"
		}
		if !ok || name && !isName(tree.Text(*v)) {
			m.fail(v.StartOffset, fmt.Sprintf("%q is no variable's name", key), "")
			return
		}
		m.later = append(m.later, func() {
			m.headers = append(otherThan(m.headers, "Authorization"), member("Authorization", hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(value)}))
		})
	}
}

func otherThan(list []hujson.ObjectMember, name string) []hujson.ObjectMember {
	var out []hujson.ObjectMember
	for _, m := range list {
		if tree.Text(m.Name) != name {
			out = append(out, m)
		}
	}
	return out
}

// mcporterImports remarks on the servers that mcporter takes from other clients.
func mcporterImports(r *reading) {
	list, ok := r.member("imports").(*hujson.Array)
	if !ok {
		return
	}
	for _, e := range list.Elements {
		r.remark(e.StartOffset, "what mcporter takes from "+tree.Quote(tree.Text(e))+" is not in this file", "import from that client itself")
	}
}

// headerLines are headers as "Name: value", or an object of them.
func headerLines(m *row, key string, v *hujson.Value) {
	if _, list := v.Value.(*hujson.Array); !list {
		asHeaders(m, key, v)
		return
	}
	for _, e := range m.texts(key, v) {
		name, value, ok := strings.Cut(tree.Text(e), ":")
		if !ok {
			m.remark(e.StartOffset, `a header without ":" is left out`, "")
			continue
		}
		m.headers = append(m.headers, member(strings.TrimSpace(name), hujson.Value{StartOffset: e.StartOffset, Value: hujson.String(strings.TrimSpace(value))}))
	}
}
