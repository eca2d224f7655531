package foreign

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// This file has the parts that only one client has, or has in its own form: rules of keys, and settings outside of the
// servers.

// claudeProject returns the path of the project's own servers in ~/.claude.json.
func claudeProject(r *reading) [][]string { return [][]string{{"projects", r.place.Dir, "mcpServers"}} }

// remarkOtherProjects adds notes about servers of other projects in ~/.claude.json. It finds the servers that the
// project switches off.
func remarkOtherProjects(r *reading) {
	for name, m := range tree.Members(tree.At(r.root, "projects")) {
		if name == r.place.Dir {
			for _, e := range tree.Elements(tree.At(&m.Value, "disabledMcpServers")) {
				r.disabledIDs[tree.Text(*e)] = "this project's disabledMcpServers"
			}
			if off := tree.At(&m.Value, "disabledMcpjsonServers"); count(off) > 0 {
				r.remark(off.StartOffset, "this project's disabledMcpjsonServers are servers of .mcp.json, "+
					"and are not switched off here", "indus mcp disable does it")
			}
		} else if n := count(tree.At(&m.Value, "mcpServers")); n > 0 {
			reason := fmt.Sprintf("the servers of the project %s are not taken over (%d)", tree.Quote(name), n)
			r.remark(m.Name.StartOffset, reason, "import them from that directory")
		}
	}
}

// count returns the number of members or elements of a value.
func count(v *hujson.Value) (n int) {
	for range tree.Items(v) {
		n++
	}
	return n
}

// geminiLists reads mcp.allowed and mcp.excluded, and adds notes about lists of tools outside of the servers.
func geminiLists(r *reading) {
	for _, name := range []string{"excludeTools", "tools.exclude"} {
		if v := tree.At(r.root, strings.Split(name, ".")...); tree.Has(v, '[') {
			r.remark(v.StartOffset, tree.Quote(name)+" is not taken over, and may be about tools of these servers", denyHint)
		}
	}
	excluded, _ := r.patterns("mcp.excluded")
	allowed, limited := r.patterns("mcp.allowed")
	for id := range tree.Members(tree.At(r.root, "mcpServers")) {
		switch {
		case excluded(id):
			r.disabledIDs[id] = "mcp.excluded"
		case limited && !allowed(id):
			r.disabledIDs[id] = "mcp.allowed"
		}
	}
}

const denyHint = `write them into "tools": {"deny": […]} of their server`

// patterns reads a list of names. In Qwen Code they may have "*" and "?". It returns false if there is no list.
func (r *reading) patterns(name string) (match func(id string) bool, present bool) {
	exact, globs := map[string]bool{}, []string{}
	if v := tree.At(r.root, strings.Split(name, ".")...); v != nil {
		present = tree.Has(v, '[')
		if !present {
			r.remark(v.StartOffset,
				tree.Quote(name)+" is "+tree.KindOf(v.Value)+" where a list is expected, and is left out", "")
		}
		for _, e := range tree.Elements(v) {
			exact[tree.Text(*e)] = true
			if strings.ContainsAny(tree.Text(*e), "*?") && len(globs) < maxRemarks {
				globs = append(globs, strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(tree.Text(*e)))
			}
		}
	}
	return func(id string) bool {
		return exact[id] || slices.ContainsFunc(globs, func(glob string) bool {
			ok, _ := path.Match(glob, id)
			return ok
		})
	}, present
}

// mcporterImports adds notes about the servers that mcporter takes from other clients.
func mcporterImports(r *reading) {
	for _, e := range tree.Elements(tree.At(r.root, "imports")) {
		r.remark(e.StartOffset, "what mcporter takes from "+tree.Quote(tree.Text(*e))+" is not in this file",
			"import from that client itself")
	}
}

