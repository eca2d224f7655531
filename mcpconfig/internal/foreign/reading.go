package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxRows    = 1000 // of one file, the same as in indus's own files
	maxRemarks = 100  // on one row, and on a file
)

// reading is a file that is being converted.
type reading struct {
	*dialect
	doc          *tree.Doc
	forms        []form
	root         *hujson.Value
	place        *Place
	inputs       map[string]*input
	disabledIDs  map[string]string // ids that are switched off elsewhere in the file, and the place
	file         File
	owner        map[string]int    // index of each id's row
	keysOf       map[string]string // titles of the clients that have a key
	otherMembers []string          // members of "mcp" that are not servers
	first        bool              // the rows go before the rows of other files

	elsewhere   *tree.Note // servers at a place where the client does not look
	warnedUnset bool       // the note that variables must be set is there
}

// Read converts a file of a client, which is one of [All]. It returns an error if the file has no servers at the place
// where this client keeps them. If it has servers elsewhere, the Hint names the place.
func Read(doc *tree.Doc, client string, p *Place) (*File, *tree.Note) {
	d := find(client)
	if d == nil || !tree.Has(&doc.Root, '{') {
		return nil, &tree.Note{At: doc.Root.StartOffset,
			Reason: "holds " + tree.KindOf(doc.Root.Value) + " where an object is expected"}
	}
	r := &reading{
		dialect: d, doc: doc, forms: formsOf(d.vars), root: &doc.Root, place: p,
		disabledIDs: map[string]string{}, owner: map[string]int{}, file: File{Client: client},
	}
	if d.before != nil {
		d.before(r)
	}
	found := false
	if client == Native {
		found = r.readNative()
	} else {
		found = r.readSections()
	}
	none := fmt.Sprintf("has no %s, where %s keeps its servers", quotePaths(r.paths), d.title)
	switch {
	case !found && r.elsewhere != nil:
		return nil, &tree.Note{At: r.elsewhere.At, Reason: none, Hint: r.elsewhere.Hint}
	case !found && len(r.file.Notes) == 0:
		return nil, &tree.Note{At: doc.Root.StartOffset, Reason: none}
	}
	return &r.file, nil
}

func quotePaths(paths [][]string) string {
	var names []string
	for _, path := range paths {
		names = append(names, tree.Quote(strings.Join(path, ".")))
	}
	return strings.Join(names, " or ")
}

// readSections reads the rows of each place where the client keeps servers.
func (r *reading) readSections() (found bool) {
	r.remarkTwice()
	r.remarkElsewhere()
	if r.dialect.sections != nil {
		r.first = true
		for _, path := range r.dialect.sections(r) {
			found = r.section(path) || found
		}
		r.first = false
	}
	for _, path := range r.paths {
		found = r.section(path) || found
	}
	return found
}

// readNative reads every member of indus's own file that holds servers. If two members have one name, both are read.
func (r *reading) readNative() (found bool) {
	for name, m := range tree.Members(r.root) {
		if name == "servers" || name == "mcpServers" {
			found = r.rows(name, &m.Value, 0) || found
		}
	}
	return found
}

// remarkTwice adds a note about servers in one of two members of the same name. The last one counts, as for every
// reader of JSON.
func (r *reading) remarkTwice() {
	counts := tree.Fields(r.root)
	for name, m := range tree.Members(r.root) {
		holds := slices.ContainsFunc(r.paths, func(path []string) bool { return len(path) > 0 && path[0] == name })
		if holds && counts[name] != &m.Value {
			r.remark(m.Name.StartOffset, tree.Quote(name)+
				" comes again in this file, and the last counts: the servers here are left out", "put them together")
		}
	}
}

