package foreign

import (
	"fmt"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// server is a native row, read for being written in another client's words.
type server struct {
	id                          string
	fields                      map[string]*hujson.Value
	command, url, cwd, envFile  string
	args                        []string
	env, headers                []namedText
	sse, inherit, disabled, all bool                     // all: there is no "allow"
	steps                       map[string]time.Duration // of "timeout"
	allow, deny                 []string
	unknown                     []string // keys
}

type namedText struct{ name, value string }

// decode reads a native row. What is wrong with it is for the reader of native
// files to say: here it is only not written.
func decode(id string, row []byte) (*server, error) {
	doc, fault := tree.Parse(row, tree.JSON)
	if fault != nil {
		return nil, fmt.Errorf("the row is no JSON: %s", fault.Reason)
	}
	if !tree.Has(&doc.Root, '{') {
		return nil, fmt.Errorf("the row is %s where an object is expected", tree.KindOf(doc.Root.Value))
	}
	kinds := map[string]string{"id": "", "name": "", "transport": `"`, "disabled": `tf"`}
	for _, key := range nativeKeys() {
		kinds[key.name] = key.kinds
	}
	s := &server{id: id, fields: tree.Fields(&doc.Root)}
	for name, m := range tree.Members(&doc.Root) {
		kind, known := kinds[name]
		switch v := s.fields[name]; {
		case v != &m.Value:
		case tree.Has(v, 'n'):
			delete(s.fields, name)
		case !known && !tree.IsComment(name):
			s.unknown = append(s.unknown, name)
		case known && kind != "" && !strings.ContainsRune(kind, rune(v.Value.Kind())) || !s.take(name, v):
			return nil, fmt.Errorf("%q is %s and cannot be written", name, tree.KindOf(v.Value))
		}
	}
	switch {
	case s.command == "" && s.url == "":
		return nil, fmt.Errorf("the row has neither a command nor a url")
	case s.command != "" && s.url != "":
		return nil, fmt.Errorf("the row has both a command and a url")
	}
	s.all = !s.has("tools.allow")
	return s, nil
}

// has reports a key, or one in "tools".
func (s *server) has(key string) bool {
	if name, ok := strings.CutPrefix(key, "tools."); ok {
		v := tree.At(s.fields["tools"], name)
		return v != nil && !tree.Has(v, 'n')
	}
	return s.fields[key] != nil
}

// take reads one key, and reports whether it can be written.
func (s *server) take(name string, v *hujson.Value) (ok bool) {
	switch name {
	case "command":
		s.command = tree.Text(*v)
	case "url":
		s.url = tree.Text(*v)
	case "cwd":
		s.cwd = tree.Text(*v)
	case "envFile":
		s.envFile = tree.Text(*v)
	case "args":
		s.args = textsIn(v)
	case "env":
		s.env = pairsIn(v)
	case "headers":
		s.headers = pairsIn(v)
	case "type", "transport":
		s.sse = tree.Text(*v) == "sse"
	case "inheritEnv":
		s.inherit = isTrue(v)
	case "disabled":
		s.disabled = s.disabled || isTrue(v)
	case "enabled":
		s.disabled = s.disabled || !isTrue(v)
	case "timeout":
		return s.timeout(v)
	case "tools":
		s.allow, s.deny = textsIn(tree.At(v, "allow")), textsIn(tree.At(v, "deny"))
		return (tree.Has(tree.At(v, "allow"), '[') || !s.has("tools.allow")) && (tree.Has(tree.At(v, "deny"), '[') || !s.has("tools.deny"))
	}
	return true
}

func isTrue(v *hujson.Value) bool { return tree.Has(v, 't') || tree.Text(*v) == "true" }

// textsIn are the elements of a list that the reader of native files takes for strings.
func textsIn(v *hujson.Value) (out []string) {
	for _, e := range tree.Elements(v) {
		if tree.Has(e, '"', '0', 't', 'f') {
			out = append(out, e.Value.(hujson.Literal).String())
		}
	}
	return out
}

func pairsIn(v *hujson.Value) (out []namedText) {
	counts := tree.Fields(v)
	for name, m := range tree.Members(v) {
		if counts[name] == &m.Value && tree.Has(&m.Value, '"', '0', 't', 'f') {
			out = append(out, namedText{name, m.Value.Value.(hujson.Literal).String()})
		}
	}
	return out
}

func (s *server) timeout(v *hujson.Value) bool {
	s.steps = map[string]time.Duration{}
	if !tree.Has(v, '{') {
		d, ok := durationOf(v)
		for _, step := range stepNames()[:3] {
			s.steps[step] = d
		}
		return ok
	}
	for name, m := range tree.Members(v) {
		d, ok := durationOf(&m.Value)
		if !ok {
			return false
		}
		s.steps[name] = d
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