// refuseSockets marks a row with a socket or a pipe as its url as unusable. Visual Studio Code accepts these.
func refuseSockets(m *serverRow) {
	v, ok := m.out["url"]
	if scheme, _, _ := strings.Cut(tree.Text(v), "://"); ok && (scheme == "unix" || scheme == "pipe") {
		m.fail(v.StartOffset, "is reached over a socket or a pipe, which indus does not do", "")
	}
}

// applyRules reads the members of a value that are not null, each by its rule.
func (m *serverRow) applyRules(v *hujson.Value, rules map[string]rule, unknown func(name string) string) {
	for name, member := range tree.Members(v) {
		if apply := rules[name]; apply == nil && !tree.Has(&member.Value, 'n') {
			m.remark(member.Name.StartOffset, unknown(name), "")
		} else if apply != nil && !tree.Has(&member.Value, 'n') {
			apply(m, name, &member.Value)
		}
	}
}

// vscodeSandbox makes the sandbox of Visual Studio Code one of indus. There it limits writes and hosts alone; here it
// limits what can be read too.
func vscodeSandbox(m *serverRow, key string, v *hujson.Value) {
	if !tree.Has(v, 't') {
		return
	}
	if m.fields["command"] == nil {
		notImported("it is for a command alone")(m, key, v)
		return
	}
	var box []hujson.ObjectMember
	add := func(name string, list []hujson.Value) {
		if len(list) > 0 {
			box = append(box, tree.Member(name, tree.List(v.StartOffset, list)))
		}
	}
	rules := m.fields["sandbox"]
	if rules == nil || !tree.Has(rules, '{') {
		m.out["sandbox"] = tree.String(v.StartOffset, "strict")
		return
	}
	section := func(of string, read map[string]rule) {
		if at := tree.At(rules, of); at != nil && m.expect('{', "an object", "sandbox."+of, at) {
			m.applyRules(at, read, func(name string) string {
				return tree.Quote("sandbox."+of+"."+name) + " is not taken over: a sandbox of indus allows only what it lists"
			})
		}
	}
	section("filesystem", map[string]rule{"allowWrite": func(m *serverRow, key string, v *hujson.Value) {
		add("write", m.texts("sandbox.filesystem."+key, v))
	}})
	section("network", map[string]rule{"allowedDomains": func(m *serverRow, key string, v *hujson.Value) {
		hosts := m.texts("sandbox.network."+key, v)
		for i, host := range hosts {
			hosts[i] = tree.String(host.StartOffset, tree.Text(host)+":443")
		}
		add("hosts", hosts)
	}, "deniedDomains": notImported("no host can be excepted from the listed ones: list only hosts that it may reach")})
	if len(box) == 0 {
		m.out["sandbox"] = tree.String(v.StartOffset, "strict")
		return
	}
	m.out["sandbox"] = tree.Object(rules.StartOffset, box)
}

// vscodeSandboxRules reads the rules of a sandbox that is switched off. The rules of the others are read with the
// switch.
func vscodeSandboxRules(m *serverRow, key string, v *hujson.Value) {
	if on := m.fields["sandboxEnabled"]; on == nil || !tree.Has(on, 't') {
		notImported(`the row has no "sandboxEnabled": true`)(m, key, v)
	}
}

// zedCommand reads a command, or an object with the whole command, which is Zed's older form.
func zedCommand(m *serverRow, key string, v *hujson.Value) {
	if v.Value.Kind() != '{' {
		asText("command")(m, key, v)
		return
	}
	rules := map[string]rule{"path": asText("command"), "args": asArgs, "env": asPairs("env"), "timeout": zedTimeout}
	m.applyRules(v, rules, func(name string) string { return "unknown key " + tree.Quote("command."+name) })
}

func zedSource(m *serverRow, _ string, v *hujson.Value) {
	if tree.Text(*v) != "custom" {
		m.extension(v.StartOffset)
	}
}

// zedSettings reads settings of an extension, which has no command of its own.
func zedSettings(m *serverRow, key string, v *hujson.Value) {
	notImported("they belong to an extension of Zed")(m, key, v)
	if m.fields["source"] == nil {
		m.extension(m.offset)
	}
}

