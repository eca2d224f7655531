package foreign

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxRows    = 1000 // of one file, as of indus's own
	maxRemarks = 100  // on one row, and on a file
)

// reading is a file in the course of being mapped.
type reading struct {
	*dialect
	doc    *tree.Doc
	root   *hujson.Object
	place  *Place
	inputs map[string]*question
	off    map[string]string // ids that are switched off elsewhere in the file, and where
	file   File
	owner  map[string]int // index of each id's row
	lost   *Remark        // servers that stand where the client does not look
	strict bool           // it was said that variables must be set
	first  bool           // the rows go before those of other files
}

// Read maps a file. The client is one of [All]. The fault is that of a file which
// has no servers where this client keeps them; its Hint says where there are some.
func Read(doc *tree.Doc, client string, p *Place) (*File, *tree.Fault) {
	d := find(client)
	root, ok := doc.Root.Value.(*hujson.Object)
	if d == nil || !ok {
		return nil, &tree.Fault{At: doc.Root.StartOffset, Reason: "holds " + tree.KindOf(doc.Root.Value) + " where an object is expected"}
	}
	r := &reading{dialect: d, doc: doc, root: root, place: p, off: map[string]string{}, owner: map[string]int{}, file: File{Client: client}}
	if d.before != nil {
		d.before(r)
	}
	read := r.everySection
	if client == Native {
		read = r.everywhere
	}
	found := read()
	none := fmt.Sprintf("has no %s, where %s keeps its servers", whereNamed(d.where), d.title)
	switch {
	case !found && r.lost != nil:
		return nil, &tree.Fault{At: r.lost.At, Reason: none, Hint: r.lost.Hint}
	case !found && len(r.file.Remarks) == 0:
		return nil, &tree.Fault{At: doc.Root.StartOffset, Reason: none}
	}
	return &r.file, nil
}

func whereNamed(where [][]string) string {
	var names []string
	for _, path := range where {
		names = append(names, tree.Quote(strings.Join(path, ".")))
	}
	return strings.Join(names, " or ")
}

// everySection reads the rows of each place where the client keeps some.
func (r *reading) everySection() (found bool) {
	r.twice()
	r.elsewhere()
	if r.dialect.sections != nil {
		r.first = true
		for _, path := range r.dialect.sections(r) {
			found = r.section(path) || found
		}
		r.first = false
	}
	for _, path := range r.where {
		found = r.section(path) || found
	}
	return found
}

// everywhere reads every member of indus's own file that holds servers: of two with
// one name neither is lost.
func (r *reading) everywhere() (found bool) {
	for i := range r.root.Members {
		if name := tree.Text(r.root.Members[i].Name); name == "servers" || name == "mcpServers" {
			found = r.rows(name, &r.root.Members[i].Value, 0) || found
		}
	}
	return found
}

// twice remarks on servers that stand in one of two members of the same name: the
// last counts, as for every reader of JSON.
func (r *reading) twice() {
	counts := lasts(r.root)
	for i := range r.root.Members {
		name := tree.Text(r.root.Members[i].Name)
		holds := slices.ContainsFunc(r.where, func(path []string) bool { return len(path) > 0 && path[0] == name })
		if holds && counts[name] != i {
			r.remark(r.root.Members[i].Name.StartOffset, tree.Quote(name)+" comes again in this file, and the last counts: the servers here are left out", "put them together")
		}
	}
}

// elsewhere remarks on servers that stand where other clients keep theirs.
func (r *reading) elsewhere() {
	for _, path := range [][]string{{"mcpServers"}, {"servers"}, {"mcp_servers"}, {"context_servers"}, {"mcp"}, {"mcp", "servers"}, {"extensions"}} {
		mine := slices.ContainsFunc(r.where, func(of []string) bool { return len(of) == 0 || slices.Equal(of, path) })
		v := at(&r.doc.Root, path)
		if mine || v == nil {
			continue
		}
		if o, ok := v.Value.(*hujson.Object); ok && has(o, "command", "cmd", "url", "serverUrl", "httpUrl", "uri") {
			name := tree.Quote(strings.Join(path, "."))
			r.lost = &Remark{At: v.StartOffset, Hint: "those in " + name + " belong there"}
			r.remark(v.StartOffset, name+" is not where "+r.title+" keeps its servers, and those in it are left out", "move them to "+whereNamed(r.where))
		}
	}
}

