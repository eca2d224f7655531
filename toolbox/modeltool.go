package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/indusagi/indus/schema/validate"
)

// modelTool is one tool as a Box prepared it for models. It never changes, and is reused as long as the tool is the
// same.
type modelTool struct {
	key    toolKey
	schema json.RawMessage // the owner's

	excluded    string // the reason why models are not shown it
	adapted     *schema.Adapted
	description string // for models
	changes     []schema.Change
	validator   func() *validate.Validator // returns nil if the schema is unusable
	seen        func() *validate.Validator // the same for the schema that the model saw
}

// toolKey holds the inputs besides the schema that determine a modelTool.
type toolKey struct {
	name, server, own, description, excluded string
	profile                                  *schema.Profile
}

// modelTool returns d as models see it, or the reason why it is excluded. before is an earlier modelTool of the same
// name, or nil.
func (b *Box) modelTool(d *Descriptor, before *modelTool) *modelTool {
	key := toolKey{d.Name, d.Server, d.OwnName(), d.Description, d.Excluded, b.profileOf(d)}
	t := &modelTool{key: key, schema: d.Schema, excluded: d.Excluded}
	if before != nil && before.key.profile == key.profile && bytes.Equal(before.schema, d.Schema) {
		if before.key == key {
			return before
		}
		t.adapted, t.validator, t.seen = before.adapted, before.validator, before.seen
	} else {
		t.validator = lazyValidator(d.Schema)
	}
	switch {
	case t.excluded != "":
	case len(schema.CheckTool(d.Name, "a tool", schema.Universal)) > 0:
		t.excluded = "its name is not a letter and up to 63 letters, digits, _ and -"
	default:
		t.adapt(d)
	}
	return t
}

// adapt adapts the schema and the description for models, or sets excluded to the reason why no provider would accept
// the tool.
func (t *modelTool) adapt(d *Descriptor) {
	adapted, err := t.adapted, error(nil)
	if adapted == nil {
		adapted, err = schema.Adapt(d.Schema, t.key.profile)
	}
	if err == nil && t.key.profile == schema.Original {
		err = schema.Measure(d.Schema, schema.Limits{})
	}
	switch {
	case err != nil:
		t.excluded = strings.TrimPrefix(err.Error(), "schema: ")
	case bytes.TrimLeft(d.Schema, jsonSpace)[0] != '{':
		t.excluded = "its schema is not a JSON object"
	default:
		if t.adapted == nil {
			t.adapted, t.seen = adapted, lazyValidator(adapted.Schema)
		}
		t.describe()
	}
}

// describe writes the description for models.
func (t *modelTool) describe() {
	owners := t.key.description
	if t.key.own != "" { // the name for models lacks the words of the owner's name
		owners = strings.TrimSuffix(t.key.own+": "+owners, ": ")
	}
	text, changes := schema.Describe(owners, t.key.profile)
	if strings.TrimSpace(text) == "" && t.key.profile.Rules().Tool.MinDescription > 0 {
		text = t.key.name + ", a tool"
		if t.key.server != "" {
			text += " of " + t.key.server
		}
		changes = append(changes, schema.Change{Rule: rule.Description, Did: "gave it a description, for it has none"})
	}
	description, more := t.adapted.Describe(text, t.key.profile)
	t.description = description
	t.changes = append(append(changes, more...), t.adapted.Changes...)
}

// fill sets the fields of d that depend on t.
func (t *modelTool) fill(d *Descriptor) {
	d.Excluded, d.Parameters, d.Changes = t.excluded, nil, nil
	if t.excluded == "" {
		d.Parameters, d.Changes = t.adapted.Schema, t.changes
	}
}

// restore converts arguments for the model's schema to arguments for the owner's schema.
func (t *modelTool) restore(input json.RawMessage) json.RawMessage {
	if t.adapted == nil {
		return input
	}
	return t.adapted.Restore(input)
}

// owners returns a model's input as arguments for the owner's schema. If they do not fit, mistakes that models often
// make are corrected, first by the schema that the model saw. err is the reason why the arguments do not fit.
func (t *modelTool) owners(input json.RawMessage, validates bool) (arguments json.RawMessage, err error) {
	arguments = t.restore(input)
	if t.check(arguments, validates) == nil {
		return arguments, nil
	}
	if t.adapted != nil {
		arguments = t.restore(t.seen().Correct(input))
	}
	arguments = t.validator().Correct(arguments)
	return arguments, t.check(arguments, validates)
}

// check validates arguments against the owner's schema, and returns errors in terms of the model's schema. It returns
// nil if the schema is unusable.
func (t *modelTool) check(input json.RawMessage, validates bool) error {
	if !validates {
		return nil
	}
	err := checkInput(t.validator(), input)
	if mismatch, ok := errors.AsType[*validate.Error](err); ok && t.adapted != nil {
		return mismatch.In(t.adapted.Path)
	}
	return err
}

// lazyValidator returns a function that makes a schema's validator at its first call. The function returns nil if the
// schema is unusable.
func lazyValidator(schema json.RawMessage) func() *validate.Validator {
	return sync.OnceValue(func() *validate.Validator {
		v, _ := validate.New(schema)
		return v
	})
}

// checkInput returns the error that v finds in arguments.
func checkInput(v *validate.Validator, input json.RawMessage) error {
	if mismatch, ok := errors.AsType[*validate.Error](v.Validate(input)); ok {
		return mismatch
	}
	return nil
}