func (m *serverRow) extension(offset int) {
	if m.fields["command"] == nil && m.fields["url"] == nil {
		m.fail(offset, "is started by an extension of Zed", "look up the extension's command and write it down")
	}
}

// zedTimeout reads seconds, or milliseconds as in older releases. Hours are no useful timeout, and neither is less than
// a second.
func zedTimeout(m *serverRow, key string, v *hujson.Value) {
	unit := float64(inSeconds)
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '0' && l.Float() >= 1000 {
		unit = inMillis
		m.remark(v.StartOffset, fmt.Sprintf("%q is read as milliseconds, because so many seconds make no sense", key), "")
	}
	asTimeout(unit, "call")(m, key, v)
}

// continueOptions reads the headers. The other options are for Continue's own requests.
func continueOptions(m *serverRow, key string, v *hujson.Value) {
	if m.expect('{', "an object", key, v) {
		m.applyRules(v, map[string]rule{"headers": asPairs("headers")}, func(name string) string {
			return tree.Quote(key+"."+name) + " is not taken over: indus has no such option"
		})
	}
}

// continueTransport reads the older form: an object with the whole row.
func continueTransport(m *serverRow, key string, v *hujson.Value) {
	if v.Value.Kind() != '{' {
		asKind(m, key, v)
		return
	}
	rules := m.rules()
	delete(rules, key)
	m.applyRules(v, rules, func(name string) string { return "unknown key " + tree.Quote(key+"."+name) })
}

// mcporterDir reads a path that is relative to the directory of the file.
func mcporterDir(m *serverRow, key string, v *hujson.Value) {
	if s, ok := m.text(key, v); ok && s != "" {
		if !strings.HasPrefix(s, "${") {
			s = m.place.absolute(s)
		}
		m.out["cwd"] = tree.String(v.StartOffset, s)
	}
}

// mcporterCommand reads a list, or a line. mcporter splits the line if there are no "args".
func mcporterCommand(m *serverRow, key string, v *hujson.Value) {
	line, args := tree.Text(*v), m.fields["args"]
	if line == "" || args != nil && !(tree.Has(args, '[') && count(args) == 0) {
		asEither(m, key, v)
		return
	}
	words, ok := lineWords(line)
	if !ok {
		m.fail(v.StartOffset, fmt.Sprintf("%q has a quote that is not closed", key), "")
		return
	}
	var list []hujson.Value
	for _, w := range words {
		list = append(list, tree.String(v.StartOffset, w))
	}
	cut := tree.List(v.StartOffset, list)
	asCommandLine(m, key, &cut)
}