// section reads the rows at a path, and reports whether there is one.
func (r *reading) section(path []string) bool {
	v := at(&r.doc.Root, path)
	if v == nil || v.Value.Kind() == 'n' {
		return false
	}
	return r.rows(strings.Join(path, "."), v, len(r.file.Rows))
}

// rows reads those of one section, which begins at base.
func (r *reading) rows(name string, v *hujson.Value, base int) bool {
	switch list := v.Value.(type) {
	case *hujson.Object:
		for i := range list.Members {
			if m := &list.Members[i]; !r.full(m.Name.StartOffset) {
				r.row(base, tree.Text(m.Name), m.Name.StartOffset, &m.Value)
			}
		}
	case *hujson.Array:
		for i := range list.Elements {
			if e := &list.Elements[i]; !r.full(e.StartOffset) {
				r.row(base, "", e.StartOffset, e)
			}
		}
	default:
		r.remark(v.StartOffset, fmt.Sprintf("%s is %s where servers are expected", tree.Quote(name), tree.KindOf(v.Value)), "")
	}
	return true
}

func (r *reading) full(offset int) bool {
	if len(r.file.Rows) < maxRows {
		return false
	}
	reason := fmt.Sprintf("more than %d rows; from here on they are not read", maxRows)
	if !slices.ContainsFunc(r.file.Remarks, func(m Remark) bool { return m.Reason == reason }) {
		r.file.Remarks = append(r.file.Remarks, Remark{offset, reason, ""})
	}
	return true
}

func (r *reading) remark(offset int, reason, hint string) {
	if len(r.file.Remarks) < maxRemarks {
		r.file.Remarks = append(r.file.Remarks, Remark{offset, reason, hint})
	}
}

// at is the value at a path, or nil.
func at(v *hujson.Value, path []string) *hujson.Value {
	for _, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		if v = get(o, name); v == nil {
			return nil
		}
	}
	return v
}

// get is a member's value, of several the last.
func get(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if tree.Text(o.Members[i].Name) == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// lasts is the place of the member of each name that counts.
func lasts(o *hujson.Object) map[string]int {
	out := map[string]int{}
	for i := range o.Members {
		out[tree.Text(o.Members[i].Name)] = i
	}
	return out
}

// row maps one. Of two rows of one section with one id the last counts, of two
// sections the first; base is where the section begins.
func (r *reading) row(base int, id string, offset int, v *hujson.Value) {
	m := &row{reading: r, id: id, at: offset, out: map[string]hujson.Value{}, steps: map[string]hujson.Value{}}
	m.read(v)
	out := m.finish()
	i, taken := r.owner[out.ID]
	switch {
	case out.ID == "" || !taken:
	case i < base:
		line, _ := r.doc.Position(r.file.Rows[i].At)
		r.remark(offset, fmt.Sprintf("%s is left out: line %d has it too, and takes precedence", tree.Quote(out.ID), line), "")
		return
	default:
		line, _ := r.doc.Position(offset)
		r.remark(r.file.Rows[i].At, fmt.Sprintf("%s is left out: defined again in line %d", tree.Quote(out.ID), line), "remove or rename one of the two")
		r.file.Rows[i] = out
		return
	}
	r.owner[out.ID] = len(r.file.Rows)
	r.file.Rows = append(r.file.Rows, out)
}

// row is a server in the course of being mapped.
type row struct {
	*reading
	id      string
	at      int
	fields  map[string]*hujson.Value
	out     map[string]hujson.Value // by native key
	env     []hujson.ObjectMember
	headers []hujson.ObjectMember
	given   map[*[]hujson.ObjectMember]map[string]bool // names in env and headers, for give
	allow   []hujson.ArrayElement
	deny    []hujson.ArrayElement
	steps   map[string]hujson.Value // of "timeout"; "" is all of them
	kind    string                  // stdio, http, sse; "" where the row does not say
	disable bool
	later   []func() // what waits until all keys are read
	bad     *Remark
	remarks []Remark
	told    map[string]bool
}

func (m *row) read(v *hujson.Value) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		m.fail(v.StartOffset, "the row is "+tree.KindOf(v.Value)+" where an object is expected", "")
		return
	}
	m.collect(o)
	m.identify()
	rules := m.rules()
	for i := range o.Members {
		name, value := tree.Text(o.Members[i].Name), &o.Members[i].Value
		if m.fields[name] != value {
			m.remark(o.Members[i].Name.StartOffset, tree.Quote(name)+" comes again in this row; the last counts", "")
			continue
		}
		switch apply, known := rules[name]; {
		case known && value.Value.Kind() != 'n':
			apply(m, name, value)
		case !known && (name == "" || !strings.Contains("$_/#", name[:1])):
			m.remark(o.Members[i].Name.StartOffset, "unknown key "+tree.Quote(name), m.stranger(name))
		}
	}
	for _, f := range m.later {
		f()
	}
	if m.after != nil {
		m.dialect.after(m)
	}
}

