package policy

import (
	"slices"

	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// use is a place of the arguments that a condition uses.
type use struct {
	path     []string // the members below context.args; empty for all arguments
	presence bool     // the condition asks only whether the value is present
}

func (u use) String() string {
	place := "context.args"
	for _, name := range u.path {
		place = placeOf(place, name)
	}
	return place
}

// touches reports whether the use depends on a value with the path of a gap.
func (u use) touches(path []string) bool {
	n := min(len(u.path), len(path))
	if !slices.Equal(u.path[:n], path[:n]) {
		return false
	}
	return !u.presence || len(path) <= len(u.path)
}

// useOf returns the use of arguments of a node that is a chain of members below context.args, or a test of one.
func useOf(n ast.IsNode) (use, bool) {
	if has, ok := n.(ast.NodeTypeHas); ok {
		if path, ok := argsPath(has.Arg); ok {
			return use{append(path, string(has.Value)), true}, true
		}
		return use{}, false
	}
	path, ok := argsPath(n)
	return use{path: path}, ok
}

// argsPath returns the members of a chain such as context.args.a.b.
func argsPath(n ast.IsNode) ([]string, bool) {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok {
		return nil, false
	}
	if variable(access.Arg) == "context" && access.Value == "args" {
		return nil, true
	}
	path, ok := argsPath(access.Arg)
	return append(path, string(access.Value)), ok
}

// mentions lists the attributes of requests that conditions and scopes use.
type mentions struct {
	uses     []use
	userName bool // the id or name of the principal
	groups   []string
	anyGroup bool // groups are compared with something else than a literal
	context  map[string]bool
	uri      bool // the URI of a resource, or a part of it
	action   bool // a condition compares the action
	item     bool // a condition uses the resource
}

func newMentions() mentions { return mentions{context: map[string]bool{}} }

// contextNames are the attributes of the context, except args.
var contextNames = []string{"view", "client", "era", "time", "address"}

// uriParts are the attributes of a resource that depend on its URI.
var uriParts = []string{"uri", "scheme", "host", "port", "path", "query"}

// add adds the mentions of a condition.
func (m *mentions) add(n ast.IsNode) {
	if u, ok := useOf(n); ok {
		m.uses = append(m.uses, u)
		return
	}
	if owner, name := memberOf(n); m.attribute(owner, name) {
		return
	}
	switch v := n.(type) {
	case ast.NodeTypeIn:
		if m.membership(v.Left, v.Right) {
			return
		}
	case ast.NodeTypeIsIn:
		if m.membership(v.Left, v.Entity) {
			return
		}
	case ast.NodeTypeEquals, ast.NodeTypeNotEquals:
		if b := operandsOf(n); m.membership(b.Left, b.Right) || m.membership(b.Right, b.Left) {
			return
		}
	case ast.NodeTypeIs:
		if name := variable(v.Left); name != "" {
			m.item = m.item || name == "resource"
			return // the type of a variable follows from the action
		}
	case ast.NodeTypeVariable:
		m.whole(string(v.Name))
	}
	mapChildren(n, func(child ast.IsNode) ast.IsNode {
		m.add(child)
		return child
	})
}

// attribute adds the attribute of a variable. It returns false for another expression, which may have mentions.
func (m *mentions) attribute(of ast.IsNode, name string) bool {
	switch variable(of) {
	case "principal":
		m.userName = true
	case "context":
		if name != "args" {
			m.context[name] = true
		}
	case "resource":
		m.item = true
		m.uri = m.uri || slices.Contains(uriParts, name)
	default:
		return false
	}
	return true
}

// membership adds a test of the principal or the resource against literal entities.
func (m *mentions) membership(of, in ast.IsNode) bool {
	entities, ok := entitiesOf(in)
	if !ok {
		return false
	}
	switch variable(of) {
	case "principal":
		for _, e := range entities {
			m.member(string(e.Type), string(e.ID))
		}
		return true
	case "resource":
		m.item = true
		m.uri = m.uri || slices.ContainsFunc(entities, isResource)
		return true
	}
	return false
}

func (m *mentions) member(entityType, id string) {
	if entityType == "Group" {
		m.groups = append(m.groups, id)
	} else {
		m.userName = true
	}
}

// whole adds a variable that is used as a whole.
func (m *mentions) whole(name string) {
	switch name {
	case "principal":
		m.userName, m.anyGroup = true, true
	case "resource":
		m.item, m.uri = true, true
	case "action":
		m.action = true
	case "context":
		for _, attribute := range contextNames {
			m.context[attribute] = true
		}
		m.uses = append(m.uses, use{})
	}
}

// merge adds the mentions of another rule.
func (m *mentions) merge(o mentions) {
	m.uses = append(m.uses, o.uses...)
	m.userName, m.anyGroup = m.userName || o.userName, m.anyGroup || o.anyGroup
	m.uri, m.action, m.item = m.uri || o.uri, m.action || o.action, m.item || o.item
	m.groups = append(m.groups, o.groups...)
	slices.Sort(m.groups)
	m.groups = slices.Compact(m.groups)
	for name := range o.context {
		m.context[name] = true
	}
}

// wants reports whether a condition uses a member of the arguments.
func (m *mentions) wants(name string) bool {
	return slices.ContainsFunc(m.uses, func(u use) bool { return len(u.path) == 0 || u.path[0] == name })
}