// lineWords splits a line at spaces, with quotes and backslashes, as mcporter does.
func lineWords(line string) (out []string, ok bool) {
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

// asBearer returns a rule that reads a token. If named is set, it reads the name of a variable, which mcporter sends as
// the header's value.
func asBearer(named bool) rule {
	return func(m *serverRow, key string, v *hujson.Value) {
		s, ok := m.text(key, v)
		value := "Bearer " + s
		if named {
			value = "${" + tree.Text(*v) + "}"
		}
		if !ok || named && !isName(tree.Text(*v)) {
			m.fail(v.StartOffset, fmt.Sprintf("%q is no variable's name", key), "")
			return
		}
		m.deferred = append(m.deferred, func() {
			others := slices.DeleteFunc(m.pairs["headers"], func(h hujson.ObjectMember) bool {
				return tree.Text(h.Name) == "Authorization"
			})
			m.pairs["headers"] = append(others, tree.Member("Authorization", tree.String(v.StartOffset, value)))
		})
	}
}

// gooseFields returns the members that a row of Goose must have.
func gooseFields(e Entry) []field {
	out := []field{{"name", e.ID}, {"description", ""}, {"enabled", true}}
	if e.Command != "" && len(e.Args) == 0 {
		out = append(out, field{"args", []string{}})
	}
	return out
}

// zedFields marks a command as the user's own, which older releases require.
func zedFields(e Entry) []field {
	if e.Command != "" {
		return []field{{"source", "custom"}}
	}
	return nil
}

// isOpencode2 reports whether a file has its servers in "mcp.servers", as opencode 2 writes them. There must be no
// server of opencode 1 with that name. See https://opencode.ai/v2/docs/mcp-servers.
func isOpencode2(root *hujson.Value) bool {
	servers := tree.At(root, "mcp", "servers")
	return tree.Has(servers, '{') &&
		tree.At(servers, "command") == nil && tree.At(servers, "url") == nil &&
		!tree.Has(tree.At(servers, "type"), '"') &&
		!tree.Has(tree.At(servers, "enabled"), 't', 'f')
}

// opencodeForm chooses the place of the servers. A file of opencode 2 may have servers of version 1 beside them. If two
// have one name, the server of version 2 counts.
func opencodeForm(r *reading) {
	d := *r.dialect
	r.dialect = &d
	if isOpencode2(r.root) {
		r.otherMembers = []string{"servers", "timeout"}
		if v := tree.At(r.root, "mcp", "timeout"); v != nil {
			r.remark(v.StartOffset, `"mcp.timeout" is not taken over`, `give each server its "timeout"`)
		}
	} else {
		d.paths = [][]string{{"mcp"}}
	}
	r.opencodeTools()
}

// opencodeTools adds notes about tools that are switched off outside of their server.
func (r *reading) opencodeTools() {
	var ids []string
	for _, path := range r.paths {
		for id := range tree.Members(tree.At(r.root, path...)) {
			if len(ids) < maxRows && !slices.Contains(r.otherMembers, id) {
				ids = append(ids, id)
			}
		}
	}
	for name, m := range tree.Members(tree.At(r.root, "tools")) {
		if len(r.file.Notes) >= maxRemarks || ids == nil {
			return
		}
		about := strings.HasPrefix(name, "*") ||
			slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(name, id) })
		if about && tree.Has(&m.Value, 'f') {
			r.remark(m.Name.StartOffset, tree.Quote("tools."+name)+" switches tools off and is not taken over", denyHint)
		}
	}
}

// opencode2Steps maps the timeouts of opencode 2 to the steps of indus.
var opencode2Steps = []timeout{
	{"startup", inMillis, []string{"connect"}}, {"catalog", inMillis, []string{"list"}},
	{"execution", inMillis, []string{"call"}}, {"request", inMillis, []string{"list", "call"}},
}

// opencodeTimeout reads a number of milliseconds, or in opencode 2 an object with a number for each step.
func opencodeTimeout(m *serverRow, key string, v *hujson.Value) {
	if !tree.Has(v, '{') {
		asTimeout(inMillis, "connect", "list")(m, key, v)
		return
	}
	rules := map[string]rule{}
	for _, t := range opencode2Steps {
		rules[t.key] = func(m *serverRow, name string, v *hujson.Value) { asTimeout(t.unit, t.steps...)(m, key+"."+name, v) }
	}
	m.applyRules(v, rules, func(name string) string { return "unknown key " + tree.Quote(key+"."+name) })
}

// opencodeProtocol reads the era of the server.
func opencodeProtocol(m *serverRow, key string, v *hujson.Value) {
	switch word := tree.Text(*v); word {
	case "auto":
	case "legacy":
		m.out["era"] = tree.String(v.StartOffset, "legacy")
	case "2026-07-28":
		m.out["era"] = tree.String(v.StartOffset, "modern")
	default:
		m.remark(v.StartOffset, fmt.Sprintf("%q is not taken over: indus finds the protocol out", key), "")
	}
}

// opencodePlace returns the path of the servers of opencode 2 if the file has it. Otherwise it returns the path that
// both versions read.
func opencodePlace(into *hujson.Value) [][]string {
	if into != nil && isOpencode2(into) {
		return [][]string{{"mcp", "servers"}}
	}
	return [][]string{{"mcp"}}
}