func (m *row) collect(o *hujson.Object) {
	m.fields = map[string]*hujson.Value{}
	for i := range o.Members {
		m.fields[tree.Text(o.Members[i].Name)] = &o.Members[i].Value
	}
}

// identify finds the id of a row in a list.
func (m *row) identify() {
	if m.id != "" {
		return
	}
	for _, field := range []string{"id", "name"} {
		if v := m.fields[field]; v != nil && tree.Text(*v) != "" {
			m.id = tree.Text(*v)
			return
		}
	}
}

// stranger is a hint for a key that this client does not have.
func (m *row) stranger(name string) string {
	if len(m.remarks) >= maxRemarks {
		return ""
	}
	for _, d := range dialects() {
		for _, k := range []string{d.command, d.args, d.env, d.url, d.sseURL, d.headers} {
			if k == name {
				return "it is a key of " + d.title + "; if the file is of that client, name it"
			}
		}
	}
	return ""
}

// remark is advice: the row is mapped all the same.
func (m *row) remark(offset int, reason, hint string) {
	key := fmt.Sprint(offset, reason)
	if m.told == nil {
		m.told = map[string]bool{}
	}
	if m.told[key] || len(m.remarks) > maxRemarks {
		return
	}
	m.told[key] = true
	if len(m.remarks) == maxRemarks {
		reason, hint = fmt.Sprintf("more than %d notes; from here on they are left out", maxRemarks), ""
	}
	m.remarks = append(m.remarks, Remark{offset, reason, hint})
}

// fail gives the row up.
func (m *row) fail(offset int, reason, hint string) {
	if m.bad == nil {
		m.bad = &Remark{offset, reason, hint}
		return
	}
	m.remark(offset, reason, hint)
}

// finish puts the row together, in one order for all clients.
func (m *row) finish() Row {
	if m.bad == nil {
		m.transport()
	}
	if strings.TrimSpace(m.id) == "" && m.bad == nil {
		m.fail(m.at, "the row has no name", `add "name": "…"`)
	}
	if where, off := m.off[m.id]; off {
		m.disable = true
		m.remark(m.at, "is disabled, because "+where+" says so", "")
	}
	if m.disable {
		m.out["enabled"] = hujson.Value{StartOffset: m.at, Value: hujson.Bool(false)}
	}
	m.pairs("env", m.env)
	m.pairs("headers", m.headers)
	m.timeouts()
	m.tools()
	o := &hujson.Object{}
	for _, name := range order() {
		if v, ok := m.out[name]; ok {
			o.Members = append(o.Members, member(name, v))
		}
	}
	if m.first && m.place.Moving {
		m.remark(m.at, "is this project's alone in "+m.title, "")
	}
	slices.SortStableFunc(m.remarks, func(a, b Remark) int { return a.At - b.At })
	return Row{ID: m.id, At: m.at, First: m.first, Value: hujson.Value{StartOffset: m.at, Value: o}, Bad: m.bad, Remarks: m.remarks}
}

// order is that of a native row's keys.
func order() []string {
	return []string{"command", "args", "env", "envFile", "cwd", "inheritEnv", "url", "headers", "type", "era", "timeout", "tools", "changes", "profile", "enabled"}
}

func member(name string, v hujson.Value) hujson.ObjectMember {
	return hujson.ObjectMember{Name: hujson.Value{StartOffset: v.StartOffset, Value: hujson.String(name)}, Value: v}
}

func (m *row) pairs(name string, list []hujson.ObjectMember) {
	if len(list) > 0 {
		m.out[name] = hujson.Value{StartOffset: list[0].Name.StartOffset, Value: &hujson.Object{Members: list}}
	}
}

func (m *row) timeouts() {
	v, ok := m.steps[""]
	if call := m.steps["call"]; !ok && call.Value != nil && sameText(&call, textAt(m.steps, "connect")) && sameText(&call, textAt(m.steps, "list")) {
		v, ok = call, true
	}
	if ok {
		m.out["timeout"] = v
		return
	}
	o := &hujson.Object{}
	first := m.at
	for _, step := range steps() {
		if v, ok := m.steps[step]; ok {
			o.Members = append(o.Members, member(step, v))
			first = v.StartOffset
		}
	}
	if len(o.Members) > 0 {
		m.out["timeout"] = hujson.Value{StartOffset: first, Value: o}
	}
}

