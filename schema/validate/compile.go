package validate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/text"
)

// here is where the schema is said to come from: what its references are relative to.
const here = "mem:///schema"

// drafts are all that the library knows, the newest first.
var drafts = []*jsonschema.Draft{
	jsonschema.Draft2020, jsonschema.Draft2019, jsonschema.Draft7, jsonschema.Draft6, jsonschema.Draft4,
}

// draftOf is the draft that a $schema names; nil where it names none.
func draftOf(uri any) *jsonschema.Draft {
	text, _ := uri.(string)
	text = strings.TrimSuffix(text, "#")
	_, text, _ = strings.Cut(text, "://")
	for _, d := range drafts {
		if _, name, _ := strings.Cut(d.String(), "://"); name == text {
			return d
		}
	}
	return nil
}

// sealed is where the library may look for what is not in the schema: nowhere. The metaschemas it has itself.
type sealed struct{}

func (sealed) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not fetched", url) }

// inOrder is the draft that a schema names, and then all others, the newest first.
func inOrder(doc any) []*jsonschema.Draft {
	object, _ := doc.(map[string]any)
	declared := draftOf(object["$schema"])
	if declared == nil {
		return drafts
	}
	others := slices.DeleteFunc(slices.Clone(drafts), func(d *jsonschema.Draft) bool { return d == declared })
	return append([]*jsonschema.Draft{declared}, others...)
}

const (
	maxRepairs  = 4     // rounds, each of which finds what the one before laid bare
	maxRepaired = 2_000 // values of a schema that is worth them
	maxFaulty   = 20    // notes
)

// compile tries the drafts in their order, and then takes out what the first of them refuses. The error is the first one's.
func (v *Validator) compile(doc any) (*jsonschema.Schema, error) {
	order := inOrder(doc)
	if object, ok := doc.(map[string]any); ok {
		delete(object, "$schema") // the order says it
	}
	for round := 0; ; round++ {
		l := loosen(doc, order[0] == jsonschema.Draft4)
		compiled, err := compileAs(order[0], doc, l.engine())
		for _, d := range order[1:] {
			if err == nil {
				break
			}
			other, failed := compileAs(d, doc, l.engine())
			if failed == nil {
				v.notes = append(v.notes, "it is no valid "+nameOf(order[0])+", and is read as "+nameOf(d))
				compiled, err = other, nil
			}
		}
		v.notes = append(v.notes, l.notes...)
		if err == nil {
			return compiled, nil
		}
		misfit := refusal(err)
		if misfit == nil || round == maxRepairs || sizeOf(doc) > maxRepaired || !v.takeOut(doc, misfit) {
			return nil, reason(err)
		}
	}
}

// takeOut takes out of a schema what its metaschema refuses. It reports false where there is nothing that can go.
func (v *Validator) takeOut(doc any, e *jsonschema.ValidationError) (did bool) {
	for _, cause := range e.Causes {
		did = v.takeOut(doc, cause) || did
	}
	n := len(e.InstanceLocation)
	if len(e.Causes) > 0 || n == 0 {
		return did
	}
	at, name := e.InstanceLocation[:n-1], e.InstanceLocation[n-1]
	parent := follow(doc, text.Pointer(at...))
	if list, ok := parent.([]any); ok {
		i, _ := strconv.Atoi(name)
		if around := at[len(at)-1]; around != "required" && around != "type" {
			v.fault(e, list[i])
			list[i] = map[string]any{lossy: ""}
			return true
		}
		at, name = at[:len(at)-1], at[len(at)-1]
		parent = follow(doc, text.Pointer(at...))
	}
	s, _ := parent.(map[string]any)
	value, ok := s[name]
	if !ok {
		return did
	}
	switch {
	case n > 1 && keyword.IsNamed(e.InstanceLocation[n-2]) && len(at) == n-1:
		s[name] = map[string]any{lossy: ""}
	case name == "required":
		delete(s, name)
		if names, ok := value.([]any); ok {
			s[name] = namesOf(names)
		}
		s[lossy] = ""
	default:
		delete(s, name)
		s[lossy] = ""
	}
	v.fault(e, value)
	return true
}

func (v *Validator) fault(e *jsonschema.ValidationError, value any) {
	if len(v.faulty) < maxFaulty {
		v.faulty = append(v.faulty, fmt.Sprintf("%s is left out: expected %s, got %s", shorten(shownPath(text.Pointer(e.InstanceLocation...)), 200),
			shorten(wanted(e, nil), 200), brief(value, 60)))
	}
}

// namesOf are the different strings of a list.
func namesOf(list []any) []any {
	var all []any
	for _, one := range list {
		if text, ok := one.(string); ok && !slices.Contains(all, any(text)) {
			all = append(all, text)
		}
	}
	return all
}

func compileAs(d *jsonschema.Draft, doc any, engine jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(d)
	c.UseLoader(sealed{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(here, doc); err != nil {
		return nil, err
	}
	return c.Compile(here)
}

// nameOf is a draft as people call it: "draft 2020-12", "draft 7".
func nameOf(d *jsonschema.Draft) string {
	switch d {
	case jsonschema.Draft2020:
		return "draft 2020-12"
	case jsonschema.Draft2019:
		return "draft 2019-09"
	case jsonschema.Draft7:
		return "draft 7"
	case jsonschema.Draft6:
		return "draft 6"
	}
	return "draft 4"
}

// reason says in one short line why a schema was refused.
func reason(err error) error {
	if misfit := refusal(err); misfit != nil {
		leaf := firstLeaf(misfit)
		return fmt.Errorf("it is no valid schema at %s: %s", shorten(shownPath(text.Pointer(leaf.InstanceLocation...)), 200), shorten(wanted(leaf, nil), 200))
	}
	return errors.New(shorten(strings.ReplaceAll(err.Error(), here, ""), 300))
}

// refusal is what of a schema its draft's metaschema refuses; nil for another error.
func refusal(err error) *jsonschema.ValidationError {
	misfit := (*jsonschema.ValidationError)(nil)
	if bad := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &bad) && errors.As(bad.Err, &misfit) {
		return misfit
	}
	return nil
}

// firstLeaf is the problem that lies deepest in the schema, the first one in the alphabet's order.
func firstLeaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	best := e
	for _, cause := range e.Causes {
		leaf := firstLeaf(cause)
		deeper := len(leaf.InstanceLocation) - len(best.InstanceLocation)
		if best == e || deeper > 0 || deeper == 0 && slices.Compare(leaf.InstanceLocation, best.InstanceLocation) < 0 {
			best = leaf
		}
	}
	return best
}

// reachable is every schema that validation can come to, by its location.
func reachable(root *jsonschema.Schema) (map[string]*jsonschema.Schema, error) {
	found := map[string]*jsonschema.Schema{}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, ok := found[s.Location]; ok {
			continue
		}
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return nil, errors.New("$dynamicRef and $recursiveRef are not followed")
		}
		found[s.Location] = s
		queue = append(queue, parts(s)...)
	}
	return found, nil
}
