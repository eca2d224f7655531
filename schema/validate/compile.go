package validate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
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

// compile tries the draft that the schema names, and then all, the newest first. The error is that of the first.
func (v *Validator) compile(doc any, engine jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	order := drafts
	object, _ := doc.(map[string]any)
	if declared := draftOf(object["$schema"]); declared != nil {
		others := slices.DeleteFunc(slices.Clone(drafts), func(d *jsonschema.Draft) bool { return d == declared })
		order = append([]*jsonschema.Draft{declared}, others...)
	}
	delete(object, "$schema") // the order says it
	var first error
	for _, d := range order {
		compiled, err := compileAs(d, doc, engine)
		if err == nil {
			if first != nil {
				v.notes = append(v.notes, "it is no valid "+nameOf(order[0])+", and is read as "+nameOf(d))
			}
			return compiled, nil
		}
		if first == nil {
			first = reason(err)
		}
	}
	return nil, first
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
	misfit := (*jsonschema.ValidationError)(nil)
	if bad := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &bad) && errors.As(bad.Err, &misfit) {
		leaf := firstLeaf(misfit)
		return fmt.Errorf("it is no valid schema at %s: %s", shorten(show(pointer(leaf.InstanceLocation)), 200), shorten(wanted(leaf, nil), 200))
	}
	return errors.New(shorten(strings.ReplaceAll(err.Error(), here, ""), 300))
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