// textAt is a step's duration; "" where it has none.
func textAt(steps map[string]hujson.Value, step string) string {
	if v := steps[step]; v.Value != nil {
		return tree.Text(v)
	}
	return ""
}

func steps() []string { return []string{"connect", "list", "call", "total"} }

func (m *row) tools() {
	o := &hujson.Object{}
	if m.allow != nil {
		o.Members = append(o.Members, member("allow", hujson.Value{StartOffset: m.at, Value: &hujson.Array{Elements: m.allow}}))
	}
	if len(m.deny) > 0 {
		o.Members = append(o.Members, member("deny", hujson.Value{StartOffset: m.at, Value: &hujson.Array{Elements: m.deny}}))
	}
	if len(o.Members) > 0 {
		m.out["tools"] = hujson.Value{StartOffset: m.at, Value: o}
	}
}

// transport settles what the row is: a command or a url.
func (m *row) transport() {
	command, hasCommand := m.out["command"]
	url, hasURL := m.out["url"]
	switch {
	case hasCommand && hasURL && (m.kind == "stdio" || m.kind == "" && m.name == "claude-code"):
		m.drop(url.StartOffset, "the row has both a command and a url; it is a command", "url", "headers")
	case hasCommand && hasURL:
		m.drop(command.StartOffset, "the row has both a command and a url; it is a url", "command", "args", "env", "envFile", "cwd")
		hasCommand = false
	case hasURL && m.kind == "stdio":
		m.fail(m.at, "by its type it is a command, and it has a url", "")
	case hasCommand && m.kind != "" && m.kind != "stdio":
		m.fail(m.at, "by its type it is a url, and it has a command", "")
	case !hasURL && !hasCommand:
		m.fail(m.at, "the row has neither a command nor a url", "")
	}
	switch {
	case m.bad != nil:
	case hasCommand:
		m.drop(m.at, "a command takes no headers", "headers")
		m.relative()
	default:
		m.drop(m.at, "a server with a url is not started, so args, env and cwd are left out", "args", "env", "envFile", "cwd")
	}
	if m.kind == "sse" {
		m.out["type"] = hujson.Value{StartOffset: m.at, Value: hujson.String("sse")}
	}
}

// relative remarks on paths that begin where the client starts the server, which may
// be elsewhere than where indus does.
func (m *row) relative() {
	if m.name == Native || !m.place.Moving {
		return
	}
	begins := func(v hujson.Value) bool {
		s := tree.Text(v)
		return strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, `.\`) || strings.HasPrefix(s, `..\`)
	}
	tell := func(what string, v hujson.Value) {
		m.remark(v.StartOffset, what+" begins where "+m.title+" starts the server, which need not be where indus does", "write the whole path")
	}
	for _, key := range []string{"envFile", "cwd"} {
		if v, ok := m.out[key]; ok && !anywhere(tree.Text(v)) && !strings.HasPrefix(tree.Text(v), "${") {
			tell(key, v)
		}
	}
	if _, ok := m.out["cwd"]; ok {
		return
	}
	if begins(m.out["command"]) {
		tell("the command", m.out["command"])
	}
	if list, ok := m.out["args"].Value.(*hujson.Array); ok {
		if i := slices.IndexFunc(list.Elements, begins); i >= 0 {
			tell(fmt.Sprintf("args[%d]", i), list.Elements[i])
		}
	}
}

// drop removes what has no use, and says so if anything was there.
func (m *row) drop(offset int, why string, names ...string) {
	there := false
	for _, name := range names {
		_, had := m.out[name]
		there = there || had
		delete(m.out, name)
		if name == "env" {
			there, m.env = there || len(m.env) > 0, nil
		}
		if name == "headers" {
			there, m.headers = there || len(m.headers) > 0, nil
		}
	}
	if there {
		m.remark(offset, why, "")
	}
}

// absolute is a path of the file's as it is from anywhere, with "~/" for the home.
func (p *Place) absolute(path string) string {
	if path == "" || strings.HasPrefix(path, "~/") {
		return path
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(p.Path), path)
	}
	if rest, ok := strings.CutPrefix(path, p.Home+string(filepath.Separator)); ok && p.Home != "" {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}