// remarkElsewhere adds a note about servers at a place where other clients keep their servers.
func (r *reading) remarkElsewhere() {
	places := [][]string{
		{"mcpServers"}, {"servers"}, {"mcp_servers"}, {"context_servers"}, {"mcp"}, {"mcp", "servers"}, {"extensions"},
	}
	for _, path := range places {
		isOwn := slices.ContainsFunc(r.paths,
			func(keeps []string) bool { return len(keeps) == 0 || slices.Equal(keeps, path) })
		v := tree.At(r.root, path...)
		if !isOwn && rowsHave(v, "command", "cmd", "url", "serverUrl", "httpUrl", "uri") {
			name := tree.Quote(strings.Join(path, "."))
			r.elsewhere = &tree.Note{At: v.StartOffset, Hint: "those in " + name + " belong there"}
			r.remark(v.StartOffset, name+" is not where "+r.title+" keeps its servers, and those in it are left out",
				"move them to "+quotePaths(r.paths))
		}
	}
}

// section reads the rows at a path, and reports whether the path exists.
func (r *reading) section(path []string) bool {
	v := tree.At(r.root, path...)
	return v != nil && !tree.Has(v, 'n') && r.rows(strings.Join(path, "."), v, len(r.file.Rows))
}

// rows reads the rows of one section. base is the index of its first row in the file's rows.
func (r *reading) rows(name string, v *hujson.Value, base int) bool {
	if !tree.Has(v, '{', '[') {
		r.remark(v.StartOffset,
			fmt.Sprintf("%s is %s where servers are expected", tree.Quote(name), tree.KindOf(v.Value)), "")
	}
	for id, m := range tree.Members(v) {
		if name != "mcp" || !slices.Contains(r.otherMembers, id) {
			r.row(base, id, m.Name.StartOffset, &m.Value)
		}
	}
	for _, e := range tree.Elements(v) {
		r.row(base, "", e.StartOffset, e)
	}
	return true
}

func (r *reading) remark(offset int, reason, hint string) {
	if len(r.file.Notes) < maxRemarks {
		r.file.Notes = append(r.file.Notes, tree.Note{At: offset, Reason: reason, Hint: hint})
	}
}

// row converts one row. If two rows of one section have one id, the last counts. Of two sections the first counts. base
// is the index of the first row of the section.
func (r *reading) row(base int, id string, offset int, v *hujson.Value) {
	if len(r.file.Rows) == maxRows {
		many := fmt.Sprintf("more than %d rows; from here on they are not read", maxRows)
		if !slices.ContainsFunc(r.file.Notes, func(m tree.Note) bool { return m.Reason == many }) {
			r.file.Notes = append(r.file.Notes, tree.Note{At: offset, Reason: many})
		}
		return
	}
	m := &serverRow{
		reading: r, id: id, offset: offset, out: map[string]hujson.Value{}, steps: map[string]hujson.Value{},
		pairs: map[string][]hujson.ObjectMember{}, pairNames: map[string]map[string]bool{},
	}
	m.read(v)
	out := m.finish()
	i, taken := r.owner[out.ID]
	switch {
	case out.ID == "" || !taken:
	case i < base:
		line, _ := r.doc.Position(r.file.Rows[i].At)
		r.remark(offset,
			fmt.Sprintf("%s is left out: line %d has it too, and takes precedence", tree.Quote(out.ID), line), "")
		return
	default:
		line, _ := r.doc.Position(offset)
		r.remark(r.file.Rows[i].At, fmt.Sprintf("%s is left out: defined again in line %d", tree.Quote(out.ID), line),
			"remove or rename one of the two")
		r.file.Rows[i] = out
		return
	}
	r.owner[out.ID] = len(r.file.Rows)
	r.file.Rows = append(r.file.Rows, out)
}

// serverRow is a server that is being converted.
type serverRow struct {
	*reading
	id        string
	offset    int
	fields    map[string]*hujson.Value
	out       map[string]hujson.Value          // by native key
	pairs     map[string][]hujson.ObjectMember // of "env" and "headers"
	pairNames map[string]map[string]bool       // their names, for addPair
	allow     []hujson.Value
	deny      []hujson.Value
	steps     map[string]hujson.Value // by step of "timeout"; "" is all steps
	kind      string                  // stdio, http, sse; "" if the row does not have it
	disable   bool
	deferred  []func() // work that waits until all keys are read
	fault     *tree.Note
	remarks   []tree.Note
	remarked  map[string]bool // remarks, so that each is made once
}

