package foreign

import (
	"fmt"
	"slices"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// server is a native row, read for being written in another client's words.
type server struct {
	id            string
	command, url  string
	args          []string
	env, headers  []pair
	cwd, envFile  string
	sse, inherit  bool
	disabled      bool
	steps         map[string]time.Duration // of "timeout"
	allow, deny   []string
	all           bool // "allow" is not there
	rename, about bool
	profile, era  bool
	changes       bool
	strange       []string // keys that are not known
}

type pair struct{ name, value string }

// decode reads a native row. What is wrong with it is for the reader of native
// files to say: here it is only not written.
func decode(id string, row []byte) (*server, error) {
	doc, fault := tree.Parse(row, tree.JSON)
	if fault != nil {
		return nil, fmt.Errorf("the row is no JSON: %s", fault.Reason)
	}
	o, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("the row is %s where an object is expected", tree.KindOf(doc.Root.Value))
	}
	s := &server{id: id, steps: map[string]time.Duration{}, all: true}
	counts := lasts(o)
	for i := range o.Members {
		name, v := tree.Text(o.Members[i].Name), &o.Members[i].Value
		if counts[name] != i || v.Value.Kind() == 'n' {
			continue
		}
		if !s.take(name, v) {
			return nil, fmt.Errorf("%q is %s and cannot be written", name, tree.KindOf(v.Value))
		}
	}
	if s.command == "" && s.url == "" {
		return nil, fmt.Errorf("the row has neither a command nor a url")
	}
	if s.command != "" && s.url != "" {
		return nil, fmt.Errorf("the row has both a command and a url")
	}
	return s, nil
}

// take reads one key, and reports whether it has a shape that can be written.
func (s *server) take(name string, v *hujson.Value) (ok bool) {
	switch name {
	case "command":
		s.command, ok = stringOf(v)
	case "url":
		s.url, ok = stringOf(v)
	case "cwd":
		s.cwd, ok = stringOf(v)
	case "envFile":
		s.envFile, ok = stringOf(v)
	case "args":
		s.args, ok = stringsOf(v)
	case "env":
		s.env, ok = pairsIn(v)
	case "headers":
		s.headers, ok = pairsIn(v)
	case "type", "transport":
		s.sse, ok = tree.Text(*v) == "sse", v.Value.Kind() == '"'
	case "inheritEnv":
		s.inherit, ok = boolOf(v)
	case "disabled":
		var off bool
		off, ok = boolOf(v)
		s.disabled = s.disabled || off
	case "enabled":
		var on bool
		on, ok = boolOf(v)
		s.disabled = s.disabled || !on
	case "timeout":
		ok = s.timeout(v)
	case "tools":
		ok = s.tools(v)
	case "changes":
		s.changes, ok = true, true
	case "profile":
		s.profile, ok = true, true
	case "era":
		s.era, ok = true, true
	case "id", "name":
		ok = true
	default:
		ok = true
		if !slices.Contains([]string{"$", "_", "/", "#"}, name[:min(1, len(name))]) {
			s.strange = append(s.strange, name)
		}
	}
	return ok
}

func stringOf(v *hujson.Value) (string, bool) { return tree.Text(*v), v.Value.Kind() == '"' }

func boolOf(v *hujson.Value) (b, ok bool) {
	k := v.Value.Kind()
	return k == 't' || tree.Text(*v) == "true", k == 't' || k == 'f' || k == '"'
}

// scalarOf is a string, or what the reader of native files takes for one.
func scalarOf(v *hujson.Value) (string, bool) {
	switch v.Value.Kind() {
	case '"', '0', 't', 'f':
		return v.Value.(hujson.Literal).String(), true
	}
	return "", false
}

func stringsOf(v *hujson.Value) (out []string, ok bool) {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, false
	}
	out = []string{}
	for i := range list.Elements {
		if s, ok := scalarOf(&list.Elements[i]); ok {
			out = append(out, s)
		}
	}
	return out, true
}

func pairsIn(v *hujson.Value) (out []pair, ok bool) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, false
	}
	counts := lasts(o)
	for i := range o.Members {
		name := tree.Text(o.Members[i].Name)
		if s, ok := scalarOf(&o.Members[i].Value); ok && counts[name] == i {
			out = append(out, pair{name, s})
		}
	}
	return out, true
}

func (s *server) timeout(v *hujson.Value) bool {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		d, ok := durationOf(v)
		for _, step := range []string{"connect", "list", "call"} {
			s.steps[step] = d
		}
		return ok
	}
	for i := range o.Members {
		d, ok := durationOf(&o.Members[i].Value)
		if !ok {
			return false
		}
		s.steps[tree.Text(o.Members[i].Name)] = d
	}
	return true
}

func durationOf(v *hujson.Value) (time.Duration, bool) {
	if v.Value.Kind() == '0' {
		ms := v.Value.(hujson.Literal).Float()
		return time.Duration(max(-1, min(ms, maxSeconds*1000)) * float64(time.Millisecond)), true
	}
	d, err := time.ParseDuration(tree.Text(*v))
	return d, err == nil
}

func (s *server) tools(v *hujson.Value) bool {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	if allow := get(o, "allow"); allow != nil && allow.Value.Kind() != 'n' {
		s.all = false
		if s.allow, ok = stringsOf(allow); !ok {
			return false
		}
	}
	if deny := get(o, "deny"); deny != nil && deny.Value.Kind() != 'n' {
		if s.deny, ok = stringsOf(deny); !ok {
			return false
		}
	}
	s.rename, s.about = get(o, "rename") != nil, get(o, "describe") != nil
	return true
}