func (m *serverRow) read(v *hujson.Value) {
	if !tree.Has(v, '{') {
		m.fail(v.StartOffset, "the row is "+tree.KindOf(v.Value)+" where an object is expected", "")
		return
	}
	m.fields = tree.Fields(v)
	m.id = cmp.Or(m.id, tree.TextAt(v, "id"), tree.TextAt(v, "name"))
	rules := m.rules()
	for name, member := range tree.Members(v) {
		value := &member.Value
		if m.fields[name] != value {
			m.remark(member.Name.StartOffset, tree.Quote(name)+" comes again in this row; the last counts", "")
			continue
		}
		switch apply, known := rules[name]; {
		case known && value.Value.Kind() != 'n':
			apply(m, name, value)
		case !known && !tree.IsComment(name):
			m.remark(member.Name.StartOffset, "unknown key "+tree.Quote(name), m.unknownKeyReason(name))
		}
	}
	for _, f := range m.deferred {
		f()
	}
	if m.after != nil {
		m.dialect.after(m)
	}
}

// unknownKeyReason returns a hint for a key that this client does not have.
func (m *serverRow) unknownKeyReason(name string) string {
	if m.keysOf == nil {
		m.keysOf = map[string]string{}
		for _, d := range slices.Backward(dialects()) {
			for _, k := range []string{d.command, d.args, d.env, d.url, d.sseURL, d.headers} {
				m.keysOf[k] = d.title
			}
		}
	}
	if title := m.keysOf[name]; title != "" {
		return "it is a key of " + title + "; if the file is of that client, name it"
	}
	return ""
}

// remark adds a note. The row is still converted.
func (m *serverRow) remark(offset int, reason, hint string) {
	key := fmt.Sprint(offset, reason)
	if m.remarked == nil {
		m.remarked = map[string]bool{}
	}
	if m.remarked[key] || len(m.remarks) > maxRemarks {
		return
	}
	m.remarked[key] = true
	if len(m.remarks) == maxRemarks {
		reason, hint = fmt.Sprintf("more than %d notes; from here on they are left out", maxRemarks), ""
	}
	m.remarks = append(m.remarks, tree.Note{At: offset, Reason: reason, Hint: hint})
}

// fail marks the row as unusable.
func (m *serverRow) fail(offset int, reason, hint string) {
	if m.fault != nil {
		m.remark(offset, reason, hint)
		return
	}
	m.fault = &tree.Note{At: offset, Reason: reason, Hint: hint}
}

// finish builds the row, with its members in the same order for all clients.
func (m *serverRow) finish() Row {
	m.dropUnownedSecret()
	m.remarkRedirect()
	if m.fault == nil {
		m.transport()
	}
	if strings.TrimSpace(m.id) == "" && m.fault == nil {
		m.fail(m.offset, "the row has no name", `add "name": "…"`)
	}
	if where, off := m.disabledIDs[m.id]; off {
		m.disable = true
		m.remark(m.offset, "is disabled, because "+where+" says so", "")
	}
	if m.disable {
		m.out["enabled"] = hujson.Value{StartOffset: m.offset, Value: hujson.Bool(false)}
	}
	if m.noEmptyHeaders {
		m.pairs["headers"] = slices.DeleteFunc(m.pairs["headers"], func(h hujson.ObjectMember) bool {
			if tree.Text(h.Value) == "" {
				m.remark(h.Name.StartOffset,
					"the header "+tree.Quote(tree.Text(h.Name))+" is empty and is left out, as by "+m.title, "")
			}
			return tree.Text(h.Value) == ""
		})
	}
	for name, list := range m.pairs {
		if len(list) > 0 {
			m.out[name] = tree.Object(list[0].Name.StartOffset, list)
		}
	}
	m.timeouts()
	var tools, all []hujson.ObjectMember
	if m.allow != nil {
		tools = append(tools, tree.Member("allow", tree.List(m.offset, m.allow)))
	}
	if len(m.deny) > 0 {
		tools = append(tools, tree.Member("deny", tree.List(m.offset, m.deny)))
	}
	if tools != nil {
		m.out["tools"] = tree.Object(m.offset, tools)
	}
	for _, f := range writtenFields() {
		if v, ok := m.out[f.Name]; ok {
			all = append(all, tree.Member(f.Name, v))
		}
	}
	if m.first && m.place.Moving {
		m.remark(m.offset, "is this project's alone in "+m.title, "")
	}
	slices.SortStableFunc(m.remarks, func(a, b tree.Note) int { return a.At - b.At })
	return Row{ID: m.id, At: m.offset, First: m.first, Value: tree.Object(m.offset, all), Bad: m.fault, Notes: m.remarks}
}

// timeouts writes one time for all steps, or a time for each.
func (m *serverRow) timeouts() {
	whole, ok := m.steps[""]
	call := tree.Text(m.steps["call"])
	if !ok && call != "" && call == tree.Text(m.steps["connect"]) && call == tree.Text(m.steps["list"]) {
		whole, ok = m.steps["call"], true
	}
	if ok {
		m.out["timeout"] = whole
		return
	}
	var each []hujson.ObjectMember
	for _, step := range stepNames() {
		if v, ok := m.steps[step]; ok {
			each = append(each, tree.Member(step, v))
		}
	}
	if each != nil {
		m.out["timeout"] = tree.Object(each[len(each)-1].Value.StartOffset, each)
	}
}

func stepNames() []string { return []string{"connect", "list", "call", "total"} }

// transport decides whether the row is a command or a url.
func (m *serverRow) transport() {
	command, hasCommand := m.out["command"]
	url, hasURL := m.out["url"]
	switch {
	case hasCommand && hasURL && (m.kind == "stdio" || m.kind == "" && m.name == "claude-code"):
		m.dropKeys(url.StartOffset, "the row has both a command and a url; it is a command", "url", "headers")
	case hasCommand && hasURL:
		m.dropKeys(command.StartOffset, "the row has both a command and a url; it is a url",
			"command", "args", "env", "envFile", "cwd")
		hasCommand = false
	case hasURL && m.kind == "stdio":
		m.fail(m.offset, "by its type it is a command, and it has a url", "")
	case hasCommand && m.kind != "" && m.kind != "stdio":
		m.fail(m.offset, "by its type it is a url, and it has a command", "")
	case !hasURL && !hasCommand:
		m.fail(m.offset, "the row has neither a command nor a url", "")
	}
	switch {
	case m.fault != nil:
	case hasCommand:
		m.dropKeys(m.offset, "a command takes no headers", "headers")
		m.dropKeys(m.offset, "a command takes no sign-in", "oauth")
		m.relative()
	default:
		m.dropKeys(m.offset, "a server with a url is not started, so args, env and cwd are left out",
			"args", "env", "envFile", "cwd")
	}
	if m.kind == "sse" {
		m.out["type"] = tree.String(m.offset, "sse")
	}
}

// relative adds notes about paths that begin where the client starts the server. indus may start it elsewhere.
func (m *serverRow) relative() {
	if m.name == Native || !m.place.Moving {
		return
	}
	warn := func(subject string, v hujson.Value) {
		m.remark(v.StartOffset, subject+" begins where "+m.title+" starts the server, which need not be where indus does",
			"write the whole path")
	}
	for _, key := range []string{"envFile", "cwd"} {
		if v, ok := m.out[key]; ok && !isAnywhere(tree.Text(v)) && !strings.HasPrefix(tree.Text(v), "${") {
			warn(key, v)
		}
	}
	if _, ok := m.out["cwd"]; ok {
		return
	}
	begins := func(v hujson.Value) bool {
		s := tree.Text(v)
		end := max(0, strings.IndexAny(s, `/\`))
		return s[:end] == "." || s[:end] == ".."
	}
	if begins(m.out["command"]) {
		warn("the command", m.out["command"])
	}
	args := m.out["args"]
	for i, arg := range tree.Elements(&args) {
		if begins(*arg) {
			warn(fmt.Sprintf("args[%d]", i), *arg)
			return
		}
	}
}

// dropKeys removes members that have no use, with a note if any was there.
func (m *serverRow) dropKeys(offset int, reason string, names ...string) {
	there := false
	for _, name := range names {
		_, had := m.out[name]
		there = there || had || len(m.pairs[name]) > 0
		delete(m.out, name)
		delete(m.pairs, name)
	}
	if there {
		m.remark(offset, reason, "")
	}
}
